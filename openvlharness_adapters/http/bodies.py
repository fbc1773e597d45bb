"""Request bodies that are made of many kept pieces, sent in few writes without ever being joined whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

import attrs

GROUP_BYTES = 512 * 1024
"""Large enough that writes are few, small enough that a hundred requests in flight hold little."""


def groups(pieces: Sequence[bytes], size: int = GROUP_BYTES) -> Iterator[bytes]:
    """The pieces joined into groups of exactly `size` bytes, but for the last."""
    waiting: list[bytes | memoryview] = []
    room = size
    for piece in pieces:
        start = 0
        while len(piece) - start >= room:
            waiting.append(memoryview(piece)[start : start + room])
            yield b"".join(waiting)
            start += room
            waiting, room = [], size
        if start < len(piece):
            waiting.append(memoryview(piece)[start:] if start else piece)
            room -= len(piece) - start
    if waiting:
        yield b"".join(waiting)


@attrs.frozen
class GroupedBody:
    """A request body for httpx; iterated anew at each attempt. Send `length` as Content-Length."""

    pieces: Sequence[bytes] = attrs.field(repr=False)

    @property
    def length(self) -> int:
        return sum(map(len, self.pieces))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for group in groups(self.pieces):
            yield group
