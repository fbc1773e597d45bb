"""Encodes pixels, and shapes the copy that a model is sent."""

from __future__ import annotations

import math
from io import BytesIO

from PIL import Image

from openvlharness_adapters.imaging.normalising import WHITE
from openvlharness_core.pictures import EncodedImage, ImageLimits

JPEG, PNG = "image/jpeg", "image/png"
# Colours at full resolution: thin red letters on blue are what a document is asked about.
_JPEG_QUALITY, _JPEG_SUBSAMPLING = 92, "4:4:4"
_PNG_COMPRESSION = 3  # of a photo 4 % larger than level 6 in a third of the time


def encoded(
    image: Image.Image, media_type: str, icc_profile: bytes | None = None, exif: bytes | None = None
) -> EncodedImage:
    """`image` (mode L or RGB) as JPEG if `media_type` is that of JPEG, else as PNG; no metadata but what is given."""
    sink = BytesIO()
    if media_type == JPEG:
        image.save(
            sink,
            "JPEG",
            quality=_JPEG_QUALITY,
            subsampling=_JPEG_SUBSAMPLING,
            icc_profile=icc_profile,
            exif=exif or b"",
        )
    else:
        image.save(sink, "PNG", compress_level=_PNG_COMPRESSION, icc_profile=icc_profile, exif=exif or b"")
    kind = JPEG if media_type == JPEG else PNG
    return EncodedImage(data=sink.getvalue(), media_type=kind, size_hw=(image.height, image.width))


def fits(size_hw: tuple[int, int], limits: ImageLimits) -> bool:
    """Whether a picture of this size can be sent as it is."""
    return _shrunk_hw(size_hw, limits) == size_hw and _padded_hw(size_hw, limits) == size_hw


def fitted(image: Image.Image, limits: ImageLimits) -> Image.Image:
    """`image` shrunk to the longest side, then padded with white to the shortest side and the ratio.

    The content keeps the upper left corner, so a pixel keeps its place and a grid coordinate is off by one factor only.
    Where the limits contradict each other, the shortest side wins.
    """
    height, width = _shrunk_hw((image.height, image.width), limits)
    if (width, height) != image.size:
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    padded_height, padded_width = _padded_hw((height, width), limits)
    if (padded_width, padded_height) == image.size:
        return image
    canvas = Image.new(image.mode, (padded_width, padded_height), WHITE if image.mode == "L" else (WHITE,) * 3)
    canvas.paste(image)
    return canvas


def _shrunk_hw(size_hw: tuple[int, int], limits: ImageLimits) -> tuple[int, int]:
    longest = max(size_hw)
    if limits.max_side is None or longest <= limits.max_side:
        return size_hw
    height, width = (max(1, round(side * limits.max_side / longest)) for side in size_hw)
    return height, width


def _padded_hw(size_hw: tuple[int, int], limits: ImageLimits) -> tuple[int, int]:
    floor = limits.min_side or 1
    height, width = (max(side, floor) for side in size_hw)
    if limits.max_ratio is not None:
        least = math.ceil(max(height, width) / max(1.0, limits.max_ratio))
        height, width = max(height, least), max(width, least)
    return height, width
