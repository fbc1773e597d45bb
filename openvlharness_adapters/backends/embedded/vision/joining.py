"""From pixels with labels to regions: apart what does not touch, together what is one.

Every step takes labels and returns new ones, with the label before the first step that each came from.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.labels import (
    Labels,
    boxes_of,
    filled,
    highest,
    pairs_of,
    touching_pairs,
)
from openvlharness_adapters.backends.embedded.vision.opencv import opencv

Origin = NDArray[np.int64]

_UNLIKE = 16.0  # levels beyond every mixture
_SAME_COLOUR = 13.0
_SAME_STROKE = 32.0
_CRUMB = 12.0  # square pixels, as those below
_TIP = 24.0
_STRAY = 40.0
"""Of what lies apart from the rest of its colour: an edge between two others may look like a third."""
_LARGE = 150.0


def connected(labels: Labels, unit: float) -> tuple[Labels, Origin]:
    """Connected regions of one label each, and the label that each came from; scraps go to what lies beside them."""
    cv2 = opencv()
    result = np.zeros_like(labels)
    origin = [0]
    least = max(4.0, 3.0 * unit * unit)
    for label, (rows, columns) in boxes_of(labels):
        own = (labels[rows, columns] == label).astype(np.uint8)
        count, comps, stats, _ = cv2.connectedComponentsWithStats(own, connectivity=4)
        large = np.flatnonzero(stats[:, cv2.CC_STAT_AREA] >= least)
        large = large[large > 0]
        new = np.zeros(count, labels.dtype)
        new[large] = np.arange(len(origin), len(origin) + len(large))
        result[rows, columns] += new[comps]
        origin += [label] * len(large)
    return filled(result), np.array(origin)


def merged(
    labels: Labels, origin: Origin, thin: set[int], pixels: NDArray[np.uint8], noise: float, unit: float
) -> tuple[Labels, Origin]:
    """Regions that touch and have no step between them become one: blocks of JPEG, or a shadow of noise."""
    cv2 = opencv()
    count = int(labels.max()) + 1
    smooth = cv2.blur(pixels, (3, 3))
    lengths: dict[tuple[int, int], list[float]] = {}
    for axis in (0, 1):
        gap = int(3 * unit) + 2  # across the edge's own blur
        if labels.shape[axis] <= gap:
            continue
        near = (slice(None, -gap), slice(None)) if axis == 0 else (slice(None), slice(None, -gap))
        far = (slice(gap, None), slice(None)) if axis == 0 else (slice(None), slice(gap, None))
        one, other = labels[near], labels[far]
        differ = one != other
        if not differ.any():
            continue
        unlike = highest(cv2.absdiff(smooth[near][differ], smooth[far][differ]))
        pairs, sizes, where = pairs_of(one[differ], other[differ], count)
        sums = np.bincount(where, weights=unlike)
        for pair, size, total in zip(pairs, sizes.tolist(), sums.tolist(), strict=True):
            entry = lengths.setdefault(pair, [0.0, 0.0])
            entry[0] += size
            entry[1] += total
    parent = list(range(count))
    touching = touching_pairs(labels, count)
    for (one_label, other_label), (size, total) in lengths.items():
        if thin & {int(origin[one_label]), int(origin[other_label])}:
            continue
        if (one_label, other_label) in touching and total / size < _SAME_COLOUR + 2 * noise:
            _unite(parent, one_label, other_label)
    roots = np.array([_root(parent, label) for label in range(count)])
    kept, new = np.unique(roots, return_inverse=True)
    return new[labels].astype(np.int32), origin[kept]


def joined(
    labels: Labels, origin: Origin, thin: set[int], colours: dict[int, NDArray[np.float32]]
) -> tuple[Labels, Origin]:
    """Touching regions of one colour become one: a stroke that was smooth inside only where it is wide."""
    parent = list(range(int(labels.max()) + 1))
    pairs = sorted(touching_pairs(labels, len(parent)))

    def unlike(one: int, other: int) -> float:
        return float(np.abs(colours[int(origin[one])] - colours[int(origin[other])]).max())

    most: dict[int, float] = {}  # how unlike its unlikest neighbour each region is
    for one, other in pairs:
        for label in (one, other):
            most[label] = max(most.get(label, 0.0), unlike(one, other))
    for one, other in pairs:
        likeness = unlike(one, other)
        limit = _SAME_COLOUR
        if thin & {
            int(origin[one]),
            int(origin[other]),
        }:  # a washed-out stroke is like the background, but like nothing more
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


def absorbed(
    labels: Labels,
    origin: Origin,
    thin: set[int],
    colours: dict[int, NDArray[np.float32]],
    opponent: NDArray[np.float32],
    unit: float,
) -> tuple[Labels, Origin]:
    """Thin regions that are a mixture of what they touch go to the likest of those: tips that no core reaches to.

    So do crumbs between others, whatever their colour.
    """
    count = int(labels.max()) + 1
    sizes = np.maximum(np.bincount(labels.ravel(), minlength=count), 1)
    small = sizes < _CRUMB * unit * unit
    largest = np.zeros(int(origin.max()) + 1, np.int64)
    np.maximum.at(largest, origin, sizes)
    stray = (sizes < _STRAY * unit * unit) & (sizes < largest[origin])
    candidates = [label for label in range(1, count) if small[label] or stray[label] or int(origin[label]) in thin]
    if not candidates:
        return labels, origin
    is_candidate = np.zeros(count, bool)
    is_candidate[candidates] = True
    y, x = np.nonzero(is_candidate[labels])  # few pixels of many
    theirs, seen = labels[y, x], opponent[y, x]
    means = np.stack([np.bincount(theirs, seen[:, k], minlength=count) / sizes for k in range(3)], axis=1)
    for label in (np.flatnonzero(~is_candidate[1:]) + 1).tolist():
        means[label] = colours[int(origin[label])]
    touching: dict[int, list[int]] = {label: [] for label in candidates}
    for one, other in touching_pairs(labels, count):
        for label, beside in ((one, other), (other, one)):
            if label in touching and (int(origin[beside]) not in thin or sizes[beside] > 4 * sizes[label]):
                touching[label].append(beside)
    new = np.arange(count)
    boxes = dict(boxes_of(labels)) if any(len(around) == 1 for around in touching.values()) else {}
    for label, around in touching.items():
        nearby = around
        if len(around) == 1 and sizes[label] < _TIP * unit * unit:  # a tip, cut off from what it is the tip of
            rows, columns = boxes[label]
            reach = int(3 * unit) + 2
            part = labels[
                max(0, rows.start - reach) : rows.stop + reach, max(0, columns.start - reach) : columns.stop + reach
            ]
            nearby = [each for each in np.unique(part).tolist() if each != label and sizes[each] > 4 * sizes[label]]
        mixed = means[nearby]
        if len(nearby) < 2:
            continue
        if small[label] or _is_mixture(means[label], mixed, sizes[label] > _LARGE * unit * unit):
            new[label] = around[int(np.abs(means[around] - means[label]).sum(axis=1).argmin())]
    kept, dense = np.unique(new, return_inverse=True)
    return dense[labels].astype(np.int32), origin[kept]


def _is_mixture(colour: NDArray[np.floating], others: NDArray[np.floating], is_large: bool) -> bool:
    """Whether a colour lies between others: in the box around them, or, to be more careful, near a line between two."""
    span = others.max(axis=0) - others.min(axis=0)
    if not is_large:
        slack = _UNLIKE + 0.1 * span
        return bool((colour >= others.min(axis=0) - slack).all() and (colour <= others.max(axis=0) + slack).all())
    for one, other in itertools.combinations(others, 2):
        way = other - one
        share = np.clip((colour - one) @ way / max(float(way @ way), 1e-6), 0, 1)
        if np.abs(one + share * way - colour).max() <= _UNLIKE + 0.08 * float(np.abs(way).max()):
            return True
    return False
