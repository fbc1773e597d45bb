"""Bodies are unpacked once, and no further than anybody wants to read."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterable

import httpx
import pytest

from openvlharness_adapters.http.unpacking import beginning_of, can_be_unpacked, packing_of

TEXT = b"".join(b"%d, " % number for number in range(5000))


class _Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self.given = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            self.given += 1
            yield piece


def _response(packing: str, *pieces: bytes) -> httpx.Response:
    return httpx.Response(200, headers={"Content-Encoding": packing}, stream=_Pieces(pieces))


def _cut(data: bytes, length: int) -> list[bytes]:
    return [data[at : at + length] for at in range(0, len(data), length)]


def _bare(data: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(data) + packing.flush()


PACKED = {
    "": TEXT,
    "identity": TEXT,
    "gzip": gzip.compress(TEXT),
    "X-GZip": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    " deflate": _bare(TEXT),
}


@pytest.mark.parametrize("length", [1, 7, 1000, 1 << 20])
@pytest.mark.parametrize("packing", PACKED)
async def test_a_body_comes_out_whole_or_as_far_as_is_wanted(packing: str, length: int) -> None:
    pieces = _cut(PACKED[packing], length)
    assert await beginning_of(_response(packing, *pieces), len(TEXT) + 1) == TEXT
    assert await beginning_of(_response(packing, *pieces), 1001) == TEXT[:1001]


@pytest.mark.parametrize("packing", ["gzip", "deflate"])
async def test_no_more_is_unpacked_than_is_wanted(packing: str) -> None:
    swollen = bytes(32 << 20)
    packed = gzip.compress(swollen, 1) if packing == "gzip" else zlib.compress(swollen, 1)
    tracemalloc.start()
    try:
        assert await beginning_of(_response(packing, packed), 1 << 16) == bytes(1 << 16)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "endless",
    [
        lambda: (gzip.compress(b"short") if at == 0 else b"rubbish behind it" for at in range(10**6)),
        lambda: (_empty_blocks(first=at == 0) for at in range(10**6)),
    ],
    ids=["behind the end", "blocks of nothing"],
)
async def test_what_unpacks_to_nothing_is_not_read_for_ever(endless: object) -> None:
    assert callable(endless)
    stream = _Pieces(endless())
    response = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=stream)
    assert await beginning_of(response, 4096) in (b"short", b"")
    assert stream.given < 4096


def _empty_blocks(*, first: bool) -> bytes:
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\x03" if first else b""
    return head + b"\0\0\0\xff\xff" * 100  # stored blocks of no bytes, none of them the last


async def test_a_body_that_is_not_packed_as_its_header_says() -> None:
    with pytest.raises(httpx.DecodingError):
        await beginning_of(_response("gzip", b"not gzip"), 100)


@pytest.mark.parametrize("packing", ["gzip, gzip", "gzip,deflate", "br", "zstd", "gzip gzip", "identity, gzip"])
def test_packed_twice_or_otherwise_is_not_taken(packing: str) -> None:
    assert not can_be_unpacked(packing_of(_response(packing)))


def test_two_headers_are_two_packings() -> None:
    headers = [("Content-Encoding", "gzip"), ("Content-Encoding", "gzip")]
    assert not can_be_unpacked(packing_of(httpx.Response(200, headers=headers, stream=_Pieces(()))))
