"""Label maps: which region each pixel belongs to, 1 and up, 0 for none yet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.opencv import opencv

_MANY = 1000
Labels = NDArray[np.int32]
Mask = NDArray[np.bool_]


def highest(values: NDArray[Any]) -> NDArray[Any]:
    """The largest of three channels, which stand last; numpy's own reduction is slow along so short an axis."""
    return np.asarray(np.maximum(np.maximum(values[..., 0], values[..., 1]), values[..., 2]))


def filled(labels: Labels) -> Labels:
    """`labels` with every 0 replaced by the nearest label."""
    if labels.all():
        return labels
    cv2 = opencv()
    empty = (labels == 0).astype(np.uint8)
    _, nearest = cv2.distanceTransformWithLabels(empty, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    known = np.zeros(int(nearest.max()) + 1, np.int32)
    known[nearest[empty == 0]] = labels[empty == 0]
    return np.asarray(known[nearest], np.int32)


def boxes_of(labels: Labels) -> list[tuple[int, tuple[slice, slice]]]:
    """Every label that occurs, with the rows and columns it spans."""
    count = int(labels.max()) + 1
    height, width = labels.shape
    flat = labels.ravel()
    top, left = np.full(count, height), np.full(count, width)
    bottom, right = np.full(count, -1), np.full(count, -1)
    # A region's extremes stand where a run of its label begins or ends; that is few pixels of many.
    changes = np.ones(flat.size, bool)
    changes[1:-1] = (flat[1:-1] != flat[:-2]) | (flat[1:-1] != flat[2:])
    changes[::width] = True
    changes[width - 1 :: width] = True
    places = np.flatnonzero(changes)
    some = flat[places]
    rows, columns = np.divmod(places, width)
    np.minimum.at(top, some, rows)
    np.maximum.at(bottom, some, rows)
    np.minimum.at(left, some, columns)
    np.maximum.at(right, some, columns)
    return [
        (label, (slice(int(top[label]), int(bottom[label]) + 1), slice(int(left[label]), int(right[label]) + 1)))
        for label in range(1, count)
        if bottom[label] >= 0
    ]


def is_among(labels: NDArray[Any], some: Iterable[int]) -> Mask:
    """Where `labels`, 0 and up, are one of `some`."""
    wanted = list(some)
    table = np.zeros(1 + max(int(labels.max(initial=0)), *wanted, 0), np.bool_)
    table[wanted] = True
    return np.asarray(table[labels])


def pairs_of(
    one: NDArray[Any], other: NDArray[Any], count: int
) -> tuple[list[tuple[int, int]], NDArray[np.intp], NDArray[np.intp]]:
    """Every two of `count` labels that stand at one place of two arrays, the smaller label first.

    Returns:
        Those pairs; how often each occurs; and for each place, which of them stands there.
    """
    keys = np.minimum(one, other).astype(np.int64) * count + np.maximum(one, other)
    if count > _MANY:  # then a table of all pairs costs more than sorting
        values, where, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    else:
        all_sizes = np.bincount(keys, minlength=1)
        values = np.flatnonzero(all_sizes)
        sizes, numbers = all_sizes[values], np.zeros(len(all_sizes), np.intp)
        numbers[values] = np.arange(len(values))
        where = numbers[keys]
    return [divmod(key, count) for key in values.tolist()], sizes, where


def touching_pairs(labels: Labels, count: int) -> set[tuple[int, int]]:
    """Every two of `count` labels that lie side by side or one above the other, the smaller first."""
    pairs: set[tuple[int, int]] = set()
    for one, other in ((labels[:-1], labels[1:]), (labels[:, :-1], labels[:, 1:])):
        differ = one != other
        pairs.update(pairs_of(one[differ], other[differ], count)[0])
    return pairs
