"""WebP: chunks inside one RIFF chunk that says how long the file is."""

from __future__ import annotations

from openvlharness_adapters.imaging.formats.exif import orientation_of_exif
from openvlharness_adapters.imaging.formats.layout import Layout, damaged, truncated

_MAX_CHUNKS = 1 << 16
_ANIMATED, _ALPHA = 0x02, 0x10


def read(data: bytes) -> Layout:
    """See `Layout`. Raises UnreadableImageError."""
    if len(data) < 30:
        raise truncated("WebP", "a header of 30 bytes", data)
    end = 8 + int.from_bytes(data[4:8], "little")
    if end > len(data):
        raise truncated("WebP", f"{end} bytes", data)
    size_hw, has_alpha, is_animated = _canvas(data)
    orientation: int | None = None
    frames, stills = 0, 0
    at = 12
    for _ in range(_MAX_CHUNKS):
        if at + 8 > end:
            break
        name, length = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        if at + 8 + length > end:
            raise truncated("WebP", f"{length} bytes of chunk {name!r}", data)
        frames += name == b"ANMF"
        stills += name in (b"VP8 ", b"VP8L")
        has_alpha = has_alpha or name == b"ALPH"
        if name == b"EXIF" and orientation is None:
            orientation = orientation_of_exif(data[at + 8 : at + 8 + length])
        at += 8 + length + length % 2
    else:
        raise damaged("WebP", f"at most {_MAX_CHUNKS} chunks", "more")
    if not (frames if is_animated else stills):
        raise damaged("WebP", "a picture", "none")
    return Layout(
        media_type="image/webp",
        size_hw=size_hw,
        still=lambda: data,
        decoder="WEBP",
        orientation=orientation or 1,
        frames=max(1, frames) if is_animated else 1,
        has_alpha=has_alpha or is_animated,
    )


def _canvas(data: bytes) -> tuple[tuple[int, int], bool, bool]:
    """(height, width), whether it may be transparent, whether it is animated."""
    kind = data[12:16]
    if kind == b"VP8X":
        width, height = (1 + int.from_bytes(data[i : i + 3], "little") for i in (24, 27))
        return (height, width), bool(data[20] & _ALPHA), bool(data[20] & _ANIMATED)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = (int.from_bytes(data[i : i + 2], "little") & 0x3FFF for i in (26, 28))
        return (height, width), False, False
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return ((bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1), bool(bits >> 28 & 1), False
    raise damaged("WebP", "a VP8, VP8L or VP8X header", repr(kind))
