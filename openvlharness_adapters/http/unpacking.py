"""The beginning of a response's body, unpacked by hand.

A few kilobytes that are packed twice unpack to gigabytes in one piece, before whoever counts sees any of it. So what is
packed otherwise than once with gzip or deflate is not looked at, and of the rest no more is unpacked than is wanted.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx

ASK_FOR_GZIP = {"Accept-Encoding": "gzip"}
"""Header of a request whose answer is read here."""

_PLAIN = frozenset({"", "identity"})
_GZIP = frozenset({"gzip", "x-gzip"})
_DEFLATE = "deflate"
_LEAVE_SECONDS = 0.05


def packing_of(response: httpx.Response) -> str:
    """The Content-Encoding in lower case; several are separated by commas."""
    return str(response.headers.get("content-encoding", "")).strip().lower()


def can_be_unpacked(packing: str) -> bool:
    """Whether `beginning_of` reads a body of this `packing_of`."""
    return packing in _PLAIN or packing in _GZIP or packing == _DEFLATE


async def beginning_of(
    response: httpx.Response, limit: int, *, complete: Callable[[bytearray], bool] | None = None
) -> bytes:
    """At most `limit` bytes of the unpacked body; what follows is not read.

    Args:
        response: open for streaming, of a packing that `can_be_unpacked`.
        limit: 1 or more.
        complete: shown what there is after every piece; says whether that is all there is to say, however long the
            other side leaves the body open. It must not change what it is shown.

    Raises:
        httpx.DecodingError: a body that is not packed as its header says.
        httpx.HTTPError: the connection failed.
    """
    if response.is_stream_consumed:  # by whoever made it: it is in memory as a whole
        return response.content[:limit]
    packing = packing_of(response)
    body = bytearray()
    unpacking: Any = None
    received = 0
    pieces = response.aiter_raw()
    async for piece in pieces:
        if packing in _PLAIN:
            body += piece[: limit - len(body)]
        elif piece:
            unpacking = unpacking or _unpacking(packing, piece)
            if not unpacking.eof:  # what stands behind the end is dropped: the object would collect it
                body += _unpacked(unpacking, piece, limit - len(body))
        received += len(piece)
        if len(body) >= limit or received > limit:  # packed text is not longer; only padding that unpacks to nothing is
            break
        if complete is not None and complete(body):
            await _let_end(pieces)
            break
    return bytes(body)


async def _let_end(pieces: AsyncIterator[bytes]) -> None:
    """Read on for a moment: only a body that was read to its end leaves a connection that can be used again.

    Real time, since nothing hangs on it: whoever means to end does so at once. What goes wrong behind a complete body
    is of no interest.
    """
    rest = asyncio.ensure_future(_drained(pieces))
    try:
        await asyncio.wait({rest}, timeout=_LEAVE_SECONDS)
    finally:
        rest.cancel()
        await asyncio.gather(rest, return_exceptions=True)


async def _drained(pieces: AsyncIterator[bytes]) -> None:
    async for _ in pieces:
        pass


def _unpacking(packing: str, first: bytes) -> Any:
    if packing == _DEFLATE:  # by the standard inside a zlib frame, by some servers bare
        return zlib.decompressobj(zlib.MAX_WBITS if first[0] & 0x0F == zlib.DEFLATED else -zlib.MAX_WBITS)
    return zlib.decompressobj(zlib.MAX_WBITS | 16)


def _unpacked(unpacking: Any, piece: bytes, room: int) -> bytes:
    try:
        data: bytes = unpacking.decompress(piece, room)
    except zlib.error as error:
        raise httpx.DecodingError(str(error)) from None
    return data
