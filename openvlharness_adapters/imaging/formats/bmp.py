"""BMP, and the headless one inside icons."""

from __future__ import annotations

import struct

from openvlharness_adapters.imaging.formats.layout import Layout, damaged, truncated

_UNPACKED = {0, 3, 6}  # BI_RGB and the two with channel masks: their length follows from the size


def read(data: bytes) -> Layout:
    """See `Layout`. Raises UnreadableImageError."""
    if len(data) < 26:
        raise truncated("BMP", "a header of 26 bytes", data)
    (start,) = struct.unpack_from("<I", data, 10)
    height, width, bits, compression = dib_header(data, 14)
    rows = (width * bits + 31) // 32 * 4 * height if compression in _UNPACKED else 1
    if start + rows > len(data):
        raise truncated("BMP", f"{start + rows} bytes", data)
    return Layout(
        media_type="image/bmp", size_hw=(height, width), still=lambda: data, decoder="BMP", has_alpha=bits in (16, 32)
    )


def dib_header(data: bytes, at: int) -> tuple[int, int, int, int]:
    """(height, width, bits a pixel, compression) of the header at `at`; rows may be stored either way up."""
    (length,) = struct.unpack_from("<I", data, at)
    if length == 12:
        width, height, _, bits = struct.unpack_from("<4H", data, at + 4)
        return height, width, bits, 0
    if not 40 <= length <= 124:
        raise damaged("BMP", "a picture header of 12 or 40 to 124 bytes", length)
    if at + length > len(data):
        raise truncated("BMP", f"a picture header of {length} bytes", data)
    width, height, _, bits, compression = struct.unpack_from("<iiHHI", data, at + 4)
    if width < 0:
        raise damaged("BMP", "a width above 0", width)
    return abs(height), width, bits, compression
