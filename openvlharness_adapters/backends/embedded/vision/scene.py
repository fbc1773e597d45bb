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
from openvlharness_adapters.backends.embedded.vision.ranks import median_of
from openvlharness_adapters.backends.embedded.vision.regions import (
    ANY_PAINT,
    Paint,
    Region,
    has_inner_edges,
    is_motley,
    is_smeared,
    paint_of,
    regions_of,
)
from openvlharness_adapters.backends.embedded.vision.rims import rim_of
from openvlharness_adapters.backends.embedded.vision.rings import relation_of
from openvlharness_adapters.backends.embedded.vision.segments import Segments, segments_of
from openvlharness_adapters.backends.embedded.vision.things import Thing
from openvlharness_adapters.backends.embedded.vision.working import Pixels, Working, working_picture

_SOLID = 0.08  # half-width in parts of the size
_BREAK = 60.0  # square pixels of an edge in the background: a border that was cleared away leaves less
_LIKE_KIN = 15.0  # levels
_WIDE = 0.85  # picture pixels of a rim's width, which antialiasing makes never and JPEG seldom
_FAINT = 1.15  # by how much a rim is larger than it is seen: its outermost pixels are like the ground
_CROWD = 220  # regions over which a picture is texture


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
        is_broken = any(
            has_inner_edges(self.regions[each], self.working, least=_BREAK, depth=6) for each in self.ground
        )
        self._clear_scraps()
        self._nest()
        around: dict[int, NDArray[np.float64]] = {}
        for label, region in self.regions.items():
            if label not in self.ground:
                around[label] = self._level_around(label)
                self.paints[label] = paint_of(region, self.working, around[label])
        kin = self._kin()
        for label in self.paints:
            behind = self.ground | {self.parents[label]} if label in self.parents else self.ground
            region, paint = self.regions[label], self.paints[label]
            if is_motley(region, paint, self.working.unit) or has_inner_edges(region, self.working, around[label]):
                self.guesses[label], self.paints[label] = Guess(shapes=ANYTHING), ANY_PAINT
                continue
            if is_smeared(self.regions[label], self.working, around[label]):
                self.guesses[label] = Guess(shapes=ANYTHING)
                continue
            dividers = self._dividers(label, kin)
            self.guesses[label] = guess_of(
                self.regions[label], self.segments.labels, behind, kin, self.tolerance, dividers
            )
        spots = (Paint(names=names_of(level), levels=level[None]) for level in background.spots)
        through = [Thing(shapes=ANYTHING, paint=paint, is_sure=False) for paint in spots]
        if is_broken:
            through.append(Thing(shapes=ANYTHING, paint=ANY_PAINT, is_sure=False))
        return (*(self._with_rim(thing, around) for thing in self._composed()), *through)

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
            touched = {each: size for each, size in region.touched.items() if each not in (0, label)}
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
        standing = [region for label, region in self.regions.items() if label not in self.ground]
        standing.sort(key=lambda region: region.area)  # stays in order where areas are equal
        for place, region in enumerate(standing):
            for outer in standing[place + 1 :]:
                if _encloses(outer, region):
                    self.parents[region.label] = outer.label
                    break

    def _kin(self) -> NDArray[np.int64]:
        """For each label, the first of its colour: what something in front divides is seen as several regions."""
        kin = np.arange(int(self.segments.labels.max()) + 1)
        if not self.paints:
            return kin
        labels = np.array(list(self.paints))
        levels = np.array([paint.levels[0] for paint in self.paints.values()])
        alike = np.abs(levels[:, None] - levels).max(axis=2) < _LIKE_KIN
        for place, first in enumerate(alike.argmax(axis=1).tolist()):  # at the latest itself
            kin[labels[place]] = kin[labels[first]]
        return kin

    def _dividers(self, label: int, kin: NDArray[np.int64]) -> frozenset[int]:
        """What other regions of this one's colour touch, by `kin`: it may have divided one thing."""
        others = [each for each in self.paints if each != label and kin[each] == kin[label]]
        touched = frozenset[int]().union(*(self.regions[each].touched for each in others))
        return frozenset(int(kin[each]) for each in touched - {0} - self.ground)

    def _with_rim(self, thing: Thing, around: dict[int, NDArray[np.float64]]) -> Thing:
        """A thing with the border that segmentation took for a blurred edge, and how large it may be with it."""
        if not thing.labels or thing.labels[0] in self.parents:
            return thing
        label = thing.labels[0]
        region, unit = self.regions[label], self.working.unit
        rim = rim_of(region, self.segments.labels, self.ground, self.working, around[label])
        further = rim.reach if rim.reach > unit else 0.0  # a border no wider than a blur is hardly told from one
        if rim.is_border:
            self.segments.labels[rim.box][rim.own] = label
            further = rim.reach + unit
        # Along its outline, or along a square's of its area: the same border makes more of a star than of a disc.
        most = region.area + max(region.perimeter, 4 * region.size) * further + 4 * further**2
        if rim.area > _WIDE * unit * region.perimeter:
            most = max(most, region.area + _FAINT * rim.area)
        return attrs.evolve(thing, most=max(thing.most, most))

    def _level_around(self, label: int) -> NDArray[np.float64]:
        """RGB of what a region touches most, a little way off its outline."""
        region = self.regions[label]
        touched = {each: size for each, size in region.touched.items() if each > 0}
        if not touched:
            return np.asarray(self.working.pixels[region.box][region.own].mean(axis=0))
        other = max(touched, key=lambda each: touched[each])
        height, width = self.segments.labels.shape
        reach = 4 * self.working.unit
        away = region.outline - region.middle
        out = region.outline + away / np.maximum(np.hypot(*away.T), 1e-6)[:, None] * reach
        x, y = np.clip(out.round().astype(int), 0, [width - 1, height - 1]).T
        there = self.segments.labels[y, x] == other
        pixels = self.working.pixels[y, x][there] if there.any() else self.working.pixels[self.regions[other].box]
        return median_of(pixels.reshape(-1, 3))

    def _composed(self) -> list[Thing]:
        """Things, the inner before the outer, so that a border around a border meets what that one has become."""
        children: dict[int, list[int]] = {}
        for child, parent in self.parents.items():
            children.setdefault(parent, []).append(child)
        things: dict[int, Thing] = {}
        for label in sorted(self.guesses, key=lambda each: self.regions[each].size):
            region, inner = self.regions[label], children.get(label, [])
            things[label] = self._plain(label)
            if label in self.hollow:  # a hole, unless what surrounds it is solid enough to have a thing upon it
                things[label] = attrs.evolve(things[label], is_sure=False)
            if len(inner) == 1 and inner[0] in things:
                outer, within = relation_of(
                    (region, self.regions[inner[0]]),
                    (things[label], things[inner[0]]),
                    is_hollow=inner[0] in self.hollow,
                    unit=self.working.unit,
                )
                things[label] = outer
                if within is None:
                    del things[inner[0]]
                else:
                    things[inner[0]] = within
            elif region.half_width > _SOLID * region.size:
                for child in self.hollow & set(inner) & set(things):
                    things[child] = attrs.evolve(things[child], is_sure=True)
        return list(things.values())

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


def _encloses(outer: Region, inner: Region) -> bool:
    """Whether a region lies within another's outline."""
    if outer.area <= inner.area:
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
