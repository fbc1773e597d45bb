"""Boxes on the 0-1000 grid and in pixels, and affine maps between pictures.

x comes first, the origin is the upper left corner, and each axis is scaled by its own side of the upright picture.
This is the only place where grid and pixels meet: zoom, evidence and scoring all come here.
"""

from __future__ import annotations

import math

GRID = 1000

Box = tuple[float, float, float, float]
"""x1, y1, x2, y2; the name of the variable says whether on the grid or in pixels."""
PixelBox = tuple[int, int, int, int]
"""x1, y1, x2, y2 in whole pixels; x2 and y2 are the first column and row outside."""
Affine = tuple[tuple[float, float, float], tuple[float, float, float]]
"""A 2x3 map: (x, y) becomes (a x + b y + c, d x + e y + f)."""

IDENTITY: Affine = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def grid_to_pixels(box_xyxy_grid: Box, size_hw: tuple[int, int], padding: int = 0) -> PixelBox:
    """The pixels that a grid box touches: rounded outward, widened by `padding` pixels, clipped to the picture.

    At least one pixel: a box so thin that no float lies between its sides in pixels still touches one.

    Raises:
        ValueError: a corner that is not finite or not on the grid, a box without area, or a negative padding.
    """
    x1, y1, x2, y2 = box_xyxy_grid
    if not all(math.isfinite(v) and 0 <= v <= GRID for v in box_xyxy_grid):
        raise ValueError(f"expected numbers from 0 to {GRID}, got {list(box_xyxy_grid)}")
    if x2 <= x1 or y2 <= y1:
        raise ValueError(f"expected [x1, y1, x2, y2] with x1 < x2 and y1 < y2, got {list(box_xyxy_grid)}")
    if padding < 0:
        raise ValueError(f"expected a padding of at least 0, got {padding}")
    left, right = _pixel_span(x1, x2, size_hw[1], padding)
    top, bottom = _pixel_span(y1, y2, size_hw[0], padding)
    return left, top, right, bottom


def _pixel_span(low: float, high: float, side: int, padding: int) -> tuple[int, int]:
    first = min(math.floor(low * side / GRID), side - 1)
    end = max(math.ceil(high * side / GRID), first + 1)
    return max(0, first - padding), min(side, end + padding)


def pixels_to_grid(box_xyxy_px: Box, size_hw: tuple[int, int]) -> PixelBox:
    """A pixel box on the grid: corners to the nearest number, at least one unit wide and high, clipped to 0-1000."""
    height, width = size_hw
    x1, x2 = _grid_span(box_xyxy_px[0], box_xyxy_px[2], width)
    y1, y2 = _grid_span(box_xyxy_px[1], box_xyxy_px[3], height)
    return x1, y1, x2, y2


def _grid_span(low: float, high: float, side: int) -> tuple[int, int]:
    start, end = (min(GRID, max(0, math.floor(v * GRID / side + 0.5))) for v in (low, high))
    if end <= start:  # widened towards whichever side has room
        start, end = (start, start + 1) if start < GRID else (GRID - 1, GRID)
    return start, end


def translation(dx: float, dy: float) -> Affine:
    """The map that adds (dx, dy): a crop's pixels to its source's, for the crop's upper left corner."""
    return ((1.0, 0.0, float(dx)), (0.0, 1.0, float(dy)))


def compose(outer: Affine, inner: Affine) -> Affine:
    """`outer` after `inner`."""
    (a, b, c), (d, e, f) = outer
    (p, q, r), (s, t, u) = inner
    return (
        (a * p + b * s, a * q + b * t, a * r + b * u + c),
        (d * p + e * s, d * q + e * t, d * r + e * u + f),
    )


def map_box(box_xyxy: Box, affine: Affine) -> Box:
    """The upright box around a mapped box."""
    (a, b, c), (d, e, f) = affine
    x1, y1, x2, y2 = box_xyxy
    xs = [a * x + b * y + c for x in (x1, x2) for y in (y1, y2)]
    ys = [d * x + e * y + f for x in (x1, x2) for y in (y1, y2)]
    return min(xs), min(ys), max(xs), max(ys)
