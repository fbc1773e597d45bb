"""ICO: several pictures of one thing, of which the largest is taken."""

from __future__ import annotations

import struct

import attrs

from openvlharness_adapters.imaging.formats import png
from openvlharness_adapters.imaging.formats.bmp import dib_header
from openvlharness_adapters.imaging.formats.layout import Layout, damaged, truncated


def read(data: bytes) -> Layout:
    """See `Layout`. Raises UnreadableImageError."""
    (count,) = struct.unpack_from("<H", data, 4)
    if not count:
        raise damaged("ICO", "an icon", "none")
    if 6 + 16 * count > len(data):
        raise truncated("ICO", f"a directory of {count} icons", data)
    entries = [struct.unpack_from("<BBBBHHII", data, 6 + 16 * i) for i in range(count)]
    *_, bits, length, start = max(entries, key=lambda entry: ((entry[0] or 256) * (entry[1] or 256), entry[5]))
    if start + length > len(data):
        raise truncated("ICO", f"{start + length} bytes", data)
    icon = data[start : start + length]
    if icon.startswith(png.MAGIC):
        inner = png.read(icon)
        return attrs.evolve(inner, media_type="image/x-icon", frames=count, frames_are="icons, the largest")
    if len(icon) < 40:
        raise damaged("ICO", "an icon of 40 bytes or more", len(icon))
    doubled, width, icon_bits, _ = dib_header(icon, 0)  # the mask stands under the colours, in the same height
    height = doubled // 2
    if not (0 < width <= 256 and 0 < height <= 256):
        raise damaged("ICO", "a bitmap icon of 1 to 256 pixels a side", f"{width}x{height}")
    # The directory repeats the size and often lies; the picture's own header decides.
    head = struct.pack("<HHHBBBBHHII", 0, 1, 1, width & 255, height & 255, 0, 0, 1, bits or icon_bits, length, 22)
    return Layout(
        media_type="image/x-icon",
        size_hw=(height, width),
        still=lambda: head + icon,
        decoder="ICO",
        frames=count,
        frames_are="icons, the largest",
        has_alpha=True,
    )
