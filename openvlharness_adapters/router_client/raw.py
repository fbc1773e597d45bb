"""One tool of a raw server that speaks the router's arguments and results without its envelope."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import cast

import attrs

from openvlharness_adapters.models.wire_json import json_bytes, read_json
from openvlharness_adapters.router_client.caller import Reply, without_bulk
from openvlharness_adapters.router_client.posting import Poster
from openvlharness_adapters.wire.envelopes import find_failure
from openvlharness_adapters.wire.failures import Failure, error_of
from openvlharness_core.errors import MalformedResultError


def raw_result(status: int, body: bytes) -> Mapping[str, object] | Failure | None:
    """What a response says of this call; `None` for one that says nothing. Raises MalformedResultError."""
    try:
        value = read_json(body)
    except ValueError:
        value = None
    if status == 200:
        if not isinstance(value, Mapping):
            raise MalformedResultError("result", "a JSON object, got something else")
        return value
    return find_failure(value.get("error"), status) if isinstance(value, Mapping) else None


@attrs.frozen(kw_only=True, eq=False)
class RawCaller:
    """See `Caller`.

    Attributes:
        poster: reaches the server.
        url: full address of the tool.
        tool: whom errors name.
        read: what a response says of the call.
    """

    poster: Poster
    url: str
    tool: str
    read: Callable[[int, bytes], Mapping[str, object] | Failure | None] = raw_result

    async def call(self, args: Mapping[str, object], *, timeout_seconds: float) -> Reply:
        """See `Caller`."""
        body, key = json_bytes(args), uuid.uuid4().hex
        found: Mapping[str, object] | Failure = await self.poster.post(
            self.url, body, key, self.tool, timeout_seconds, self.read
        )
        if isinstance(found, Failure):
            raise error_of(found, self.tool)
        return Reply(
            result=found, backend=self.tool, envelope=cast("Mapping[str, object]", without_bulk({"result": found}))
        )
