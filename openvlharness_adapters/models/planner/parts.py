"""Whether a thing stands in a named part of a picture, and which part it stands in."""

from __future__ import annotations

from openvlharness_adapters.models.planner.looks import Cannot
from openvlharness_adapters.models.planner.places import Region
from openvlharness_core.geometry import GRID, Box

_THIRDS = (GRID / 3, 2 * GRID / 3)
_ROWS, _COLUMNS = ("top", "middle", "bottom"), ("left", "centre", "right")


def lies_in(box_grid: Box, region: Region) -> bool:
    """Whether a box lies in a region.

    What has sharp edges, such as a half, holds a box as a whole or not at all. What has none, such as a corner, surely
    holds a box that stays within its half of the picture and has its middle in the outer third; it surely does not hold
    a box that stays out of that half.

    Raises:
        Cannot: neither is sure.
    """
    inner, outer = _bounds(region)
    spans = [(box_grid[axis], box_grid[axis + 2], *outer[axis]) for axis in (0, 1)]
    if all(lowest <= low and high <= highest for low, high, lowest, highest in spans):
        middle = ((box_grid[0] + box_grid[2]) / 2, (box_grid[1] + box_grid[3]) / 2)
        if all(lowest <= value <= highest for value, (lowest, highest) in zip(middle, inner, strict=True)):
            return True
    elif any(high <= lowest or low >= highest for low, high, lowest, highest in spans):
        return False
    box = [round(value) for value in box_grid]
    raise Cannot(f"what stands at {box} is not plainly in the {region.name} or out of it")


def _bounds(region: Region) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Where a box's middle must be, and the box itself, along x and y."""
    x1, y1, x2, y2 = region.box_xyxy_grid
    exact = [(x1, x2), (y1, y2)]
    if region.is_exact or region.name.startswith(("left", "right")):  # a side is a half, in a picture without a middle
        return exact, exact
    inner: list[tuple[float, float]] = []
    outer: list[tuple[float, float]] = []
    for low, high in exact:
        if low == 0 and high == GRID:
            inner.append((low, high))
            outer.append((low, high))
        elif low == 0:
            inner.append((0.0, _THIRDS[0]))
            outer.append((0.0, GRID / 2))
        elif high == GRID:
            inner.append((_THIRDS[1], float(GRID)))
            outer.append((GRID / 2, float(GRID)))
        else:
            inner.append(_THIRDS)
            outer.append((low, high))
    return inner, outer


def part_of(box_grid: Box) -> str:
    """Where the middle of a box is, by thirds of the picture: `top left`, `top`, `centre`, `right`."""
    x, y = (box_grid[0] + box_grid[2]) / 2, (box_grid[1] + box_grid[3]) / 2
    column = sum(x >= third for third in _THIRDS)
    row = sum(y >= third for third in _THIRDS)
    if row == 1:
        return _COLUMNS[column]
    return _ROWS[row] if column == 1 else f"{_ROWS[row]} {_COLUMNS[column]}"
