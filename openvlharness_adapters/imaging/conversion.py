"""Pictures that exist only in memory: PIL images and arrays to encoded bytes."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image


def png_of(picture: object) -> bytes:
    """PNG bytes of a PIL image or of an array.

    Args:
        picture: a PIL image of any mode, or an array of shape (height, width) or (height, width, channels) with 1, 3
            or 4 channels, RGB(A), of dtype uint8, uint16 (scaled to 8 bits) or bool.

    Raises:
        TypeError: anything else, saying what was expected and what came.
    """
    if isinstance(picture, Image.Image):
        return _encoded(picture)
    if not hasattr(picture, "__array__"):
        kinds = "a path, URL, bytes, binary file, PIL image or array"
        raise TypeError(f"expected {kinds}, got {type(picture).__name__}")
    array = np.asarray(picture)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.size == 0 or array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)):
        raise TypeError(f"expected shape (height, width) or (height, width, 1, 3 or 4), got {array.shape}")
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * 255
    elif array.dtype == np.uint16:
        array = (array >> 8).astype(np.uint8)
    elif array.dtype != np.uint8:
        raise TypeError(f"expected an array of uint8, uint16 or bool, got {array.dtype}")
    return _encoded(Image.fromarray(np.ascontiguousarray(array)))


def _encoded(image: Image.Image) -> bytes:
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        image = image.convert("RGBA" if "A" in image.mode or "a" in image.mode else "RGB")
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()
