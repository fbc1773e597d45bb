"""GIF: blocks up to the trailer byte."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from openvlharness_adapters.imaging.formats.layout import Layout, damaged, truncated
from openvlharness_core.errors import UnreadableImageError

_MAX_BLOCKS = 1 << 19  # a 64 MiB file in full blocks has 263 000
_STRAYS = re.compile(rb"\0+")
_IMAGE, _EXTENSION, _TRAILER, _CONTROL = 0x2C, 0x21, 0x3B, 0xF9


def read(data: bytes) -> Layout:
    """See `Layout`; the canvas grows where the first frame reaches beyond it. Raises UnreadableImageError."""
    if len(data) < 13:
        raise truncated("GIF", "a header of 13 bytes", data)
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    at = palette_end = 13 + _palette_bytes(flags)
    control = b""
    first: tuple[tuple[int, int, int, int], bytes] | None = None
    frames = 0
    steps = iter(range(_MAX_BLOCKS))
    for _ in steps:
        if at >= len(data):
            raise truncated("GIF", "the trailer byte 3B", data)
        kind = data[at]
        if kind == _TRAILER:
            break
        if kind == _EXTENSION:
            start, is_control = at, data[at + 1 : at + 2] == bytes([_CONTROL])
            at = _after_blocks(data, at + 2, steps)
            if is_control:
                control = data[start:at]
        elif kind == _IMAGE:
            if at + 11 > len(data):
                raise truncated("GIF", "a frame header of 10 bytes", data)
            start, place = at, struct.unpack_from("<4H", data, at + 1)
            at = _after_blocks(data, at + 11 + _palette_bytes(data[at + 9]), steps)
            if first is None:  # moved to the corner: `placed_xy_px` remembers where it lay
                first = place, control + data[start : start + 1] + bytes(4) + data[start + 5 : at]
            frames, control = frames + 1, b""
        elif strays := _STRAYS.match(data, at):  # empty blocks where none belong: encoders of old left them
            at = strays.end()
        else:
            raise damaged("GIF", f"a frame, an extension or the trailer at byte {at}", f"{kind:02X}")
    else:
        raise _too_many()
    if first is None:
        raise damaged("GIF", "a frame", "none")
    (left, top, frame_width, frame_height), blocks = first
    if not (frame_width and frame_height):
        raise damaged("GIF", "a first frame with pixels", f"{frame_width}x{frame_height}")
    head = data[:6] + struct.pack("<HH", frame_width, frame_height) + data[10:palette_end]
    return Layout(
        media_type="image/gif",
        size_hw=(max(height, top + frame_height), max(width, left + frame_width)),
        still=lambda: head + blocks + b"\x3b",
        decoder="GIF",
        frames=frames,
        has_alpha=True,
        placed_xy_px=(left, top),
    )


def _palette_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(data: bytes, at: int, steps: Iterator[int]) -> int:
    """The place after a chain of length-prefixed blocks that ends with an empty one; each takes one of `steps`."""
    for _ in steps:
        if at >= len(data):
            raise truncated("GIF", "the end of a chain of blocks", data)
        length = data[at]
        at += 1 + length
        if not length:
            return at
    raise _too_many()


def _too_many() -> UnreadableImageError:
    return damaged("GIF", f"at most {_MAX_BLOCKS} blocks", "more")
