"""The routes of the router and of raw servers, as an ASGI application."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import attrs
from starlette.applications import Starlette
from starlette.routing import Route

from openvlharness_adapters.models.wire_json import json_bytes
from openvlharness_adapters.router.answers import Answer
from openvlharness_adapters.router.bodies import Receive, read_body
from openvlharness_adapters.router.desk import Desk
from openvlharness_adapters.router.metrics import CONTENT_TYPE, metrics_text
from openvlharness_adapters.router.readiness import Check, readiness
from openvlharness_adapters.wire.envelopes import ToolCall, invalid_request

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LONGEST_KEY = 255
"""Characters of an idempotency key."""


async def respond(send: Send, answer: Answer) -> None:
    """Send a whole response."""
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body})


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


@attrs.frozen(kw_only=True)
class Door:
    """Who may come in.

    Attributes:
        token: bearer token; empty for everybody.
    """

    token: str = attrs.field(default="", repr=False)

    def refusal(self, scope: Scope) -> Answer | None:
        """The answer to who has not the right token."""
        if not self.token:
            return None
        scheme, _, given = (_header(scope, b"authorization") or "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode()):
            return None
        return Answer(status=401, body=b"a bearer token is needed\n", outcome="refused", media_type="text/plain")


@attrs.frozen(kw_only=True)
class Calling:
    """The endpoint of calls.

    Attributes:
        desk: where they come in.
        door: who may call.
        max_body_bytes: longest body.
    """

    desk: Desk
    door: Door
    max_body_bytes: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (refusal := self.door.refusal(scope)) is not None:
            await read_body(receive, self.max_body_bytes + 1, self.max_body_bytes, self.desk.room)  # only dropped
            await respond(send, refusal)
            return
        declared = _header(scope, b"content-length")
        length = int(declared) if declared is not None and declared.isdecimal() else None
        body = await read_body(receive, length, self.max_body_bytes, self.desk.room)
        if isinstance(body, bytes):
            await self._take(body, scope, receive, send)
        elif body == "too_long":
            text = f"a body of at most {self.max_body_bytes} bytes is taken\n".encode()
            await respond(send, Answer(status=413, body=text, outcome="refused", media_type="text/plain", close=True))
        elif body == "no_room":
            await respond(send, attrs.evolve(self.desk.busy("too many calls wait"), close=True))

    async def _take(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        key = _header(scope, b"idempotency-key")
        if key is not None and not 0 < len(key) <= LONGEST_KEY:
            self.desk.room.give_back(len(body))
            failure = invalid_request(f"Idempotency-Key: expected 1 to {LONGEST_KEY} characters, got {len(key)}", 400)
            await respond(send, self.desk.failed(ToolCall(tool=None), failure))
            return
        outcome = await self.desk.take(body, scope.get("path_params", {}).get("name", ""), key)
        del body  # what waits now holds the arguments alone
        if isinstance(outcome, Answer):
            await respond(send, outcome)
            return

        async def deliver(answer: Answer) -> None:
            await respond(send, answer)

        outcome.listen(deliver)
        try:
            # The server tells of a disconnect when the caller has gone, and also once the response is complete.
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            outcome.leave(deliver)


@attrs.frozen(kw_only=True)
class Page:
    """An endpoint that tells something.

    Attributes:
        write: makes the answer.
        door: who may read it.
    """

    write: Callable[[], Awaitable[Answer]]
    door: Door = Door()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await respond(send, self.door.refusal(scope) or await self.write())


def application(
    desk: Desk, *, calls_at: str, checks: Mapping[str, Check], token: str, max_body_bytes: int, tells: bool = True
) -> Starlette:
    """The whole server.

    Args:
        desk: where calls come in.
        calls_at: path of the calls; `{name}` in it is the tool's name.
        checks: whether each backend can be reached.
        token: bearer token; empty for everybody.
        max_body_bytes: longest request body.
        tells: whether there are also `/tools` and `/metrics`.
    """
    door = Door(token=token)

    async def health() -> Answer:
        return Answer(status=200, body=b'{"status": "ok"}', outcome="ok")

    async def ready() -> Answer:
        reasons = await readiness(checks)
        gate = await desk.gate.check()
        fine = not desk.draining and gate is None and not any(reasons.values())
        told = {
            "ready": fine,
            "draining": desk.draining,
            "gate": {"reachable": gate is None, "reason": gate},
            "backends": {name: {"reachable": why is None, "reason": why} for name, why in reasons.items()},
        }
        return Answer(status=200 if fine else 503, body=json_bytes(told), outcome="ok")

    async def tools() -> Answer:
        rows = [
            {
                "name": tool.name,
                "capability": tool.capability,
                "group": tool.group,
                "limit": tool.limit,
                "running": desk.counters[tool.name].running,
                "waiting": desk.counters[tool.name].waiting,
            }
            for tool in desk.tools.values()
        ]
        return Answer(status=200, body=json_bytes(rows), outcome="ok")

    async def metrics() -> Answer:
        return Answer(status=200, body=metrics_text(desk.counters).encode(), outcome="ok", media_type=CONTENT_TYPE)

    pages = [Route("/health", Page(write=health)), Route("/ready", Page(write=ready, door=door))]
    if tells:
        pages += [Route("/tools", Page(write=tools, door=door)), Route("/metrics", Page(write=metrics, door=door))]
    calling = Calling(desk=desk, door=door, max_body_bytes=max_body_bytes)
    return Starlette(routes=[Route(calls_at, calling, methods=["POST"]), *pages])
