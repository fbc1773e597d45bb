"""Focal lengths: what a file tells, else a guess that is said to be one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_core.pictures import EncodedImage

GUESSED_FACTOR = 1.0
"""A guess is this many times the longer side: a lens of 36 mm on a film camera, between phones and portrait lenses."""
_LEAST, _MOST = 0.1, 50.0  # times the longer side; what lies beyond was not written by a camera

FocalReader = Callable[[EncodedImage], float | None]
"""The focal length in pixels of the picture that its file tells, or `None`. Any thread may call."""


@attrs.frozen(kw_only=True)
class FocalLength:
    """Focal length of one picture in its own pixels, and whether it is a guess."""

    pixels: float
    guessed: bool


def focal_length(image: EncodedImage, read: FocalReader) -> FocalLength:
    """What the file tells, if it can be true, else the guess."""
    longer = max(image.size_hw)
    told = read(image)
    if told is not None and math.isfinite(told) and _LEAST * longer <= told <= _MOST * longer:
        return FocalLength(pixels=told, guessed=False)
    return FocalLength(pixels=GUESSED_FACTOR * longer, guessed=True)


def intrinsics(focal: FocalLength, size_hw: tuple[int, int]) -> NDArray[np.float64]:
    """(3, 3) for the picture's own pixels: square ones, the principal point in the middle, the picture's corner at 0."""
    height, width = size_hw
    return np.array([[focal.pixels, 0, width / 2], [0, focal.pixels, height / 2], [0, 0, 1]])


def note_on_guesses(focals: Sequence[FocalLength]) -> tuple[str, ...]:
    """A sentence that names the pictures, by position from 1, whose focal length is a guess."""
    guessed = [str(place) for place, focal in enumerate(focals, 1) if focal.guessed]
    if not guessed:
        return ()
    which = "all pictures" if len(guessed) == len(focals) else f"picture {', '.join(guessed)}"
    return (f"focal length assumed for {which}: {GUESSED_FACTOR:.1f} x the longer side, as no file tells it",)
