"""JPEG: a chain of segments, then entropy-coded data up to the end marker.

Inside entropy-coded data a byte 0xFF is always followed by 0x00 or a restart marker, so a `FF D9` after the first scan
header is an end marker; a phone may put a second picture or a film after it, at which no decoder looks.
"""

from __future__ import annotations

import re

from openvlharness_adapters.imaging.formats.exif import orientation_of_exif
from openvlharness_adapters.imaging.formats.layout import Layout, damaged, truncated

_MAX_SEGMENTS = 1 << 16
_FILL = re.compile(rb"\xff+")
_END = b"\xff\xd9"
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_COMMON_FRAMES = {0xC0, 0xC1, 0xC2}  # baseline, extended, progressive; not lossless, hierarchical or arithmetic
_WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD9)}
_SCAN = 0xDA
_EXIF_OR_XMP, _ICC_OR_MORE, _PHOTOSHOP, _COMMENT = 0xE1, 0xE2, 0xED, 0xFE


def read(data: bytes) -> Layout:
    """See `Layout`. Raises UnreadableImageError."""
    frame: tuple[int, int, int, int, int] | None = None
    orientation: int | None = None
    kept = [data[:2]]
    at = 2
    for _ in range(_MAX_SEGMENTS):
        fill = _FILL.search(data, at)  # a marker may have any number of these before it
        if fill is None or fill.end() + 3 > len(data):
            raise truncated("JPEG", "a scan of the picture", data)
        at = fill.end() - 1
        marker = data[at + 1]
        if marker in _WITHOUT_LENGTH or marker == 0:
            at += 2
            continue
        if marker == 0xD9:
            raise damaged("JPEG", "a scan of the picture", "its end marker")
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        body = data[at + 4 : at + 2 + length]
        if at + 2 + length > len(data):
            raise truncated("JPEG", f"{length} bytes of segment {marker:02X}", data)
        if marker == _SCAN:
            break
        if marker in _FRAMES and frame is None:
            if len(body) < 6:
                raise damaged("JPEG", "a frame header of 6 bytes or more", len(body))
            size = int.from_bytes(body[1:3], "big"), int.from_bytes(body[3:5], "big")
            frame = (marker, body[0], *size, body[5])
        if marker == _EXIF_OR_XMP and orientation is None and body.startswith(b"Exif\0\0"):
            orientation = orientation_of_exif(body)
        if marker not in (_EXIF_OR_XMP, _PHOTOSHOP, _COMMENT) and not (
            marker == _ICC_OR_MORE and not body.startswith(b"ICC_PROFILE\0")
        ):
            kept.append(data[at : at + 2 + length])
        at += 2 + length
    else:
        raise damaged("JPEG", f"at most {_MAX_SEGMENTS} segments before the first scan", "more")
    if frame is None:
        raise damaged("JPEG", "a frame header before the first scan", "none")
    end = data.rfind(_END, at)  # the last one, for it is next to the end: looking for the first takes 3 ms a photo
    if end < 0:
        raise truncated("JPEG", "the end marker FF D9", data)
    kind, bits, height, width, channels = frame
    scans = at
    return Layout(
        media_type="image/jpeg",
        size_hw=(height, width),
        still=lambda: b"".join((*kept, data[scans : end + 2])),
        decoder="JPEG",
        orientation=orientation or 1,
        is_common=kind in _COMMON_FRAMES and bits == 8 and channels in (1, 3),
    )
