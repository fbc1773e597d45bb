"""How far beyond a region's outline its rim reaches.

A thin border between a shape and its ground may have just the colour of a mixture of the two, and then goes to either
like any blurred edge. It is wider than a blurred edge, though: so the way is measured on which colours are not yet
those of the ground. What reaches further than a blur does belongs to the shape when its size is told.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.labels import Labels, Mask, highest, is_among
from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.ranks import median_of
from openvlharness_adapters.backends.embedded.vision.regions import Box, Region
from openvlharness_adapters.backends.embedded.vision.working import Working

_FARTHEST = 5.0  # picture pixels
_BLUR = 1.5  # picture pixels beyond the outline that an edge takes without any border
_BEYOND = 2.0  # picture pixels
_NOT_YET_GROUND = 0.2  # of the contrast
_LEAST_LEVELS = 14.0
_SHARE = 0.4  # of the outline along which something has to be seen for it to be a rim


@attrs.frozen(kw_only=True, eq=False)
class Rim:
    """What lies along a region's outline outside of it and is not yet its ground.

    Attributes:
        reach: how far it goes, in working pixels.
        box: rows and columns around the region.
        own: bool, within the box: its pixels.
        is_border: whether it is wider than a blurred edge.
        area: working pixels that are not yet those of the ground, up to a little way beyond `reach`: some of a border
            of a pixel and a half, where the distance is told in whole ones.
    """

    reach: float
    box: Box
    own: Mask
    is_border: bool
    area: int


def rim_of(
    region: Region, labels: Labels, behind: frozenset[int], working: Working, ground: NDArray[np.float64]
) -> Rim:
    """The rim of a region.

    Args:
        region: which.
        labels: of the picture.
        behind: labels of what surrounds it, where a rim may lie.
        working: the picture.
        ground: RGB of what surrounds it.
    """
    cv2 = opencv()
    unit = working.unit
    most = int(_FARTHEST * unit) + 2
    rows, columns = region.box
    top, left = max(0, rows.start - most), max(0, columns.start - most)
    box = (slice(top, rows.stop + most), slice(left, columns.stop + most))
    part = labels[box]
    outside = np.ones(part.shape, np.uint8)
    at = (slice(rows.start - top, rows.stop - top), slice(columns.start - left, columns.stop - left))
    outside[at] = ~region.filled
    distance = cv2.distanceTransform(outside, cv2.DIST_L2, 5)
    around = (distance > 0) & (distance <= most)
    around &= is_among(part, behind)
    contrast = float(np.abs(median_of(working.pixels[region.box][region.own]) - ground).max())
    limit = max(_NOT_YET_GROUND * contrast, _LEAST_LEVELS + 3 * working.left)
    away, off = distance[around], highest(np.abs(working.pixels[box][around] - ground)) > limit
    step = max(1.0, unit / 2)
    reach = 0.0
    # All the way, since from black to a white border on grey the colour passes through that of the ground.
    for near in np.arange(0.0, _FARTHEST * unit, step):
        there = off[(away > near) & (away <= near + step)]
        if len(there) and np.count_nonzero(there) > _SHARE * len(there):
            reach = float(near + step)
    own = np.zeros(part.shape, np.bool_)
    own[around] = (away <= reach) & (off | (away <= reach - step))
    area = int(np.count_nonzero(off[away <= reach + _BEYOND * unit]))
    return Rim(reach=reach, box=box, own=own, is_border=reach > _BLUR * unit, area=area)
