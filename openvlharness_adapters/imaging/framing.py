"""Several pictures on canvases of one size, for models that look at them together."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from PIL import Image

_GREY = (124, 116, 104)
"""The mean of the pictures that vision models are trained with: nothing to see there."""


@attrs.frozen(kw_only=True)
class Framed:
    """A picture in the middle of its canvas.

    Attributes:
        image: the canvas.
        offset_xy_px: where the picture's corner lies on it.
    """

    image: Image.Image
    offset_xy_px: tuple[int, int]


def framed(images: Sequence[Image.Image]) -> tuple[Framed, ...]:
    """Each picture unscaled in the middle of a canvas that is as wide as the widest and as high as the highest.

    In the middle, because such models take the middle of what they see for the optical centre.
    """
    width, height = max(image.width for image in images), max(image.height for image in images)
    return tuple(_framed(image, width, height) for image in images)


def _framed(image: Image.Image, width: int, height: int) -> Framed:
    if image.size == (width, height):
        return Framed(image=image, offset_xy_px=(0, 0))
    offset = ((width - image.width) // 2, (height - image.height) // 2)
    canvas = Image.new("RGB", (width, height), _GREY)
    canvas.paste(image, offset)
    return Framed(image=canvas, offset_xy_px=offset)
