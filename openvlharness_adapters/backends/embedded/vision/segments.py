"""From pixels to regions.

A region's inside is smooth: neighbours differ by little, even on a gradient. Connected smooth pixels are cores. What
lies between cores is either an edge, whose pixels are mixtures of the cores beside it and go to the nearer in colour,
or it is something of its own that no mixture explains: a stroke, or a thing too small to have a smooth inside.
"""

from __future__ import annotations

import attrs
import numpy as np

from openvlharness_adapters.backends.embedded.vision.joining import absorbed, connected, joined, merged
from openvlharness_adapters.backends.embedded.vision.labels import Labels, highest
from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.spreading import Spread
from openvlharness_adapters.backends.embedded.vision.working import Working

_STEP = 12.0  # levels between neighbours over which a pixel is not smooth
_MOST_CORES = 400
_SPECK = 16.0  # square pixels
_FAINT = 32.0  # levels: specks that stand out by less are what JPEG left


@attrs.frozen(kw_only=True)
class Segments:
    """A picture in regions.

    Attributes:
        labels: int32 (height, width) at working size, 1 to `count`; every pixel belongs to one region.
        count: regions.
        thin: which labels stand for strokes and small things that had no smooth inside.
        restless: whether there was too much texture for regions to mean anything; then all is one region.
    """

    labels: Labels
    count: int
    thin: frozenset[int] = frozenset()
    restless: bool = False


def segments_of(working: Working) -> Segments:
    """The regions of a picture."""
    cv2 = opencv()
    pixels, unit = working.pixels, working.unit
    height, width = pixels.shape[:2]
    side = max(3, 2 * (int(unit) // 2) + 1)
    kernel = np.ones((side, side), np.uint8)
    steps = highest(cv2.morphologyEx(pixels, cv2.MORPH_GRADIENT, kernel))
    smooth = (steps <= max(_STEP, 3.2 * working.left)).astype(np.uint8)
    count, cores, stats, _ = cv2.connectedComponentsWithStats(smooth, connectivity=4)
    restless = Segments(labels=np.ones((height, width), np.int32), count=1, restless=True)
    inner = cv2.distanceTransform(smooth, cv2.DIST_L2, 3)
    keep = np.bincount(cores[inner >= 1.6 * unit + 0.4], minlength=count) > 0
    keep[0] = False
    if keep.sum() > _MOST_CORES or keep.sum() == 0 or stats[keep, cv2.CC_STAT_AREA].sum() < 0.3 * height * width:
        return restless
    new = np.zeros(count, np.int32)
    new[keep] = np.arange(1, int(keep.sum()) + 1)
    labels = new[cores]
    spread = Spread(working=working, labels=labels)
    for label in range(1, int(keep.sum()) + 1):
        left, top, wide, high = stats[np.flatnonzero(new == label)[0], :4]
        spread.offer(label, (int(left), int(top), int(wide), int(high)))
    thin = _own_things(spread, int(keep.sum()))
    if len(thin) + int(keep.sum()) > _MOST_CORES:
        return restless
    labels = spread.settled()
    labels, origin = connected(labels, unit)
    labels, origin = merged(labels, origin, thin, pixels, working.left, unit)
    labels, origin = joined(labels, origin, thin, spread.colours)
    labels, origin = absorbed(labels, origin, thin, spread.colours, spread.opponent, unit)
    count = int(labels.max())
    return Segments(
        labels=labels, count=count, thin=frozenset(label for label in range(1, count + 1) if origin[label] in thin)
    )


def _own_things(spread: Spread, cores: int) -> set[int]:
    """Make regions of what no neighbour explains; returns their labels."""
    cv2 = opencv()
    unit = spread.working.unit
    odd = spread.unexplained()
    count, comps, stats, _ = cv2.connectedComponentsWithStats(odd, connectivity=8)
    thin: set[int] = set()
    for comp in range(1, count):
        left, top, wide, high, area = (int(value) for value in stats[comp])
        if area < max(3.0, 2.0 * unit * unit):
            continue
        rows, columns = slice(top, top + high), slice(left, left + wide)
        own = comps[rows, columns] == comp
        seen = spread.opponent[rows, columns][own]
        middle = np.clip(seen, spread.low[rows, columns][own], spread.high[rows, columns][own])
        off = np.abs(seen - middle)
        if area < _SPECK * unit * unit and np.percentile(highest(off), 80) < _FAINT:
            continue
        far = off.sum(axis=1)
        colour = np.median(seen[far >= np.percentile(far, 60)], axis=0).astype(np.float32)
        label = cores + len(thin) + 1
        if label > _MOST_CORES:
            return thin | {label}
        thin.add(label)
        part = spread.labels[rows, columns]
        part[own] = label
        spread.offer(label, (left, top, wide, high), colour)
    return thin
