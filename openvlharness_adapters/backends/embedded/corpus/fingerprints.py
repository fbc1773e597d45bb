"""What is kept of a picture so that it, a copy of it or a part of it is recognised.

A difference hash holds for each of 64 places whether the picture gets brighter to the right; copies in another size or
quality differ in few bits. Pages and skies resemble each other there, so a small grey copy has to agree as well. Parts of
a picture have another hash: they are found by features that lie in both in the same arrangement.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.features import Features, Pixels, features_of, matches

SAME_BITS = 10
"""Bits of 64 in which copies of one picture differ at most."""
SAME_GREYS = 0.92
"""Correlation of the small copies from which pictures may be the same."""
LEAST_INLIERS = 14
LEAST_SHARE = 0.35
FEATURE_SIDE, MOST_FEATURES = 512, 300
_SMALL = 16
_FLAT = 3.0  # grey levels; a picture whose neighbours differ less has no hash
_RATIO = 0.85
_LIKENESS = 0.92  # dot product of features that may be the same corner
_QUANTA = 512  # descriptors are stored as bytes; entries above one half are as good as never met


@attrs.frozen(kw_only=True, eq=False)
class Fingerprint:
    """What is kept of one picture.

    Attributes:
        size_hw: (height, width).
        hash: 8 bytes; `None` for a picture without contrast.
        small: uint8 (16, 16).
        points: float32 (N, 2), pixels at the bounded size.
        descriptors: uint8 (N, 128).
    """

    size_hw: tuple[int, int]
    hash: bytes | None
    small: NDArray[np.uint8]
    points: NDArray[np.float32]
    descriptors: NDArray[np.uint8]


def fingerprint_of(pixels: Pixels, cv2: Any | None) -> Fingerprint:
    """The fingerprint of uint8 pixels (height, width, 3); without OpenCV it has no features."""
    grey = _grey(pixels)
    points, descriptors = np.zeros((0, 2), np.float32), np.zeros((0, 128), np.uint8)
    if cv2 is not None:
        found: Features = features_of(cv2, pixels, side=FEATURE_SIDE, most=MOST_FEATURES)
        points = found.points[:MOST_FEATURES].astype(np.float32)
        descriptors = np.minimum(found.descriptors[:MOST_FEATURES] * _QUANTA, 255).astype(np.uint8)
    return Fingerprint(
        size_hw=(int(pixels.shape[0]), int(pixels.shape[1])),
        hash=_difference_hash(grey),
        small=np.clip(np.rint(_shrunk(grey, _SMALL, _SMALL)), 0, 255).astype(np.uint8),
        points=points,
        descriptors=descriptors,
    )


def bits_apart(one: bytes, other: bytes) -> int:
    """How many bits of two hashes differ."""
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()


def looks_same(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether both are the same picture, maybe in another size or quality."""
    if one.hash is None or other.hash is None or bits_apart(one.hash, other.hash) > SAME_BITS:
        return False
    return _correlation(one.small, other.small) >= SAME_GREYS


def likeness(query: Fingerprint, known: Fingerprint) -> int:
    """How many features of both are each other's clearly likest, wherever they lie; good for an order."""
    if min(len(query.points), len(known.points)) < LEAST_INLIERS:
        return 0
    return len(matches(_features(query), _features(known), ratio=_RATIO))


def common_points(query: Fingerprint, known: Fingerprint, cv2: Any) -> int:
    """Features that lie in the same arrangement in both; 0 where too few do."""
    if min(len(query.points), len(known.points)) < LEAST_INLIERS:
        return 0
    one, other = _features(query), _features(known)
    likest = (one.descriptors @ other.descriptors.T).max(axis=1)
    if (likest > _LIKENESS).sum() < LEAST_INLIERS:  # most pictures end here
        return 0
    pairs = matches(one, other, ratio=_RATIO)
    if len(pairs) < LEAST_INLIERS:
        return 0
    source, target = query.points[pairs[:, 0]], known.points[pairs[:, 1]]
    found, mask = cv2.estimateAffinePartial2D(
        source, target, method=cv2.RANSAC, ransacReprojThreshold=5.0, maxIters=2000, confidence=0.995
    )
    if found is None or mask is None:
        return 0
    scale = float(np.hypot(found[0, 0], found[1, 0]))
    inliers = mask.ravel().astype(np.bool_)
    # Distinct places: one rich corner must not be a whole arrangement.
    count = len(np.unique(np.round(source[inliers] / 4), axis=0))
    enough = count >= LEAST_INLIERS and inliers.mean() >= LEAST_SHARE and 0.05 < scale < 20
    return count if enough else 0


def _grey(pixels: Pixels) -> NDArray[np.float32]:
    step = max(1, min(pixels.shape[:2]) // 256)
    few = pixels[::step, ::step].astype(np.float32)
    grey: NDArray[np.float32] = few @ np.array([0.299, 0.587, 0.114], np.float32)
    return grey


def _shrunk(grey: NDArray[np.float32], height: int, width: int) -> NDArray[np.float32]:
    """Means over a grid of cells."""
    for axis, cells in ((0, height), (1, width)):
        length = grey.shape[axis]
        if length < cells:
            grey = np.repeat(grey, -(-cells // length), axis=axis)
            length = grey.shape[axis]
        edges = np.linspace(0, length, cells + 1).astype(np.int64)
        widths = np.diff(edges).reshape((-1, 1) if axis == 0 else (1, -1))
        grey = (np.add.reduceat(grey, edges[:-1], axis=axis) / widths).astype(np.float32)
    return grey


def _difference_hash(grey: NDArray[np.float32]) -> bytes | None:
    cells = _shrunk(grey, 8, 9)
    steps = np.diff(cells, axis=1)
    if float(np.abs(steps).mean()) < _FLAT / 4 or float(cells.max() - cells.min()) < _FLAT:
        return None
    return np.packbits(steps > 0).tobytes()


def _correlation(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    first, second = one.astype(np.float64).ravel(), other.astype(np.float64).ravel()
    first, second = first - first.mean(), second - second.mean()
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if lengths > 0 else 0.0


def _features(known: Fingerprint) -> Features:
    unit = _unit(known.descriptors)
    return Features(points=known.points.astype(np.float64), descriptors=unit, size_hw=known.size_hw, scale=1.0)


def _unit(descriptors: NDArray[np.uint8]) -> NDArray[np.float32]:
    values = descriptors.astype(np.float32)
    unit: NDArray[np.float32] = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-6)
    return unit
