"""A region with one other inside it: outlined, bordered, or one thing upon another.

A thin ring around the background is an outlined shape; around another colour it is that shape's border. A thick ring is
a shape with another upon it. In between it may be either, and the outer one is then not sure to be a thing.
"""

from __future__ import annotations

import attrs
import numpy as np

from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.queries import Colour
from openvlharness_adapters.backends.embedded.vision.regions import Region
from openvlharness_adapters.backends.embedded.vision.things import Thing

# Sizes of what is inside, in parts of the whole, over which a ring around it is taken for ...
_OUTLINED = 0.7  # a stroke around the background
_BORDERED = 0.78  # the border of what is inside
_MERE_BORDER = 0.87  # the same, too thin to give its colour to the whole
_UPON = 0.62  # perhaps a border; below, a shape upon another
_SLIGHT = 5.0  # picture pixels of a ring's width
_APART = 0.12  # of the size, between middles
_EVEN = 0.7  # of a ring's width, by which it may vary
_HARDLY_EVEN = 2.0


def relation_of(
    regions: tuple[Region, Region], things: tuple[Thing, Thing], *, is_hollow: bool, unit: float
) -> tuple[Thing, Thing | None]:
    """What a region and the one inside it are; `None` if the inner one is nothing of its own.

    Args:
        regions: the outer and the inner.
        things: what each would be without the other.
        is_hollow: whether the inner one shows the background's colour.
        unit: working pixels of a picture pixel, at least 1.
    """
    (hull, core), (outer, inner) = regions, things
    ratio = core.size / max(hull.size, 1.0)
    apart = np.hypot(*(hull.middle - core.middle))
    same = apart < _APART * hull.size and bool(outer.shapes & inner.shapes)
    uneven = _unevenness(hull, core) if same else np.inf
    if is_hollow:
        if uneven < _EVEN and ratio > _OUTLINED:
            return outer, None
        return outer, attrs.evolve(inner, is_sure=uneven > _HARDLY_EVEN and ratio < _MERE_BORDER)
    if uneven < _EVEN and ratio > _BORDERED:
        names = outer.paint.names if ratio < _MERE_BORDER else frozenset[Colour | None]()
        labels = (*outer.labels, *inner.labels)
        return attrs.evolve(outer, paint=inner.paint, also=names | inner.also, labels=labels), None
    is_slight = hull.size - core.size < 2 * _SLIGHT * unit  # borders do not shrink with what they surround
    if uneven < _HARDLY_EVEN and (ratio > _UPON or is_slight):
        return attrs.evolve(outer, is_sure=False), attrs.evolve(inner, most=max(outer.area, outer.most))
    return outer, inner


def _unevenness(outer: Region, inner: Region) -> float:
    """By which part of its width a ring is wider or narrower than at its middle, but for a tenth of its length."""
    cv2 = opencv()
    inside = cv2.distanceTransform(np.pad(outer.filled, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    x, y = inner.outline.astype(int).T
    widths = inside[y - outer.box[0].start, x - outer.box[1].start]
    middle = float(np.median(widths))
    return max(0.0, float(np.percentile(np.abs(widths - middle), 90)) - 1.0) / max(middle, 1e-6)
