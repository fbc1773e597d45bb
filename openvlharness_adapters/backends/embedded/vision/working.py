"""The size at which a picture is looked at.

Small pictures are enlarged, so that an outline of few pixels is measured in fractions of a pixel: where edges are soft,
the half-way line between two colours tells more than the pixels do. Large ones are shrunk, which bounds time and evens
noise out. Noise that is left is measured and smoothed, and widens tolerances later.
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.labels import highest
from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.ranks import median_of

Pixels = NDArray[np.uint8]

_SMALL = 448  # pixels of the longer side, under which a picture is enlarged
_LARGEST_FACTOR = 12
_MOST_PIXELS = 600_000
_BLOCK = 16


@attrs.frozen(kw_only=True)
class Working:
    """A picture ready to be looked at.

    Attributes:
        pixels: uint8 (height, width, 3) RGB at working size, smoothed.
        scale: working pixels for each pixel of the picture: a whole number, or less than 1.
        noise: standard deviation of what noise there was before smoothing, in levels of 0-255.
        left: the same after smoothing.
    """

    pixels: Pixels
    scale: float
    noise: float
    left: float

    @property
    def unit(self) -> float:
        """Working pixels that a blurred or jagged edge spans: those of one picture pixel, at least one."""
        return max(1.0, self.scale)

    @cached_property
    def steps(self) -> NDArray[np.uint8]:
        """Levels between neighbours, in luma or chroma: in RGB a little of JPEG's chroma is a lot of blue."""
        cv2 = opencv()
        side = max(3, 2 * (int(self.unit) // 2) + 1)
        seen = cv2.cvtColor(self.pixels, cv2.COLOR_RGB2YCrCb)
        return highest(cv2.morphologyEx(seen, cv2.MORPH_GRADIENT, np.ones((side, side), np.uint8)))


def working_picture(pixels: Pixels) -> Working:
    """A picture, uint8 (height, width, 3) RGB, at working size."""
    cv2 = opencv()
    height, width = pixels.shape[:2]
    scale = 1.0
    if height * width > _MOST_PIXELS:
        scale = math.sqrt(_MOST_PIXELS / (height * width))
        size = max(1, round(width * scale)), max(1, round(height * scale))
        pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    noise = noise_of(pixels)
    if noise > 2.0:
        pixels = cv2.medianBlur(np.ascontiguousarray(pixels), 3 if noise < 5 else 5)
    pixels = cv2.bilateralFilter(pixels, 5, max(22.0, 3.0 * noise), 2)
    left = noise_of(pixels) if noise > 2.0 else noise
    longest = max(height, width)
    if scale == 1.0 and longest < _SMALL:
        factor = min(_LARGEST_FACTOR, math.ceil(_SMALL / longest))
        if factor > 1:
            scale = float(factor)
            pixels = cv2.resize(pixels, (width * factor, height * factor), interpolation=cv2.INTER_LINEAR)
    return Working(pixels=np.ascontiguousarray(pixels), scale=scale, noise=noise, left=left)


def noise_of(pixels: Pixels) -> float:
    """Noise of the noisier half of a picture: the upper quartile of what blocks show beyond a smooth surface."""
    cv2 = opencv()
    height, width = pixels.shape[:2]
    if min(height, width) < 3:
        return 0.0
    kernel = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32) / 6  # of unit gain for white noise
    rough = cv2.cvtColor(np.abs(cv2.filter2D(pixels.astype(np.float32), -1, kernel)), cv2.COLOR_RGB2GRAY)[1:-1, 1:-1]
    rows, columns = (side // _BLOCK for side in rough.shape)
    if rows * columns < 4:
        return float(np.median(rough)) * 1.25
    blocks = rough[: rows * _BLOCK, : columns * _BLOCK].reshape(rows, _BLOCK, columns, _BLOCK)
    medians = median_of(blocks.transpose(0, 2, 1, 3).reshape(rows * columns, -1).T)
    return float(np.percentile(medians, 60)) * 1.4
