"""The focal length that a camera wrote into its picture, in pixels of that picture.

EXIF tells it in one of two ways: as the lens of a film camera that sees as much, compared by the diagonal of its 24 x 36
mm frame; or as the lens itself in millimetres, with the number of pixels to a length on the sensor. Both speak of the
picture as it was taken: a crop of another shape has lost them, while a copy that is smaller, or turned, has not. Nothing
here depends on which side is up: a picture that is turned by its orientation tag keeps the length of its lens in pixels.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from openvlharness_core.pictures import EncodedImage

_FILM_DIAGONAL_MM = math.hypot(24, 36)
_SAME_SHAPE = 0.02  # relative difference of ratios that rounding explains
_EXIF_IFD, _FOCAL_LENGTH, _WIDTH, _HEIGHT = 0x8769, 0x920A, 0xA002, 0xA003
_PLANE_X, _PLANE_UNIT, _FILM_FOCAL = 0xA20E, 0xA210, 0xA405
_MM_OF_UNIT = {1: 25.4, 2: 25.4, 3: 10.0, 4: 1.0, 5: 0.001}  # 1 is "no unit", which cameras write for inches
_CARRIED = (_FOCAL_LENGTH, _WIDTH, _HEIGHT, _PLANE_X, _PLANE_UNIT, _FILM_FOCAL)
_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
_SIZES = {1: 1, 3: 2, 4: 4, 5: 8, 9: 4, 10: 8}


def focal_px(image: EncodedImage) -> float | None:
    """Focal length in pixels of `image`; `None` where its file tells none, or none that belongs to this shape."""
    block = exif_block(image.data)
    if block is None:
        return None
    tags = _tags(block)
    height, width = image.size_hw
    taken = (tags.get(_HEIGHT) or height, tags.get(_WIDTH) or width)
    ratio, ratio_taken = max(height, width) / min(height, width), max(taken) / min(taken)
    if abs(ratio / ratio_taken - 1) > _SAME_SHAPE:
        return None
    film = tags.get(_FILM_FOCAL)
    if film:
        return film * math.hypot(height, width) / _FILM_DIAGONAL_MM
    focal_mm, density, unit = tags.get(_FOCAL_LENGTH), tags.get(_PLANE_X), tags.get(_PLANE_UNIT, 2)
    if focal_mm and density and unit in _MM_OF_UNIT:
        return focal_mm * density / _MM_OF_UNIT[int(unit)] * max(height, width) / max(taken)
    return None


def exif_block(data: bytes) -> bytes | None:
    """The TIFF structure that holds a file's EXIF data: of JPEG, PNG, WebP and TIFF, else `None`."""
    if data.startswith(b"\xff\xd8"):
        return _of_jpeg(data)
    if data.startswith(b"\x89PNG"):
        return next((body for kind, body in _chunks(data, 8, ">") if kind == b"eXIf"), None)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        found = next((body for kind, body in _chunks(data, 12, "<") if kind == b"EXIF"), None)
        return found[6:] if found is not None and found.startswith(b"Exif\0\0") else found
    return data if data[:4] in _ORDERS else None


def carried_exif(data: bytes) -> bytes | None:
    """An EXIF block for a copy of a picture that holds nothing but what `focal_px` needs, if the file tells any of it.

    The copy may be turned and shrunk; neither orientation nor anything that speaks of people or places goes along.
    """
    block = exif_block(data)
    tags = {tag: value for tag, value in _tags(block).items() if tag in _CARRIED} if block is not None else {}
    if not (tags.get(_FILM_FOCAL) or (tags.get(_FOCAL_LENGTH) and tags.get(_PLANE_X))):
        return None
    exif = Image.Exif()
    exif.get_ifd(_EXIF_IFD).update(
        {tag: IFDRational(value) if tag in (_FOCAL_LENGTH, _PLANE_X) else round(value) for tag, value in tags.items()}
    )
    return exif.tobytes()


def _of_jpeg(data: bytes) -> bytes | None:
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] not in (0xD9, 0xDA):
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] == 0xE1 and data[at + 4 : at + 10] == b"Exif\0\0":
            return data[at + 10 : at + 2 + length]
        at += 2 + max(2, length)
    return None


def _chunks(data: bytes, at: int, order: str) -> Iterator[tuple[bytes, bytes]]:
    """Kind and body of the chunks of a PNG (big-endian, checksum behind) or a RIFF (little-endian, padded to even)."""
    while at + 8 <= len(data):
        if order == ">":
            length, kind = struct.unpack_from(">I4s", data, at)
            after = at + 12 + length
        else:
            kind, length = struct.unpack_from("<4sI", data, at)
            after = at + 8 + length + length % 2
        yield kind, data[at + 8 : at + 8 + length]
        at = after


def _tags(block: bytes) -> dict[int, float]:
    """Numbers of the first directory and of the one for the camera, by tag; what is damaged is left out."""
    order = _ORDERS.get(block[:4])
    if order is None or len(block) < 8:
        return {}
    (start,) = struct.unpack_from(f"{order}I", block, 4)
    tags = dict(_directory(block, order, start))
    camera = tags.get(_EXIF_IFD)
    if camera is not None:
        tags |= dict(_directory(block, order, int(camera)))
    return tags


def _directory(block: bytes, order: str, start: int) -> Iterator[tuple[int, float]]:
    if not 8 <= start <= len(block) - 2:
        return
    (count,) = struct.unpack_from(f"{order}H", block, start)
    for at in range(start + 2, min(start + 2 + 12 * count, len(block) - 11), 12):
        tag, kind, values = struct.unpack_from(f"{order}HHI", block, at)
        if values != 1 or kind not in _SIZES:
            continue
        where = at + 8
        if _SIZES[kind] > 4:
            (where,) = struct.unpack_from(f"{order}I", block, where)
        if where + _SIZES[kind] > len(block):
            continue
        if kind in (5, 10):
            top, bottom = struct.unpack_from(order + ("II" if kind == 5 else "ii"), block, where)
            if bottom:
                yield tag, top / bottom
        else:
            yield tag, float(struct.unpack_from(order + {1: "B", 3: "H", 4: "I", 9: "i"}[kind], block, where)[0])
