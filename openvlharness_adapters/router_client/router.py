"""One tool behind the tool router."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

import attrs

from openvlharness_adapters.router_client.caller import Reply, without_bulk
from openvlharness_adapters.router_client.posting import Poster
from openvlharness_adapters.wire.envelopes import Success, call_to_wire, reply_from_wire
from openvlharness_adapters.wire.failures import Failure, error_of
from openvlharness_adapters.wire.usage import usage_from_wire


def _fresh() -> str:
    return uuid.uuid4().hex


@attrs.frozen(kw_only=True, eq=False)
class RouterCaller:
    """See `Caller`.

    Attributes:
        poster: reaches the router.
        base_url: the router's, without an endpoint.
        tool: concrete name.
        fresh: makes ids and keys that no other call has.
    """

    poster: Poster
    base_url: str
    tool: str
    fresh: Callable[[], str] = _fresh

    async def call(self, args: Mapping[str, object], *, timeout_seconds: float) -> Reply:
        """See `Caller`. `timeout_seconds` bounds one attempt, waiting for a seat included."""
        call_id, key = self.fresh(), self.fresh()
        body = call_to_wire(self.tool, args, call_id)

        def read(status: int, content: bytes) -> Success | Failure | None:
            return reply_from_wire(status, content, self.tool, call_id)

        url = f"{self.base_url.rstrip('/')}/execute"
        found: Success | Failure = await self.poster.post(url, body, key, self.tool, timeout_seconds, read)
        if isinstance(found, Failure):
            raise error_of(found, self.tool)
        return _reply(found, self.tool, call_id)


def _reply(found: Success, tool: str, call_id: str) -> Reply:
    meta = found.meta
    backend, sidecars = meta.get("backend"), meta.get("sidecars")
    envelope = {"ok": True, "tool_name": tool, "tool_call_id": call_id}
    return Reply(
        result=found.result,
        backend=backend if isinstance(backend, str) and backend else tool,
        usage=usage_from_wire(meta),
        sidecars=sidecars if isinstance(sidecars, Mapping) else {},
        envelope=envelope | {"result": without_bulk(found.result), "meta": meta},
    )
