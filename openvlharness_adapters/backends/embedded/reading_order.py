"""From pieces of text that a detector found, in any order, to rows in reading order.

A detector finds cells: `Total` at the left of a receipt and its amount at the right are two. A photographed page is
never quite straight, and a slope of two degrees carries a row that is 500 pixels long to the height of its neighbour.
So the page's own direction is found first: the quarter turn that most of the text votes for, then the weighted median
of the slopes. Everything else happens in that turned frame, where rows are level: cells whose middles lie within half
a letter's height of each other make a row, left to right, and rows follow from top to bottom.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs
import numpy as np
import numpy.typing as npt

from openvlharness_core.results import TextLine

Points = npt.NDArray[np.float64]

_TALL = 1.5  # height over width from which the recogniser turns a cell by a quarter before it reads
_LONG = 2.0  # length over thickness from which a cell's own slope is worth something
_WIDE_GAP = 1.2  # in letter heights: more than any space between words
_COLUMN_GAP = 3.0  # in letter heights: what stands behind is another column
_SAME_ROW = 0.5  # of the smaller thickness
_MAY_OVERLAP = 0.3  # of the shorter cell, along the row: boxes are drawn generously


@attrs.frozen(kw_only=True, eq=False)
class Cell:
    """One piece of text.

    Attributes:
        text: what it says.
        corners: shape (4, 2), x and y in pixels, clockwise from the upper left one as the picture stands.
        score: 0 to 1.
        flipped: whether it was read upside down against those corners.
    """

    text: str
    corners: Points
    score: float
    flipped: bool = False


@attrs.frozen(kw_only=True, eq=False)
class _Placed:
    """A cell in the turned frame."""

    cell: Cell
    left: float
    right: float
    middle: float
    thickness: float


def rows_of(cells: Sequence[Cell], size_hw: tuple[int, int]) -> tuple[TextLine, ...]:
    """The rows in reading order, each with the upright box around its cells, clipped to the picture.

    Cells of a row are joined by one space, by two where the gap is wider than between words, or by four where columns
    part; the score is that of the worst cell.
    """
    if not cells:
        return ()
    angle = page_angle(cells)
    rows: list[list[_Placed]] = []
    for placed in sorted((_placed(cell, angle) for cell in cells), key=lambda each: each.middle):
        row = next((row for row in reversed(rows) if _belongs(placed, row)), None)
        if row is None:
            rows.append([placed])
        else:
            row.append(placed)
    rows.sort(key=lambda row: sum(placed.middle for placed in row) / len(row))
    return tuple(_line(sorted(row, key=lambda placed: placed.left), size_hw) for row in rows)


def page_angle(cells: Sequence[Cell]) -> float:
    """The direction in which the page is read, in radians from the x axis towards the y axis, -pi to pi."""
    angles = np.array([_direction(cell) for cell in cells])
    weights = np.array([float(sum(sign.isalnum() for sign in cell.text)) for cell in cells])
    if not weights.any():
        weights = np.ones(len(cells))
    quarters = np.round(angles / (np.pi / 2)).astype(int) % 4
    quarter = int(np.argmax(np.bincount(quarters, weights=weights, minlength=4)))
    base = (quarter if quarter < 3 else -1) * np.pi / 2
    long = np.array([max(_sides(cell.corners)) >= _LONG * min(_sides(cell.corners)) for cell in cells])
    counted = (quarters == quarter) & long & (weights > 0)
    if not counted.any():
        return float(base)
    slopes = (angles[counted] - base + np.pi) % (2 * np.pi) - np.pi
    order = np.argsort(slopes)
    reached = np.cumsum(weights[counted][order])
    return float(base + slopes[order][int(np.searchsorted(reached, reached[-1] / 2))])


def _sides(corners: Points) -> tuple[float, float]:
    upper_left, upper_right, lower_right, lower_left = corners
    width = max(np.linalg.norm(upper_right - upper_left), np.linalg.norm(lower_right - lower_left))
    height = max(np.linalg.norm(lower_left - upper_left), np.linalg.norm(lower_right - upper_right))
    return max(float(width), 1e-6), max(float(height), 1e-6)


def is_tall(corners: Points) -> bool:
    """Whether the recogniser turns a cell with these corners by a quarter before it reads."""
    width, height = _sides(corners)
    return int(height) >= _TALL * max(1, int(width))


def _direction(cell: Cell) -> float:
    upper_left, upper_right, lower_right, lower_left = cell.corners
    if is_tall(cell.corners):
        along = (lower_left - upper_left) + (lower_right - upper_right)
    else:
        along = (upper_right - upper_left) + (lower_right - lower_left)
    if cell.flipped:
        along = -along
    return float(np.arctan2(along[1], along[0]))


def _placed(cell: Cell, angle: float) -> _Placed:
    along = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-np.sin(angle), np.cos(angle)])
    positions = cell.corners @ along
    width, height = _sides(cell.corners)
    return _Placed(
        cell=cell,
        left=float(positions.min()),
        right=float(positions.max()),
        middle=float((cell.corners @ across).mean()),
        thickness=width if is_tall(cell.corners) else height,
    )


def _belongs(placed: _Placed, row: list[_Placed]) -> bool:
    """Whether a cell is level with its nearest neighbour in the row, and beside all of it."""

    def apart(other: _Placed) -> float:
        return max(placed.left - other.right, other.left - placed.right)

    nearest = min(row, key=apart)
    if abs(placed.middle - nearest.middle) > _SAME_ROW * min(placed.thickness, nearest.thickness):
        return False
    shorter = min(placed.right - placed.left, *(other.right - other.left for other in row))
    return -apart(nearest) <= _MAY_OVERLAP * shorter


def _line(row: list[_Placed], size_hw: tuple[int, int]) -> TextLine:
    text = row[0].cell.text
    for before, placed in itertools.pairwise(row):
        gap = (placed.left - before.right) / min(placed.thickness, before.thickness)
        text += " " * (4 if gap > _COLUMN_GAP else 2 if gap > _WIDE_GAP else 1) + placed.cell.text
    corners = np.concatenate([placed.cell.corners for placed in row])
    height, width = size_hw
    (x1, y1), (x2, y2) = corners.min(axis=0), corners.max(axis=0)
    return TextLine(
        text=text,
        box_xyxy_px=(
            float(min(max(x1, 0), width)),
            float(min(max(y1, 0), height)),
            float(min(max(x2, 0), width)),
            float(min(max(y2, 0), height)),
        ),
        score=min(placed.cell.score for placed in row),
    )
