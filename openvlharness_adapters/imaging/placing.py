"""Where labels go: near what they name, never over each other while there is room, always inside the picture.

Labels are placed one after the other. Each has a few favourite corners around its object; the cheapest that no earlier
label holds wins, and what it would hide of objects is its price. Where all of them are held, the nearest free place
anywhere is taken, and the label wants a line to its object. What is held, and what objects cover, stands on a grid of
cells, at most `_FINEST` a side and a pixel each in most pictures, so that a question about a rectangle costs the same
however many labels there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Rectangle = tuple[float, float, float, float]
"""x1, y1, x2, y2 in pixels; touching edges do not overlap."""

_PRICE_OF_RANK = 0.04  # of the next favourite
_PRICE_OF_OTHERS = 0.4  # of a label that lies wholly on other objects
_PRICE_OF_OWN = 0.8  # of a label that hides the whole of its object
_FINEST = 512
_REACHES = (3, 6, 12, 10_000)  # label sizes around an object in which room is looked for, one after the other
_PULL = 0.05  # of a label's middle, against that of its edge: of rooms as near, the one straight beside is taken
_COARSE = 4  # cells of the grid in one of the coarser grid that says what objects cover


@attrs.frozen(kw_only=True)
class Spot:
    """Where one label goes.

    Attributes:
        corner_xy: its upper left corner, in pixels.
        is_far: whether it wants a line to its object.
        is_free: false where there was no room, so that it lies on another label.
    """

    corner_xy: tuple[int, int]
    is_far: bool
    is_free: bool


def place(
    objects_xyxy: Floats,
    sizes_wh: Whole,
    room_wh: tuple[int, int],
    gap: int,
    held_xyxy: Iterable[Rectangle] = (),
) -> list[Spot]:
    """A spot for each object's label, in order.

    Args:
        objects_xyxy: (N, 4), x1, y1, x2, y2 in pixels, what each label names.
        sizes_wh: (N, 2), width and height of each label in pixels, at least 1; one that is larger than the room starts
            at the room's upper left corner.
        room_wh: width and height of the picture.
        gap: pixels between labels, and between them and what is held.
        held_xyxy: rectangles that no label may touch.
    """
    if not len(objects_xyxy):
        return []
    held = _Held(room_wh, gap)
    for rectangle in held_xyxy:
        held.add(rectangle)
    corners = _favourites(objects_xyxy, sizes_wh, room_wh)
    order = _prices(corners, objects_xyxy, sizes_wh, room_wh).argsort(axis=1, kind="stable").tolist()
    spots = []
    for label, (favourites, (width, height)) in enumerate(zip(corners.tolist(), sizes_wh.tolist(), strict=True)):
        near = None
        for choice in order[label]:
            x, y = favourites[choice]
            if held.is_free(x, y, x + width, y + height):
                near = (x, y)
                break
        found = near or held.nearest_room(objects_xyxy[label], (width, height))
        x, y = found or favourites[order[label][0]]
        held.take(x, y, x + width, y + height)
        spots.append(Spot(corner_xy=(x, y), is_far=near is None, is_free=found is not None))
    return spots


class _Held:
    """Which cells of the picture are taken; a margin as wide as the gap lies around them."""

    def __init__(self, room_wh: tuple[int, int], gap: int) -> None:
        self._room_wh = room_wh
        self._cell = -(-max(room_wh) // _FINEST)
        self._margin = -(-gap // self._cell)
        columns, rows = (-(-side // self._cell) for side in room_wh)
        self._taken = np.zeros((rows + 2 * self._margin, columns + 2 * self._margin), dtype=bool)

    def add(self, rectangle: Rectangle) -> None:
        """Take whatever of a rectangle lies in the picture."""
        x1, y1 = (max(0, math.floor(value)) for value in rectangle[:2])
        x2, y2 = (max(0, math.ceil(value)) for value in rectangle[2:])
        self.take(x1, y1, x2, y2)

    def take(self, x1: int, y1: int, x2: int, y2: int) -> None:
        """Take a rectangle that does not begin outside the picture."""
        cell, margin = self._cell, self._margin
        rows = slice(y1 // cell + margin, -(-y2 // cell) + margin)
        self._taken[rows, x1 // cell + margin : -(-x2 // cell) + margin] = True

    def is_free(self, x1: int, y1: int, x2: int, y2: int) -> bool:
        """Whether nothing comes nearer than the gap to a rectangle in the picture."""
        cell, reach = self._cell, 2 * self._margin
        return not self._taken[y1 // cell : -(-y2 // cell) + reach, x1 // cell : -(-x2 // cell) + reach].any()

    def nearest_room(self, thing: Floats, size_wh: tuple[int, int]) -> tuple[int, int] | None:
        """A free corner near the middle of `thing`, if there is one anywhere, on the grid of cells."""
        middle = ((thing[0] + thing[2]) / 2, (thing[1] + thing[3]) / 2)
        found = (self._room_within(middle, size_wh, reach * max(size_wh)) for reach in _REACHES)
        return next((corner for corner in found if corner is not None), None)

    def _room_within(
        self, middle_xy: tuple[float, float], size_wh: tuple[int, int], reach: int
    ) -> tuple[int, int] | None:
        """The free corner of the label that comes nearest to a place, at most `reach` pixels away along each axis."""
        cell = self._cell
        firsts, ends, sides = [], [], []
        for at, side, room in zip(middle_xy, size_wh, self._room_wh, strict=True):
            last = (room - side) // cell
            wanted = at - side / 2
            firsts.append(min(max(0, int(wanted - reach) // cell), max(0, last)))
            ends.append(min(last, int(wanted + reach) // cell) + 1)
            sides.append(-(-side // cell) + 2 * self._margin)
        if ends[0] <= firsts[0] or ends[1] <= firsts[1]:
            return None
        (left, top), (right, bottom), (across, down) = firsts, ends, sides
        sums = _summed(self._taken[top : bottom + down - 1, left : right + across - 1])
        held = sums[down:, across:] + sums[:-down, :-across] - sums[down:, :-across] - sums[:-down, across:]
        rows, columns = np.nonzero(held == 0)
        if not rows.size:
            return None
        off_x = (columns + left) * cell + size_wh[0] / 2 - middle_xy[0]
        off_y = (rows + top) * cell + size_wh[1] / 2 - middle_xy[1]
        apart_x = np.maximum(np.abs(off_x) - size_wh[0] / 2, 0)
        apart_y = np.maximum(np.abs(off_y) - size_wh[1] / 2, 0)
        way = apart_x * apart_x + apart_y * apart_y + _PULL * (off_x * off_x + off_y * off_y)
        nearest = int(way.argmin())
        return (int(columns[nearest]) + left) * cell, (int(rows[nearest]) + top) * cell


def _summed(values: NDArray[Any]) -> NDArray[np.int32]:
    """Sums over every rectangle that starts at the origin, with a row and a column of zeros before them."""
    sums = np.zeros((values.shape[0] + 1, values.shape[1] + 1), dtype=np.int32)
    np.cumsum(np.cumsum(values, axis=0, dtype=np.int32), axis=1, out=sums[1:, 1:])
    return sums


def _favourites(objects: Floats, sizes: Whole, room_wh: tuple[int, int]) -> Whole:
    """(N, K, 2) upper left corners in order of liking: outside at the corners and sides, then inside."""
    x1, y1, x2, y2 = objects.T
    width, height = sizes.T.astype(np.float64)
    above, below, left, right = y1 - height - 1, y2 + 1, x1 - width - 1, x2 + 1
    at_right, at_bottom = x2 - width, y2 - height
    pairs = [
        (x1, above), (at_right, above), (x1, below), (at_right, below),
        (left, y1), (right, y1), (left, at_bottom), (right, at_bottom),
        (x1, y1), (at_right, y1), (x1, at_bottom), (at_right, at_bottom), ((x1 + at_right) / 2, (y1 + at_bottom) / 2),
    ]  # fmt: skip
    corners = np.stack([np.stack(pair, axis=1) for pair in pairs], axis=1)
    most = np.maximum(np.array(room_wh) - sizes, 0)[:, None, :]
    inside: Whole = np.clip(corners, 0, most).astype(np.int64)
    return inside


def _prices(corners: Whole, objects: Floats, sizes: Whole, room_wh: tuple[int, int]) -> Floats:
    """(N, K): what each favourite costs. What it hides of other objects is read off a coarse grid."""
    cell = max(1, max(room_wh) * _COARSE // _FINEST)
    columns, rows = (side // cell + 1 for side in room_wh)
    covering = np.zeros((rows, columns), dtype=np.int64)
    for x1, y1, x2, y2 in (objects / cell).astype(int).tolist():
        covering[y1 : y2 + 1, x1 : x2 + 1] += 1
    sums = _summed(covering).ravel()
    ends = corners + sizes[:, None, :]
    left, top = np.moveaxis(corners // cell, 2, 0)
    right, bottom = np.moveaxis(-(-ends // cell), 2, 0)
    right, bottom = np.minimum(right, columns), np.minimum(bottom, rows)
    over, under = top * (columns + 1), bottom * (columns + 1)
    hidden = sums[under + right] + sums[over + left] - sums[over + right] - sums[under + left]
    share_of_all = hidden / np.maximum((right - left) * (bottom - top), 1)
    shared = np.minimum(ends, objects[:, None, 2:]) - np.maximum(corners, objects[:, None, :2])
    np.maximum(shared, 0, out=shared)
    own = shared[:, :, 0] * shared[:, :, 1]
    of_own = own / np.maximum((objects[:, 2] - objects[:, 0]) * (objects[:, 3] - objects[:, 1]), 1.0)[:, None]
    of_others = np.maximum(share_of_all - own / (sizes[:, 0] * sizes[:, 1])[:, None], 0)
    prices: Floats = (
        _PRICE_OF_RANK * np.arange(corners.shape[1]) + _PRICE_OF_OTHERS * of_others + _PRICE_OF_OWN * of_own
    )
    return prices
