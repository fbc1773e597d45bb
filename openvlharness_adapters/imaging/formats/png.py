"""PNG: chunks from IHDR to IEND."""

from __future__ import annotations

import struct
import zlib

from openvlharness_adapters.imaging.formats.exif import orientation_of_exif
from openvlharness_adapters.imaging.formats.layout import Layout, damaged, truncated

MAGIC = b"\x89PNG\r\n\x1a\n"
_MAX_CHUNKS = 1 << 16  # a 100 MB file in the usual 8 KB chunks has 13 000; a walk over millions would hold up the loop
_MAX_PROFILE = 4 << 20
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_GREY, _RGB, _PALETTE = 0, 2, 3


def read(data: bytes) -> Layout:
    """See `Layout`. Raises UnreadableImageError."""
    if len(data) < 33:
        raise truncated("PNG", "a header of 33 bytes", data)
    if data[8:16] != b"\0\0\0\rIHDR":
        raise damaged("PNG", "IHDR first", repr(data[12:16]))
    width, height, depth, colour = struct.unpack_from(">IIBB", data, 16)
    if depth not in _DEPTHS.get(colour, ()):
        raise damaged("PNG", "a bit depth that goes with the colour type", f"{depth} bits with type {colour}")
    kept = [(0, 33)]
    orientation: int | None = None
    frames, transparency, pictures, profiles = 1, b"", 0, 0
    at = 33
    for _ in range(_MAX_CHUNKS):
        if at + 12 > len(data):
            raise truncated("PNG", "the end chunk IEND", data)
        length, name = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        end = at + 12 + length
        if end > len(data):
            raise truncated("PNG", f"{length} bytes of chunk {name!r}", data)
        body = at + 8
        if name == b"IDAT":
            pictures += 1
            kept.append((at, end))
        elif name == b"PLTE" or (name == b"iCCP" and not profiles):  # one profile: each is unpacked to be looked at
            profiles += name == b"iCCP"
            kept.append((at, end))
        elif name == b"tRNS":
            transparency = data[body : end - 4]
            if colour == _PALETTE:
                kept.append((at, end))
        elif name == b"eXIf" and orientation is None:
            orientation = orientation_of_exif(data[body : end - 4])
        elif name == b"acTL" and length >= 4:
            frames = max(1, int.from_bytes(data[body : body + 4], "big"))
        elif name == b"IEND":
            kept.append((at, end))
            break
        at = end
    else:
        raise damaged("PNG", f"at most {_MAX_CHUNKS} chunks", "more")
    if not pictures:
        raise damaged("PNG", "picture data (IDAT)", "none")
    return Layout(
        media_type="image/png",
        size_hw=(height, width),
        still=lambda: _joined(data, kept),
        decoder="PNG",
        orientation=orientation or 1,
        frames=frames,
        has_alpha=colour in (4, 6) or bool(transparency),
        is_common=depth <= 8,
        transparent=_transparent_colour(transparency, colour, depth),
    )


def _joined(data: bytes, spans: list[tuple[int, int]]) -> bytes:
    """The chunks at `spans`; a broken or swollen colour profile is left out, it must not cost the picture."""
    chunks = (data[at:end] for at, end in spans)
    return b"".join(chunk for chunk in chunks if chunk[4:8] != b"iCCP" or _is_profile(chunk[8:-4]))


def _transparent_colour(body: bytes, colour: int, depth: int) -> tuple[int, ...] | None:
    """The colour key as the decoder gives its pixels: grey stretched to 8 bits or left at 16, RGB at its upper 8 bits."""
    if colour == _GREY and len(body) >= 2:
        value = int.from_bytes(body[:2], "big")
        return (value if depth == 16 else (value & ((1 << depth) - 1)) * 255 // ((1 << depth) - 1),)
    if colour == _RGB and len(body) >= 6:
        values = struct.unpack_from(">3H", body)
        return tuple(value >> 8 if depth == 16 else value & 0xFF for value in values)
    return None


def _is_profile(body: bytes) -> bool:
    """Whether a colour profile can be unpacked within bounds."""
    _, _, packed = body.partition(b"\0")
    unpacking = zlib.decompressobj()
    try:
        unpacking.decompress(packed[1:], _MAX_PROFILE)
    except zlib.error:
        return False
    return unpacking.eof
