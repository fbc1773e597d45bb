"""How much small pictures are enlarged before anything is drawn on them, and the way back to their pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openvlharness_core.geometry import Affine

READABLE_SIDE = 640
"""Pixels of the longer side from which a picture is left as it is."""
_LEGIBLE_STRIP = 32  # pixels of the shorter side in which a number can be read
_LONGEST_STRIP = 3200  # a strip that is enlarged for its shorter side gets no longer than this


def whole_factor(size_hw: tuple[int, int]) -> int:
    """By what whole number a picture is enlarged; 1 from 640 pixels on the longer side.

    The least number that gives the longer side 640 pixels; a narrow strip gets more where that makes room for a number
    between its long edges, up to 3200 pixels of length.
    """
    shorter, longer = sorted(size_hw)
    if longer >= READABLE_SIDE:
        return 1
    least = -(-READABLE_SIDE // longer)
    return max(least, min(-(-_LEGIBLE_STRIP // shorter), _LONGEST_STRIP // longer))


def enlarged(values: NDArray[Any], factor: int) -> NDArray[Any]:
    """`values`, shape (height, width, …), with every pixel repeated `factor` times in both directions."""
    return values if factor == 1 else np.repeat(np.repeat(values, factor, axis=0), factor, axis=1)


def back_to_source(factor: int) -> Affine:
    """The map from places on the enlarged picture to places on its source; corners go to corners."""
    return ((1.0 / factor, 0.0, 0.0), (0.0, 1.0 / factor, 0.0))
