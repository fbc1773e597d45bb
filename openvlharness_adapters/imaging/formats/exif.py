"""The orientation tag inside an EXIF block: the only thing we want of it."""

from __future__ import annotations

import struct

ORIENTATION = 0x0112
_FORMATS = {1: "B", 3: "H", 4: "I"}  # BYTE and LONG are wrong there, and met


def orientation_of_exif(block: bytes) -> int:
    """EXIF orientation, 1 to 8, of a block that starts with a TIFF header, with or without `Exif` before it.

    A block that cannot be read has no say: 1.
    """
    if block[:6] == b"Exif\0\0":
        block = block[6:]
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if order is None or len(block) < 8:
        return 1
    (start,) = struct.unpack_from(f"{order}I", block, 4)
    if start + 2 > len(block):
        return 1
    (count,) = struct.unpack_from(f"{order}H", block, start)
    for position in range(start + 2, min(start + 2 + 12 * count, len(block) - 11), 12):
        tag, kind, values = struct.unpack_from(f"{order}HHI", block, position)
        if tag == ORIENTATION and kind in _FORMATS and values == 1:
            (value,) = struct.unpack_from(order + _FORMATS[kind], block, position + 8)
            return int(value) if 1 <= value <= 8 else 1
    return 1
