"""AVIF: boxes. Its sizes hide behind tables of items and properties, so the decoder's parser reads them for us."""

from __future__ import annotations

from io import BytesIO

from openvlharness_adapters.imaging.formats.exif import orientation_of_exif
from openvlharness_adapters.imaging.formats.layout import Layout, damaged, truncated

_MAX_BOXES = 1 << 16


def brands(data: bytes) -> set[bytes]:
    """What the first box says the file may be read as; empty if it is no file of boxes."""
    if data[4:8] != b"ftyp":
        return set()
    end = min(int.from_bytes(data[:4], "big"), len(data), 1024)
    return {data[8:12], *(data[at : at + 4] for at in range(16, end - 3, 4))}


def read(data: bytes) -> Layout:
    """See `Layout`. Raises UnreadableImageError, and whatever the decoder's parser raises."""
    still = _without_exif(data)
    from PIL.AvifImagePlugin import AvifImageFile  # here, for the library behind it is large and rarely needed

    image = AvifImageFile(BytesIO(still))
    width, height = image.size
    return Layout(
        media_type="image/avif",
        size_hw=(height, width),
        still=lambda: still,
        decoder="AVIF",
        orientation=orientation_of_exif(image.info.get("exif", b"")),
        frames=image.n_frames,
        has_alpha=image.mode == "RGBA",
    )


def _without_exif(data: bytes) -> bytes:
    """The file with its EXIF item renamed: the format's own turn and mirror properties count, the tag does not."""
    at = 0
    pieces: list[bytes] = []
    for _ in range(_MAX_BOXES):
        if at >= len(data):
            return b"".join(pieces)
        if at + 8 > len(data):
            raise truncated("AVIF", "a box header of 8 bytes", data)
        length, head = int.from_bytes(data[at : at + 4], "big"), 8
        if length == 1:
            length, head = int.from_bytes(data[at + 8 : at + 16], "big"), 16
        end = at + length if length else len(data)
        if end > len(data):
            raise truncated("AVIF", f"{length} bytes of box {data[at + 4 : at + 8]!r}", data)
        if end < at + head:
            raise damaged("AVIF", f"a box of {head} bytes or more", length)
        box = data[at:end]
        pieces.append(box.replace(b"Exif\0", b"none\0") if box[4:8] == b"meta" else box)
        at = end
    raise damaged("AVIF", f"at most {_MAX_BOXES} boxes", "more")
