"""One region at a time: its colours, its outline, and what it touches along it."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.colours import names_of
from openvlharness_adapters.backends.embedded.vision.labels import Labels, Mask, boxes_of, highest
from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.queries import COLOURS, Colour
from openvlharness_adapters.backends.embedded.vision.ranks import median_of, percentile_of, percentiles_of
from openvlharness_adapters.backends.embedded.vision.segments import Segments
from openvlharness_adapters.backends.embedded.vision.working import Working

Box = tuple[slice, slice]

_SAMPLES = 4000
_WASHED_OUT = 85.0  # levels: a thin stroke that differs less from its ground may have had any colour
_PALE = 2.8  # picture pixels of a stroke's thickness, under which JPEG leaves less of its colour
_MOTLEY = 80.0  # levels
_SMALL = 14.0  # picture pixels
_CRISP = 0.82
_INNER_EDGE = 28.0  # levels between neighbours, in luma or chroma
_INNER_RINGING = 0.12
_INNER_LEAST = 14.0  # square pixels
_LUMA = np.array([0.299, 0.587, 0.114])
_DX = np.array([1, 0, -1, 0, 1, -1, 1, -1])
_DY = np.array([0, 1, 0, -1, 1, 1, -1, -1])


@attrs.frozen(kw_only=True, eq=False)
class Paint:
    """What colour something has.

    Attributes:
        names: every name it may have.
        levels: RGB values, 0-255, shape (n, 3), that stand for it: several where it is shaded or cannot be told.
    """

    names: frozenset[Colour | None]
    levels: NDArray[np.float64]


ANY_PAINT = Paint(names=frozenset((*COLOURS, None)), levels=np.array([[0.0] * 3, [255.0] * 3]))


@attrs.frozen(kw_only=True, eq=False)
class Region:
    """A region with its outline.

    Attributes:
        label: in `Segments.labels`.
        box: rows and columns that it spans.
        own: bool, within the box: the region itself.
        filled: bool, within the box: what its outer outline encloses.
        outline: shape (n, 2), x and y of the outer outline's pixels, in order.
        beside: for each of those, the label that it touches there from outside; 0 at the picture's edge.
        depth: float32, within the box: how far each of its pixels lies from what it is not, the picture's edge included.
    """

    label: int
    box: Box
    own: Mask
    filled: Mask
    outline: NDArray[np.float64]
    beside: NDArray[np.int64]
    depth: NDArray[np.float32]

    @cached_property
    def area(self) -> int:
        """What its outline encloses, in square working pixels."""
        return int(np.count_nonzero(self.filled))

    @cached_property
    def size(self) -> float:
        """Square root of `area`, in working pixels."""
        return math.sqrt(self.area)

    @cached_property
    def perimeter(self) -> float:
        """Length of its outline, in working pixels."""
        return float(opencv().arcLength(self.outline.astype(np.float32), True))

    @cached_property
    def half_width(self) -> float:
        """Radius of the largest circle in it."""
        return float(self.depth.max())

    @cached_property
    def thickness(self) -> float:
        """The width of a stroke around something, or half the radius of a disc."""
        return min(self.half_width, np.count_nonzero(self.own) / len(self.outline))

    @cached_property
    def touched(self) -> dict[int, int]:
        """How many points of its outline touch each label; the lower label first."""
        sizes = np.bincount(self.beside)
        return {label: int(sizes[label]) for label in np.flatnonzero(sizes).tolist()}

    @cached_property
    def middle(self) -> NDArray[np.float64]:
        """Mean of its outline's points, x and y."""
        return np.asarray(self.outline.mean(axis=0))

    @property
    def is_cut(self) -> bool:
        """Whether it touches the picture's edge."""
        return 0 in self.touched


def regions_of(segments: Segments) -> dict[int, Region]:
    """Every region by its label."""
    around = opencv().copyMakeBorder(segments.labels, 1, 1, 1, 1, opencv().BORDER_CONSTANT, value=0)
    return {
        label: _region(segments.labels[box] == label, around, label, box) for label, box in boxes_of(segments.labels)
    }


def _region(own: Mask, around: Labels, label: int, box: Box) -> Region:
    cv2 = opencv()
    seen = own.view(np.uint8)
    contours, _ = cv2.findContours(seen, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    outer = max(contours, key=len)
    filled = np.zeros(own.shape, np.uint8)
    cv2.drawContours(filled, [outer], -1, 1, cv2.FILLED)
    framed = cv2.copyMakeBorder(seen, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    points = outer.reshape(-1, 2) + np.array([box[1].start, box[0].start])
    return Region(
        label=label,
        box=box,
        own=own,
        filled=filled.view(np.bool_),
        outline=points.astype(np.float64),
        beside=_beside(around, label, points, filled, box),
        depth=cv2.distanceTransform(framed, cv2.DIST_L2, 3)[1:-1, 1:-1],
    )


def _beside(
    padded: Labels, label: int, points: NDArray[np.intp], filled: NDArray[np.uint8], box: Box
) -> NDArray[np.int64]:
    """The label outside of each outline point; 0 where that is outside the picture, as `padded` has it."""
    x, y = points.T
    around = padded[y[:, None] + 1 + _DY, x[:, None] + 1 + _DX].astype(np.int64)
    framed = opencv().copyMakeBorder(filled, 1, 1, 1, 1, opencv().BORDER_CONSTANT, value=0)
    inside = framed[y[:, None] + 1 - box[0].start + _DY, x[:, None] + 1 - box[1].start + _DX]
    around[inside > 0] = label
    straight = around[:, :4]
    off = (straight == 0).any(axis=1)
    other = around != label
    first = around[np.arange(len(points)), other.argmax(axis=1)]
    return np.where(off, 0, np.where(other.any(axis=1), first, label))


def paint_of(region: Region, working: Working, ground: NDArray[Any] | None) -> Paint:
    """The colours of a region.

    Args:
        region: which.
        working: the picture.
        ground: RGB of what surrounds it; where a region is so thin that its true colour may be reached nowhere, the
            colours beyond what is seen, away from the ground, are possible too.
    """
    unit = working.unit
    depth = min(2.5 * unit + 1, 0.6 * region.half_width)
    pixels = working.pixels[region.box][region.depth >= depth]
    pixels = pixels[:: max(1, len(pixels) // _SAMPLES)]
    middle = median_of(pixels)
    levels = [middle]
    if len(pixels) >= 20:
        away = pixels - pixels.mean(axis=0)
        direction = np.linalg.eigh(away.T @ away)[1][:, -1]
        place = away @ direction
        ends = percentiles_of(place, 3, 12, 88, 97)
        for near, far in (ends[:2], ends[2:]):
            end = median_of(pixels[(place >= near) & (place <= far)])
            if np.abs(end - middle).max() > 6 + 2 * working.left:
                levels.append(end)
    if ground is not None and region.thickness < 1.8 * unit:
        if np.abs(middle - ground).max() < _WASHED_OUT:
            return ANY_PAINT
        levels += _beyond(middle, ground, (1.0, 1.25, 1.6, 2.2), (1.0, 1.8, 3.2))
    elif ground is not None and region.thickness < _PALE * unit:
        levels += _beyond(middle, ground, (1.0, 1.25), (1.6, 3.2))
    return Paint(names=names_of(np.array(levels)), levels=np.array(levels))


def _beyond(
    level: NDArray[np.float64], ground: NDArray[Any], factors: tuple[float, ...], colourful: tuple[float, ...]
) -> list[NDArray[np.float64]]:
    """What a stroke's colour may be where it is seen as `level`: further from its ground by one of `factors`.

    JPEG smears colour over more pixels than brightness, so the colour may be further away by one of `colourful` again.
    """
    away = level - ground
    bright = np.full(3, float(away @ _LUMA))
    return [
        np.clip(ground + (bright + (away - bright) * colour) * factor, 0, 255)
        for factor in factors
        for colour in colourful
    ]


def has_inner_edges(
    region: Region,
    working: Working,
    ground: NDArray[Any] | None = None,
    *,
    least: float = _INNER_LEAST,
    depth: float = 3.0,
) -> bool:
    """Whether there is an edge in the midst of a region: then it is more than one thing, run together.

    Args:
        region: which.
        working: the picture.
        ground: RGB of what surrounds it; the stronger the contrast, the more JPEG rings inside.
        least: area of an edge that counts, in square pixels of the picture; noise makes specks.
        depth: how far from the region's rim its midst begins, in pixels of the picture.
    """
    cv2 = opencv()
    unit = working.unit
    inner = region.depth >= depth * unit + 1
    # The midst begins further in than the steps reach that the region's rim makes.
    edge = inner & (working.steps[region.box] > _INNER_EDGE + 4 * working.left)
    if not edge.any():
        return False
    if ground is not None:
        contrast = float(np.abs(median_of(working.pixels[region.box][inner]) - ground).max())
        edge &= working.steps[region.box] > _INNER_EDGE + 4 * working.left + _INNER_RINGING * contrast
    _, _, stats, _ = cv2.connectedComponentsWithStats(edge.view(np.uint8), connectivity=8)
    return bool((stats[1:, cv2.CC_STAT_AREA] > least * unit * unit).any())


def is_motley(region: Region, paint: Paint, unit: float) -> bool:
    """Whether a solid region shows colours further apart than a shadow makes them: a part of it is a thing of its own."""
    solid = region.thickness >= _PALE * unit
    return solid and bool(np.ptp(paint.levels, axis=0).max() > _MOTLEY)


def is_smeared(region: Region, working: Working, ground: NDArray[Any]) -> bool:
    """Whether a small region is so soft that its outline tells nothing: a star of seven pixels becomes a disc in JPEG."""
    if region.size > _SMALL * working.unit:
        return False
    contrast = highest(np.abs(working.pixels[region.box][region.own] - ground))
    return bool(contrast.mean() < _CRISP * percentile_of(contrast, 98))
