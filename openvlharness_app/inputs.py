"""A picture from whatever a caller has at hand."""

from __future__ import annotations

import os
from typing import Any

from openvlharness_core import ImageInput, InvalidQuestionError


def image_input(source: Any) -> ImageInput:
    """A picture from a path, an http(s) or data URL, encoded bytes, an open binary file, a PIL image or an array.

    Arrays are (height, width) or (height, width, channels) with 1, 3 or 4 channels, RGB or RGBA, uint8; uint16 and
    booleans are scaled to 8 bits.

    Raises:
        InvalidQuestionError: anything else.
    """
    if isinstance(source, ImageInput):
        return source
    if isinstance(source, str):
        return _from_text(source)
    if isinstance(source, os.PathLike):
        return ImageInput.from_path(os.fspath(source))
    if isinstance(source, bytes | bytearray | memoryview):
        return ImageInput.from_bytes(bytes(source))
    if hasattr(source, "read"):
        data = source.read()
        if not isinstance(data, bytes):
            raise InvalidQuestionError("image", f"expected a file opened in binary mode, got {type(data).__name__}")
        return ImageInput.from_bytes(data, name=str(getattr(source, "name", "")))
    from openvlharness_adapters.imaging.conversion import png_of

    try:
        return ImageInput.from_bytes(png_of(source))
    except TypeError as error:
        raise InvalidQuestionError("image", str(error)) from None


def _from_text(text: str) -> ImageInput:
    head = text[:8].lower()
    if head.startswith("data:"):
        return ImageInput.from_data_url(text)
    if head.startswith(("http://", "https://")):
        return ImageInput.from_url(text)
    return ImageInput.from_path(text)
