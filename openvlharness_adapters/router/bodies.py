"""Reading request bodies: no longer than allowed, and together no more than memory is meant to hold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Literal

import attrs

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

DRAINED_BYTES = 1 << 20
"""Read and dropped of a body that is too long: a client that is still writing would otherwise see a reset, no answer."""
WAITING_BYTES = 1 << 30
"""Bodies of all calls that have no seat yet."""

Refusal = Literal["too_long", "no_room", "left"]


@attrs.define(eq=False)
class Room:
    """Bytes that calls without a seat hold.

    Attributes:
        limit: all of them together.
    """

    limit: int = WAITING_BYTES
    held: int = attrs.field(default=0, init=False)

    def take(self, size: int) -> bool:
        """Whether there was room; then it is taken."""
        if self.held + size > self.limit:
            return False
        self.held += size
        return True

    def give_back(self, size: int) -> None:
        self.held -= size


async def read_body(receive: Receive, declared: int | None, limit: int, room: Room) -> bytes | Refusal:
    """The body, whose length has been taken from `room`; or why there is none, and then nothing was taken.

    Args:
        receive: of the ASGI connection.
        declared: Content-Length, if one was sent.
        limit: longest body in bytes.
        room: shared with the other calls.
    """
    if declared is not None and declared > limit:
        return await _drained(receive, "too_long")
    pieces: list[bytes] = []
    size = 0
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                room.give_back(size)
                return "left"
            piece = message.get("body", b"")
            if size + len(piece) > limit or not room.take(len(piece)):
                room.give_back(size)
                why: Refusal = "too_long" if size + len(piece) > limit else "no_room"
                return why if not message.get("more_body") else await _drained(receive, why)
            size += len(piece)
            pieces.append(piece)
            if not message.get("more_body"):
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    except BaseException:
        room.give_back(size)
        raise


async def _drained(receive: Receive, why: Refusal) -> Refusal:
    dropped = 0
    while dropped < DRAINED_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return "left"
        dropped += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    return why
