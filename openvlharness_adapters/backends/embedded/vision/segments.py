"""From pixels to regions.

A region's inside is smooth: neighbours differ by little, even on a gradient. Connected smooth pixels are cores. What
lies between cores is either an edge, whose pixels are mixtures of the cores beside it and go to the nearer in colour,
or it is something of its own that no mixture explains: a stroke, or a thing too small to have a smooth inside. Luma
and chroma are judged apart, because JPEG blurs chroma over more pixels than luma.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.working import Working

Labels = NDArray[np.int32]
Mask = NDArray[np.bool_]

_STEP = 12.0  # levels between neighbours over which a pixel is not smooth
_MOST_CORES = 600
_UNLIKE = 16.0  # levels beyond every mixture
_RINGING = np.array([0.2, 0.4, 0.4], np.float32)
"""Of the contrast nearby, in luma and chroma: JPEG rings beside edges, within the block of 8 or 16 pixels."""
_RINGING_REACH = 6
_SAME_COLOUR = 13.0
_SAME_STROKE = 32.0
_CRUMB = 12.0  # square pixels
_STRAY = 40.0  # the same, of what lies apart from the rest of its colour: an edge between two others may look like a third
_FAR = 1e6
_REACH = 7  # picture pixels that the blur of an edge and the ringing beside it span


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
    steps = cv2.morphologyEx(pixels, cv2.MORPH_GRADIENT, kernel).max(axis=2)
    smooth = (steps <= max(_STEP, 3.2 * working.left)).astype(np.uint8)
    count, cores, stats, _ = cv2.connectedComponentsWithStats(smooth, connectivity=4)
    restless = Segments(labels=np.ones((height, width), np.int32), count=1, restless=True)
    inner = cv2.distanceTransform(smooth, cv2.DIST_L2, 3)
    radii = np.zeros(count, np.float32)
    np.maximum.at(radii, cores.ravel(), inner.ravel())
    keep = radii >= 1.6 * unit + 0.4
    keep[0] = False
    if keep.sum() > _MOST_CORES or keep.sum() == 0 or stats[keep, cv2.CC_STAT_AREA].sum() < 0.3 * height * width:
        return restless
    new = np.zeros(count, np.int32)
    new[keep] = np.arange(1, int(keep.sum()) + 1)
    labels = new[cores]
    spread = _Spread(working=working, labels=labels, reach=_REACH * unit + 2)
    for label in range(1, int(keep.sum()) + 1):
        left, top, wide, high = stats[np.flatnonzero(new == label)[0], :4]
        spread.offer(label, (int(left), int(top), int(wide), int(high)))
    thin = _own_things(spread, int(keep.sum()))
    if len(thin) + int(keep.sum()) > _MOST_CORES:
        return restless
    labels = spread.settled()
    labels, origin = _connected(labels, unit)
    labels, origin = _merged(labels, origin, thin, pixels, working.left)
    labels, origin = _joined(labels, origin, thin, spread.colours)
    labels, origin = _absorbed(labels, origin, thin, spread.opponent, unit)
    count = int(labels.max())
    return Segments(
        labels=labels, count=count, thin=frozenset(label for label in range(1, count + 1) if origin[label] in thin)
    )


@attrs.define(kw_only=True)
class _Spread:
    """For each pixel: the best region in reach by colour, and the range that mixtures of those in reach span."""

    working: Working
    labels: Labels
    reach: float
    best: NDArray[np.float32] = attrs.field(init=False)
    owner: Labels = attrs.field(init=False)
    low: NDArray[np.float32] = attrs.field(init=False)
    high: NDArray[np.float32] = attrs.field(init=False)
    opponent: NDArray[np.float32] = attrs.field(init=False)
    colours: dict[int, NDArray[np.float32]] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        cv2 = opencv()
        pixels = self.working.pixels
        self.opponent = cv2.cvtColor(pixels, cv2.COLOR_RGB2YCrCb).astype(np.float32)
        self.owner = self.labels.copy()
        self.best = np.where(self.labels > 0, np.float32(-1), np.float32(_FAR))
        self.low = np.full(pixels.shape, 255, np.float32)
        self.high = np.zeros(pixels.shape, np.float32)

    def offer(self, label: int, box_xywh: tuple[int, int, int, int], colour: NDArray[np.float32] | None = None) -> None:
        """Offer every pixel in reach of a region to it; its colour there is that of its nearest pixel unless given."""
        cv2 = opencv()
        left, top, wide, high = box_xywh
        reach = int(self.reach) + 1
        rows = slice(max(0, top - reach), top + high + reach)
        columns = slice(max(0, left - reach), left + wide + reach)
        own = self.labels[rows, columns] == label
        if colour is None:
            inside = self.opponent[rows, columns][own]
            self.colours[label] = np.median(inside[:: max(1, len(inside) // 2000)], axis=0)
        else:
            self.colours[label] = colour
        distance, nearest = cv2.distanceTransformWithLabels(
            (~own).astype(np.uint8), cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL
        )
        near = (distance <= self.reach) & (self.best[rows, columns] >= 0)
        if not near.any():
            return
        seen = self.opponent[rows, columns]
        if colour is None:
            places = np.zeros(int(nearest.max()) + 1, np.int64)
            places[nearest[own]] = np.flatnonzero(own)
            theirs = seen.reshape(-1, 3)[places[nearest[near]]]
        else:
            theirs = np.broadcast_to(colour, (int(near.sum()), 3))
        # A far region is as likely as a near one by colour alone; ties go to the near one.
        unlike = np.abs(seen[near] - theirs).sum(axis=1)
        unlike += distance[near] * 0.3 + np.maximum(0, distance[near] - 4 * self.working.unit) * 6 / self.working.unit
        for plane, pick in ((self.low, np.minimum), (self.high, np.maximum)):
            part = plane[rows, columns]
            part[near] = pick(part[near], theirs)
        best, owner = self.best[rows, columns], self.owner[rows, columns]
        better = np.zeros_like(near)
        better[near] = unlike < best[near]
        values = np.zeros(near.shape, np.float32)
        values[near] = unlike
        best[better] = values[better]
        owner[better] = label

    def unexplained(self) -> NDArray[np.uint8]:
        """Pixels between cores that are no mixture of what lies in reach."""
        cv2 = opencv()
        side = 2 * int(_RINGING_REACH * self.working.unit) + 1
        kernel = np.ones((side, side), np.uint8)
        contrast = np.maximum(cv2.dilate(self.high, kernel) - cv2.erode(self.low, kernel), 0)
        slack = _UNLIKE + _RINGING * contrast + 3 * self.working.left
        outside = np.maximum(self.low - self.opponent, self.opponent - self.high) - slack
        return ((self.best >= 0) & (outside.max(axis=2) > 0)).astype(np.uint8)

    def settled(self) -> Labels:
        """Every pixel with its region; those that none reached go to the nearest."""
        return filled(self.owner)


def filled(labels: Labels) -> Labels:
    """`labels` with every 0 replaced by the nearest label."""
    if labels.all():
        return labels
    cv2 = opencv()
    empty = (labels == 0).astype(np.uint8)
    _, nearest = cv2.distanceTransformWithLabels(empty, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    known = np.zeros(int(nearest.max()) + 1, np.int32)
    known[nearest[empty == 0]] = labels[empty == 0]
    return known[nearest].astype(np.int32)


def _own_things(spread: _Spread, cores: int) -> set[int]:
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
        far = np.abs(seen - middle).sum(axis=1)
        colour = np.median(seen[far >= np.percentile(far, 60)], axis=0).astype(np.float32)
        label = cores + len(thin) + 1
        if label > _MOST_CORES:
            return thin | {label}
        thin.add(label)
        part = spread.labels[rows, columns]
        part[own] = label
        spread.offer(label, (left, top, wide, high), colour)
    return thin


def _connected(labels: Labels, unit: float) -> tuple[Labels, NDArray[np.int64]]:
    """Connected regions of one label each, and the label that each came from; scraps go to what lies beside them."""
    cv2 = opencv()
    result = np.zeros_like(labels)
    origin = [0]
    least = max(4.0, 3.0 * unit * unit)
    for label, (rows, columns) in boxes_of(labels):
        own = (labels[rows, columns] == label).astype(np.uint8)
        count, comps, stats, _ = cv2.connectedComponentsWithStats(own, connectivity=4)
        part = result[rows, columns]
        for comp in range(1, count):
            if stats[comp, cv2.CC_STAT_AREA] >= least:
                part[comps == comp] = len(origin)
                origin.append(label)
    return filled(result), np.array(origin)


def boxes_of(labels: Labels) -> list[tuple[int, tuple[slice, slice]]]:
    """Every label that occurs, with the rows and columns it spans."""
    count = int(labels.max()) + 1
    height, width = labels.shape
    flat = labels.ravel()
    rows, columns = np.repeat(np.arange(height), width), np.tile(np.arange(width), height)
    top, left = np.full(count, height), np.full(count, width)
    bottom, right = np.full(count, -1), np.full(count, -1)
    # A region's extremes stand where a run of its label begins or ends; that is few pixels of many.
    changes = np.ones(flat.size, bool)
    changes[1:-1] = (flat[1:-1] != flat[:-2]) | (flat[1:-1] != flat[2:])
    changes |= (columns == 0) | (columns == width - 1)
    some = flat[changes]
    np.minimum.at(top, some, rows[changes])
    np.maximum.at(bottom, some, rows[changes])
    np.minimum.at(left, some, columns[changes])
    np.maximum.at(right, some, columns[changes])
    return [
        (label, (slice(int(top[label]), int(bottom[label]) + 1), slice(int(left[label]), int(right[label]) + 1)))
        for label in range(1, count)
        if bottom[label] >= 0
    ]


def _merged(
    labels: Labels, origin: NDArray[np.int64], thin: set[int], pixels: NDArray[np.uint8], noise: float
) -> tuple[Labels, NDArray[np.int64]]:
    """Regions that touch and have no step between them become one: blocks of JPEG, or a shadow of noise."""
    cv2 = opencv()
    count = int(labels.max()) + 1
    smooth = cv2.blur(pixels, (3, 3)).astype(np.int32)
    lengths: dict[tuple[int, int], list[float]] = {}
    for axis in (0, 1):
        gap = 5  # across the edge's own blur
        if labels.shape[axis] <= gap:
            continue
        near = (slice(None, -gap), slice(None)) if axis == 0 else (slice(None), slice(None, -gap))
        far = (slice(gap, None), slice(None)) if axis == 0 else (slice(None), slice(gap, None))
        one, other = labels[near], labels[far]
        differ = one != other
        unlike = np.abs(smooth[near][differ] - smooth[far][differ]).max(axis=1)
        keys = np.minimum(one, other)[differ].astype(np.int64) * count + np.maximum(one, other)[differ]
        values, inverse, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        sums = np.bincount(inverse, weights=unlike)
        for key, size, total in zip(values.tolist(), sizes.tolist(), sums.tolist(), strict=True):
            entry = lengths.setdefault((key // count, key % count), [0.0, 0.0])
            entry[0] += size
            entry[1] += total
    parent = list(range(count))
    touching = _touching_pairs(labels, count)
    for (one_label, other_label), (size, total) in lengths.items():
        if thin & {int(origin[one_label]), int(origin[other_label])}:
            continue
        if (one_label, other_label) in touching and total / size < _SAME_COLOUR + 2 * noise:
            _unite(parent, one_label, other_label)
    roots = np.array([_root(parent, label) for label in range(count)])
    kept, new = np.unique(roots, return_inverse=True)
    return new[labels].astype(np.int32), origin[kept]


def _joined(
    labels: Labels, origin: NDArray[np.int64], thin: set[int], colours: dict[int, NDArray[np.float32]]
) -> tuple[Labels, NDArray[np.int64]]:
    """Touching regions of one colour become one: a stroke that was smooth inside only where it is wide."""
    parent = list(range(int(labels.max()) + 1))
    pairs = sorted(_touching_pairs(labels, len(parent)))

    def unlike(one: int, other: int) -> float:
        return float(np.abs(colours[int(origin[one])] - colours[int(origin[other])]).max())

    most: dict[int, float] = {}  # how unlike its unlikest neighbour each region is
    for one, other in pairs:
        for label in (one, other):
            most[label] = max(most.get(label, 0.0), unlike(one, other))
    for one, other in pairs:
        likeness = unlike(one, other)
        limit = _SAME_COLOUR
        if thin & {int(origin[one]), int(origin[other])}:  # a washed-out stroke is like the background, but like nothing more
            limit = min(_SAME_STROKE, 0.4 * min(most[one], most[other]))
        if likeness < limit:
            _unite(parent, one, other)
    roots = np.array([_root(parent, label) for label in range(len(parent))])
    kept, new = np.unique(roots, return_inverse=True)
    return new[labels].astype(np.int32), origin[kept]


def _root(parent: list[int], label: int) -> int:
    while parent[label] != label:
        parent[label] = parent[parent[label]]
        label = parent[label]
    return label


def _unite(parent: list[int], one: int, other: int) -> None:
    parent[_root(parent, other)] = _root(parent, one)


def _absorbed(
    labels: Labels, origin: NDArray[np.int64], thin: set[int], opponent: NDArray[np.float32], unit: float
) -> tuple[Labels, NDArray[np.int64]]:
    """Thin regions that are a mixture of what they touch go to the likest of those: tips that no core reaches to.

    So do crumbs between others, whatever their colour.
    """
    count = int(labels.max()) + 1
    flat = labels.ravel()
    sizes = np.maximum(np.bincount(flat, minlength=count), 1)
    small = sizes < _CRUMB * unit * unit
    largest = np.zeros(int(origin.max()) + 1, np.int64)
    np.maximum.at(largest, origin, sizes)
    stray = (sizes < _STRAY * unit * unit) & (sizes < largest[origin])
    candidates = [label for label in range(1, count) if small[label] or stray[label] or int(origin[label]) in thin]
    if not candidates:
        return labels, origin
    means = np.stack([np.bincount(flat, opponent[..., k].ravel(), minlength=count) / sizes for k in range(3)], axis=1)
    touching: dict[int, list[int]] = {label: [] for label in candidates}
    for one, other in _touching_pairs(labels, count):
        for label, beside in ((one, other), (other, one)):
            if label in touching and (int(origin[beside]) not in thin or sizes[beside] > 4 * sizes[label]):
                touching[label].append(beside)
    new = np.arange(count)
    for label, beside in touching.items():
        theirs = means[beside]
        if len(beside) < 2:
            continue
        slack = _UNLIKE + 0.1 * (theirs.max(axis=0) - theirs.min(axis=0))
        if small[label] or (means[label] >= theirs.min(axis=0) - slack).all() and (means[label] <= theirs.max(axis=0) + slack).all():
            new[label] = beside[int(np.abs(theirs - means[label]).sum(axis=1).argmin())]
    kept, dense = np.unique(new, return_inverse=True)
    return dense[labels].astype(np.int32), origin[kept]


def _touching_pairs(labels: Labels, count: int) -> set[tuple[int, int]]:
    pairs: set[tuple[int, int]] = set()
    for one, other in ((labels[:-1], labels[1:]), (labels[:, :-1], labels[:, 1:])):
        differ = one != other
        keys = np.unique(
            np.minimum(one, other)[differ].astype(np.int64) * count + np.maximum(one, other)[differ]
        ).tolist()
        pairs.update((key // count, key % count) for key in keys)
    return pairs
