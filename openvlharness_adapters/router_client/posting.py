"""Posting JSON until there is an answer: which responses end a call at once, and which are tried again.

An answer that is a failure of the tool itself is final, whatever its status: trying again would do the work twice. Only
responses that say nothing of the call (an overloaded router, a proxy, a broken connection) are tried again, and always
with the key of the first attempt, so that a router which did get it answers with what it has.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

import attrs
import httpx

from openvlharness_adapters.http.bodies import GROUP_BYTES, GroupedBody
from openvlharness_adapters.http.endpoints import bearer_headers, shown
from openvlharness_adapters.http.errors import (
    FOREIGN_ERRORS,
    AttemptFailed,
    Fault,
    backend_error,
    detail_of,
    fault_of,
    status_fault,
)
from openvlharness_adapters.http.redaction import Redactor
from openvlharness_adapters.http.retry import RetryPolicy, Wait, with_retries
from openvlharness_core.ports.clock import Clock

T = TypeVar("T")
Read = Callable[[int, bytes], T | None]
"""From status and body to what ends the call; `None` for a response that says nothing of it."""


def _ignore(_: Wait) -> None:
    return


@attrs.frozen(kw_only=True, eq=False)
class Poster:
    """Posts to one service.

    Attributes:
        client: open, without limits of time.
        clock: waits and limits.
        token: bearer token; empty for none.
        retry: attempts after the first one.
        timeout_seconds: limit of one attempt.
        share: random share of each backoff.
        on_wait: told of each wait.
    """

    client: httpx.AsyncClient
    clock: Clock
    token: str = attrs.field(default="", repr=False)
    retry: int = 8
    timeout_seconds: float = 600.0
    share: Callable[[], float] = random.random
    on_wait: Callable[[Wait], None] = _ignore

    async def post(self, url: str, body: bytes, key: str, backend: str, seconds: float, read: Read[T]) -> T:
        """What `read` makes of the first response that says something of this call.

        Args:
            url: full address.
            body: JSON.
            key: idempotency key of this call.
            backend: whom errors name.
            seconds: limit of one attempt, if it is shorter than that of the service.
            read: see `Read`.

        Raises:
            BackendError: there was none, retries included.
            MalformedResultError: what `read` raises.
        """
        redactor = Redactor((self.token,))
        headers = bearer_headers(self.token, name="auth_token") | {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Accept-Encoding": "identity",
            "Idempotency-Key": key,
        }
        content = body if len(body) <= GROUP_BYTES else GroupedBody((body,))

        async def attempt() -> T:
            fault: Fault | None = None
            try:
                response = await self.client.post(url, content=content, headers=headers)
            except FOREIGN_ERRORS as error:
                fault = fault_of(error, redactor)
            if fault is not None:  # raised here, since an httpx error holds the request with its headers
                raise AttemptFailed(fault)
            found = read(response.status_code, response.content)
            if found is None:
                detail = detail_of(response.text[:4000], redactor)
                raise AttemptFailed(status_fault(response, detail))
            return found

        limit = min(self.timeout_seconds, seconds)
        policy = RetryPolicy(retry=self.retry, timeout_seconds=limit, share=self.share)
        failed: Fault | None = None
        try:
            return await with_retries(attempt, policy=policy, clock=self.clock, on_wait=self.on_wait)
        except AttemptFailed as error:
            failed = error.fault
        where = shown(url)
        raise backend_error(attrs.evolve(failed, sentence=f"{where}: {failed.sentence}"), backend)
