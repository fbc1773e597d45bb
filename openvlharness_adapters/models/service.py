"""One model service over HTTP: sends a body, tries again where that may help, and speaks the domain's errors.

Both protocols use it; what they say and what they read is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import attrs
import httpx

from openvlharness_adapters.http.bodies import GroupedBody
from openvlharness_adapters.http.endpoints import bearer_headers, checked_url, shown
from openvlharness_adapters.http.errors import FOREIGN_ERRORS, AttemptFailed, Fault, fault_of, model_error, status_fault
from openvlharness_adapters.http.redaction import Redactor
from openvlharness_adapters.http.retry import RetryPolicy, Wait, with_retries
from openvlharness_adapters.http.unpacking import ASK_FOR_GZIP
from openvlharness_adapters.models.bounded import read_error, read_reply
from openvlharness_adapters.models.event_stream import StreamEnd
from openvlharness_adapters.models.provider_errors import body_fault
from openvlharness_core.ports.clock import Clock

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class HttpReply:
    """A successful response: its whole body, or an event stream up to its last event."""

    status: int = 200
    content_type: str
    body: bytes = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class ModelService:
    """Where a model is and how patiently it is asked.

    Attributes:
        client: from `open_client`; not closed here.
        endpoint: full address, from `endpoint_of`.
        key: bearer key; blank or `empty` sends none.
        policy: attempts and the limit of each.
        clock: measures that limit and waits between attempts.
        on_wait: told of every wait before it begins; it must not raise.

    Raises:
        ValueError: an endpoint with credentials, or a key that no header can hold.
    """

    client: httpx.AsyncClient = attrs.field(repr=False)
    endpoint: str = attrs.field(repr=shown)
    key: str | None = attrs.field(default=None, repr=False)
    policy: RetryPolicy
    clock: Clock = attrs.field(repr=False)
    on_wait: Callable[[Wait], None] = attrs.field(repr=False)
    redactor: Redactor = attrs.field(init=False, repr=False)
    _headers: dict[str, str] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        checked_url(self.endpoint, name="endpoint")

    @redactor.default
    def _of_key(self) -> Redactor:
        return Redactor((self.key.strip(),)) if self.key and bearer_headers(self.key) else Redactor()

    @_headers.default
    def _fixed(self) -> dict[str, str]:
        return {"Content-Type": "application/json", **ASK_FOR_GZIP, **bearer_headers(self.key)}

    async def post(
        self, pieces: Sequence[bytes], read: Callable[[HttpReply], T], *, is_last: Callable[[object], bool]
    ) -> T:
        """Post a JSON body and read the reply.

        Args:
            pieces: the body, joined only on the way to the socket.
            read: makes the result of a successful response, or raises AttemptFailed.
            is_last: whether the JSON value of an event ends a stream, though the connection stay open.

        Raises:
            ModelUnavailableError: unreachable, timed out or failing, retries included.
            ModelRefusedError: refused, or what came is no reply.
            ContextLengthError: longer than the model's context.
        """
        body = GroupedBody(pieces)
        headers = {**self._headers, "Content-Length": str(body.length)}

        async def attempt() -> T:
            return read(await self._exchange(body, headers, is_last))

        try:
            return await with_retries(attempt, policy=self.policy, clock=self.clock, on_wait=self.on_wait)
        except AttemptFailed as failed:
            fault = failed.fault
        raise model_error(fault, shown(self.endpoint))

    async def _exchange(
        self, body: GroupedBody, headers: dict[str, str], is_last: Callable[[object], bool]
    ) -> HttpReply:
        try:
            async with self.client.stream("POST", self.endpoint, content=body, headers=headers) as response:
                if response.is_success:
                    content_type = response.headers.get("content-type", "")
                    read = await read_reply(response, complete=StreamEnd(content_type, is_last))
                    return HttpReply(status=response.status_code, content_type=content_type, body=read)
                fault = await self._refusal(response)
        except FOREIGN_ERRORS as error:
            fault = fault_of(error, self.redactor)
        raise AttemptFailed(fault)

    async def _refusal(self, response: httpx.Response) -> Fault:
        fault = status_fault(response, "")
        try:
            body = await read_error(response)
        except FOREIGN_ERRORS:  # the status counts, whatever becomes of the body
            return fault
        return body_fault(fault, body, self.redactor)
