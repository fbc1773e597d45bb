"""From regions to things: what stands on the background, and what it may be.

Most regions are one thing each. The others: a ring around the background is an outlined shape, a thin ring around
another colour is that shape's border, a thick one is a shape with another inside, and in between it may be either.
Scraps along a shape's rim are remains of its border. Whatever cannot be read so stays a thing that may be anything.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.background import background_of
from openvlharness_adapters.backends.embedded.vision.colours import names_of
from openvlharness_adapters.backends.embedded.vision.hidden import ANYTHING, Guess, Tolerance, guess_of
from openvlharness_adapters.backends.embedded.vision.labels import Labels
from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.queries import Colour, Shape
from openvlharness_adapters.backends.embedded.vision.regions import (
    ANY_PAINT,
    Paint,
    Region,
    has_inner_edges,
    paint_of,
    regions_of,
)
from openvlharness_adapters.backends.embedded.vision.segments import Segments, segments_of
from openvlharness_adapters.backends.embedded.vision.working import Pixels, Working, working_picture

# Sizes of what is inside, in parts of the whole, over which a ring around it is taken for ...
_OUTLINED = 0.7  # a stroke around the background
_BORDERED = 0.78  # the border of what is inside
_MERE_BORDER = 0.87  # the same, too thin to give its colour to the whole
_UPON = 0.62  # perhaps a border; below, a shape upon another
_LIKE_KIN = 15.0  # levels
_CROWD = 220  # regions over which a picture is texture


@attrs.frozen(kw_only=True, eq=False)
class Thing:
    """Something that stands out.

    Attributes:
        shapes: what it may be; `None` among them for anything outside the vocabulary.
        paint: its colour.
        also: names of a colour that it has too, at its border or inside; a query for that colour may mean it.
        is_sure: whether it is there at all; a hole, say, may be a thing or not.
        labels: the regions that are its mask.
        area: working pixels that its outline encloses.
        off: how badly the best model fits, 0 to 1 of what is tolerated.
    """

    shapes: frozenset[Shape | None]
    paint: Paint
    also: frozenset[Colour | None] = frozenset()
    is_sure: bool = True
    labels: tuple[int, ...] = ()
    area: float = 0.0
    off: float = 1.0


@attrs.frozen(kw_only=True, eq=False)
class Scene:
    """What a picture shows.

    Attributes:
        things: everything that stands out from the background.
        labels: int32 (height, width) at working size, which `Thing.labels` refer to.
        scale: working pixels for a picture pixel.
        size_hw: (height, width) of the picture.
    """

    things: tuple[Thing, ...]
    labels: Labels
    scale: float
    size_hw: tuple[int, int]


def scene_of(pixels: Pixels) -> Scene:
    """What stands in a picture, uint8 (height, width, 3) RGB."""
    working = working_picture(pixels)
    segments = segments_of(working)
    things: tuple[Thing, ...] = (Thing(shapes=ANYTHING, paint=ANY_PAINT, is_sure=False),)
    if not segments.restless and segments.count <= _CROWD:
        things = _Reader(working=working, segments=segments).things()
    height, width = pixels.shape[:2]
    return Scene(things=things, labels=segments.labels, scale=working.scale, size_hw=(height, width))


@attrs.define(kw_only=True, eq=False)
class _Reader:
    """Reads one picture; its fields fill in the order of `things`."""

    working: Working
    segments: Segments
    tolerance: Tolerance = attrs.field(init=False)
    regions: dict[int, Region] = attrs.field(init=False)
    ground: frozenset[int] = attrs.field(init=False, default=frozenset())
    hollow: frozenset[int] = attrs.field(init=False, default=frozenset())
    parents: dict[int, int] = attrs.field(init=False, factory=dict)
    guesses: dict[int, Guess] = attrs.field(init=False, factory=dict)
    paints: dict[int, Paint] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.tolerance = Tolerance(unit=self.working.unit, noise=self.working.noise)
        self.regions = regions_of(self.segments)

    def things(self) -> tuple[Thing, ...]:
        """Everything that stands out."""
        background = background_of(self.segments.labels, self.regions, self.working)
        if background is None:
            return (Thing(shapes=ANYTHING, paint=ANY_PAINT, is_sure=False),)
        self.ground, self.hollow = background.ground, background.hollow
        self._clear_scraps()
        self._nest()
        for label, region in self.regions.items():
            if label not in self.ground:
                self.paints[label] = paint_of(region, self.working, self._level_around(label))
        kin = self._kin()
        for label in self.paints:
            behind = self.ground | {self.parents[label]} if label in self.parents else self.ground
            if has_inner_edges(self.regions[label], self.working):
                self.guesses[label], self.paints[label] = Guess(shapes=ANYTHING), ANY_PAINT
                continue
            self.guesses[label] = guess_of(self.regions[label], self.segments.labels, behind, kin, self.tolerance)
        spots = (Paint(names=names_of(level), levels=level[None]) for level in background.spots)
        return (*self._composed(), *(Thing(shapes=ANYTHING, paint=paint, is_sure=False) for paint in spots))

    def _clear_scraps(self) -> None:
        """Slivers that lie along one region's rim become a part of what is on their other side."""
        unit, changed = self.working.unit, False
        for label in sorted(self.segments.thin):
            region = self.regions.get(label)
            if (
                region is None
                or region.half_width > 2.2 * unit
                or (region.filled & ~region.own).sum() > 9 * unit * unit
            ):
                continue
            beside, sizes = np.unique(region.beside, return_counts=True)
            touched = {int(each): int(size) for each, size in zip(beside, sizes, strict=True) if each not in (0, label)}
            solid = [each for each in touched if each not in self.ground | self.hollow | self.segments.thin]
            back = [each for each in touched if each in self.ground or each in self.hollow]
            if len(solid) != 1 or not back or touched[solid[0]] < 0.3 * len(region.beside):
                continue
            into = max(back, key=lambda each: touched[each])
            self.segments.labels[region.box][region.own] = into
            changed = True
        if changed:
            self.regions = regions_of(self.segments)

    def _nest(self) -> None:
        """Who lies within whose outline: the smallest that encloses it."""
        for label, region in self.regions.items():
            if label in self.ground:
                continue
            around = [
                other
                for other, outer in self.regions.items()
                if other != label and other not in self.ground and _encloses(outer, region)
            ]
            if around:
                self.parents[label] = min(around, key=lambda each: self.regions[each].size)

    def _kin(self) -> NDArray[np.int64]:
        """For each label, the first of its colour: what something in front divides is seen as several regions."""
        kin = np.arange(int(self.segments.labels.max()) + 1)
        for label, paint in self.paints.items():
            for other in self.paints:
                if other < label and np.abs(self.paints[other].levels[0] - paint.levels[0]).max() < _LIKE_KIN:
                    kin[label] = kin[other]
                    break
        return kin

    def _level_around(self, label: int) -> NDArray[np.float64]:
        """RGB of what a region touches most, a little way off its outline."""
        region = self.regions[label]
        beside, sizes = np.unique(region.beside[region.beside > 0], return_counts=True)
        if not len(beside):
            return np.asarray(self.working.pixels[region.box][region.own].mean(axis=0))
        other = int(beside[sizes.argmax()])
        height, width = self.segments.labels.shape
        middle, reach = region.outline.mean(axis=0), 4 * self.working.unit
        away = region.outline - middle
        out = region.outline + away / np.maximum(np.hypot(*away.T), 1e-6)[:, None] * reach
        x, y = np.clip(out.round().astype(int), 0, [width - 1, height - 1]).T
        there = self.segments.labels[y, x] == other
        pixels = self.working.pixels[y, x][there] if there.any() else self.working.pixels[self.regions[other].box]
        return np.asarray(np.median(pixels.reshape(-1, 3).astype(np.float64), axis=0))

    def _composed(self) -> list[Thing]:
        things: list[Thing] = []
        done: set[int] = set()
        children: dict[int, list[int]] = {}
        for child, parent in self.parents.items():
            children.setdefault(parent, []).append(child)
        for label in sorted(self.guesses, key=lambda each: -self.regions[each].size):  # a ring before what is in it
            inner = children.get(label, [])
            if label in done or label in self.hollow:
                continue
            if len(inner) == 1:
                made, spent = self._ring(label, inner[0])
                things += made
                done |= spent
            else:
                things.append(self._plain(label))
                thin = self.regions[label].half_width < 0.08 * self.regions[label].size
                for child in inner:
                    if child in self.hollow:
                        things.append(self._plain(child, is_sure=not thin))
                        done.add(child)
        things += [self._plain(label, is_sure=False) for label in self.hollow - done if label in self.guesses]
        return things

    def _plain(self, label: int, *, is_sure: bool = True) -> Thing:
        region, guess = self.regions[label], self.guesses[label]
        return Thing(
            shapes=guess.shapes,
            paint=self.paints[label],
            is_sure=is_sure,
            labels=(label,),
            area=region.size**2,
            off=guess.off,
        )

    def _ring(self, outer: int, inner: int) -> tuple[list[Thing], set[int]]:
        """A region with one other inside: outlined, bordered, or one upon the other."""
        hull, core = self.regions[outer], self.regions[inner]
        is_even, ratio = _is_even(hull, core), core.size / max(hull.size, 1.0)
        outline, within = self._plain(outer), self._plain(inner)
        apart = np.hypot(*(hull.outline.mean(axis=0) - core.outline.mean(axis=0)))
        alike = is_even and apart < 0.12 * hull.size and bool(self.guesses[outer].shapes & self.guesses[inner].shapes)
        if inner in self.hollow:
            if alike and ratio > _OUTLINED:
                return [outline], {inner}
            return [outline, attrs.evolve(within, is_sure=not alike and ratio < 0.85)], {inner}
        if not alike:
            return [outline], set()
        if ratio > _BORDERED:
            names = self.paints[outer].names if ratio < _MERE_BORDER else frozenset[Colour | None]()
            whole = attrs.evolve(outline, paint=within.paint, also=names, labels=(outer, inner))
            return [whole], {inner}
        if ratio > _UPON:
            return [attrs.evolve(outline, is_sure=False)], set()
        return [outline], set()


def _encloses(outer: Region, inner: Region) -> bool:
    """Whether a region lies within another's outline."""
    if np.count_nonzero(outer.filled) <= np.count_nonzero(inner.filled):
        return False
    rows, columns = inner.box
    around_rows, around_columns = outer.box
    if not (
        around_rows.start <= rows.start
        and rows.stop <= around_rows.stop
        and around_columns.start <= columns.start
        and columns.stop <= around_columns.stop
    ):
        return False
    x, y = inner.outline[:: max(1, len(inner.outline) // 60)].astype(int).T
    return bool(outer.filled[y - around_rows.start, x - around_columns.start].all())


def _is_even(outer: Region, inner: Region) -> bool:
    """Whether the distance between the outlines of two regions, one inside the other, is much the same all around."""
    cv2 = opencv()
    inside = cv2.distanceTransform(np.pad(outer.filled, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    x, y = inner.outline.astype(int).T
    widths = inside[y - outer.box[0].start, x - outer.box[1].start]
    middle = float(np.median(widths))
    return bool(np.percentile(np.abs(widths - middle), 90) <= 0.7 * middle + 1.0)
