"""Files that are meant to cost: millions of empty pieces, tags without end, a picture in one line."""

from __future__ import annotations

import struct
import time
import tracemalloc
import zlib
from collections.abc import Callable

import pytest

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_core.errors import UnreadableImageError
from openvlharness_core.pictures import ImageLimits
from tests.unit.adapters.imaging.drawing import saved, smooth

JPEG = saved(smooth(8, 8), "JPEG")
PNG = saved(smooth(8, 8), "PNG")
GIF = saved(smooth(8, 8), "GIF")
WEBP = saved(smooth(8, 8), "WEBP")
AVIF = saved(smooth(8, 8), "AVIF")
PIECES = 4_000_000


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _png(*chunks: bytes) -> bytes:
    """The picture with `chunks` behind its header."""
    return PNG[:33] + b"".join(chunks) + PNG[33:]


def _webp(chunks: bytes) -> bytes:
    body = WEBP[8:] + chunks
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _ifd(*entries: tuple[int, int, int, int]) -> bytes:
    """A TIFF whose values, if they need room, begin right behind its header."""
    directory = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return directory + bytes(4)


def _tiff(*entries: tuple[int, int, int, int], values: int = 0) -> bytes:
    size = ((256, 3, 1, 8), (257, 3, 1, 8))
    return b"II*\0" + struct.pack("<I", 8 + values) + bytes(values) + _ifd(*sorted((*size, *entries)))


MANY: dict[str, tuple[Callable[[], bytes], str]] = {
    "jpeg, empty segments": (lambda: JPEG[:2] + b"\xff\xe0\0\2" * PIECES + JPEG[2:], "at most 65536 segments"),
    "jpeg, markers alone": (lambda: JPEG[:2] + b"\xff\x01" * PIECES + JPEG[2:], "at most 65536 segments"),
    "png, empty chunks": (lambda: _png(_chunk(b"teXt", b"") * PIECES), "at most 65536 chunks"),
    "gif, short blocks": (lambda: GIF[:-1] + b"\x21\xfe" + b"\1a" * PIECES + b"\0;", "at most 524288 blocks"),
    "gif, empty extensions": (lambda: GIF[:-1] + b"\x21\xfe\0" * PIECES + b";", "at most 524288 blocks"),
    "webp, empty chunks": (lambda: _webp(b"JUNK\0\0\0\0" * PIECES), "at most 65536 chunks"),
    "avif, empty boxes": (lambda: AVIF + b"\0\0\0\x08free" * PIECES, "at most 65536 boxes"),
    "avif, boxes of items": (lambda: AVIF + b"\0\0\0\x08meta" * PIECES, "at most 65536 boxes"),
    "tiff, strips without end": (
        lambda: _tiff((273, 1, 12 * PIECES, 8), (279, 1, 12 * PIECES, 8), values=12 * PIECES),
        "at most 1048576 values of tag 273",
    ),
    "tiff, turns without end": (
        lambda: _tiff((273, 3, 1, 8), (279, 3, 1, 8), (274, 1, 12 * PIECES, 8), values=12 * PIECES),
        "at most 1048576 values of tag 274",
    ),
    "tiff, colours without end": (
        lambda: _tiff((273, 3, 1, 8), (279, 3, 1, 8), (320, 3, 6 * PIECES, 8), values=12 * PIECES),
        "at most 1048576 values of tag 320",
    ),
}


@pytest.mark.parametrize("name", MANY)
def test_a_file_of_millions_of_pieces_is_soon_refused(name: str) -> None:
    make, words = MANY[name]
    data = make()
    begin = time.process_time()
    with pytest.raises(UnreadableImageError, match=words):
        PillowCodec().probe(data)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    ("data", "size_hw"),
    [(JPEG[:2] + b"\xff" * (8 << 20) + JPEG[2:], (8, 8)), (GIF[:-1] + bytes(8 << 20) + b";", (8, 8))],
    ids=["jpeg, fill bytes", "gif, stray zeroes"],
)
def test_what_may_stand_between_pieces_is_leapt_over(data: bytes, size_hw: tuple[int, int]) -> None:
    begin = time.process_time()
    assert PillowCodec().probe(data).size_hw == size_hw
    assert time.process_time() - begin < 0.5


def test_a_jpeg_of_nothing_but_fill_bytes_is_truncated() -> None:
    with pytest.raises(UnreadableImageError, match="truncated JPEG"):
        PillowCodec().probe(JPEG[:2] + b"\xff" * (8 << 20))


def test_the_first_orientation_counts_and_no_other_is_looked_for() -> None:
    def block(orientation: int, others: int = 0) -> bytes:
        tags = struct.pack("<HHII", 0x0100, 3, 1, 0) * others + struct.pack("<HHII", 0x0112, 3, 1, orientation)
        return b"II*\0\x08\0\0\0" + struct.pack("<H", others + 1) + tags

    long = _chunk(b"eXIf", block(6, 60_000))
    begin = time.process_time()
    assert PillowCodec().probe(_png(_chunk(b"eXIf", block(3)), *[long] * 60)).orientation == 3
    assert time.process_time() - begin < 0.5
    first, second = (b"EXIF" + struct.pack("<I", len(block(turn))) + block(turn) for turn in (3, 6))
    assert PillowCodec().probe(_webp(first + second)).orientation == 3


def test_one_colour_profile_is_unpacked_and_no_other() -> None:
    swollen = _chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(16 << 20), 9))
    begin = time.process_time()
    assert PillowCodec().take_in(_png(*[swollen] * 500), ImageLimits(max_side=4)).sent.size_hw == (4, 4)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("size", [(89_478_485, 1), (1, 89_478_485), ((1 << 20) + 1, 1)])
def test_a_picture_in_one_line_is_refused_before_anything_decodes_it(size: tuple[int, int]) -> None:
    head = struct.pack(">IIBBBBB", *size, 8, 0, 0, 0, 0)
    data = PNG[:8] + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(b"\0")) + _chunk(b"IEND", b"")
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableImageError, match=f"at most 1048576 pixels a side, got {size[0]}x{size[1]}"):
            PillowCodec().take_in(data, ImageLimits())
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size_hw", [(1, 1 << 20), (1 << 20, 1)])
def test_the_longest_line_that_is_taken_in_can_be_cut(size_hw: tuple[int, int]) -> None:
    height, width = size_hw
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + bytes(3 * width)) * height, 1)
    data = PNG[:8] + _chunk(b"IHDR", head) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")
    codec = PillowCodec()
    full = codec.take_in(data, ImageLimits()).full
    assert codec.crop(full, (width - 1, height - 1, width, height)).size_hw == (1, 1)
