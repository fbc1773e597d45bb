"""Features of a picture and matches between two: SIFT at a bounded size, ratio test in both directions."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_core.errors import CapabilityUnavailableError

Pixels = NDArray[np.uint8]

WORKING_SIDE = 1024
"""Longer side in pixels that features are looked for in; larger pictures are shrunk."""
MOST_FEATURES = 2500
RATIO = 0.75
_OPENCV = "opencv-python-headless>=4.14,<5"


@attrs.frozen(kw_only=True, eq=False)
class Features:
    """What is worth recognising in one picture.

    Attributes:
        points: float64 (N, 2), pixels of the working size; the corner of the picture is 0, the centre of its first
            pixel 0.5.
        descriptors: float32 (N, 128), unit length.
        size_hw: the working size.
        scale: working size over the size of the picture.
    """

    points: NDArray[np.float64]
    descriptors: NDArray[np.float32]
    size_hw: tuple[int, int]
    scale: float


def opencv(backend: str, purpose: str) -> Any:
    """The OpenCV module, imported by whoever needs it first.

    Raises:
        CapabilityUnavailableError: it is not installed, or of a version without the functions used here.
    """
    extra = "pip install 'openvlharness[embedded]'"
    try:
        import cv2
    except ImportError as error:
        raise CapabilityUnavailableError(backend, f"{purpose} needs OpenCV ({_OPENCV}): {extra} ({error})") from error
    version = str(getattr(cv2, "__version__", "0"))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if not (4, 14) <= numbers < (5,):
        raise CapabilityUnavailableError(backend, f"{purpose} needs {_OPENCV}, got {version}: {extra}")
    return cv2


def features_of(cv2: Any, pixels: Pixels, *, side: int = WORKING_SIDE, most: int = MOST_FEATURES) -> Features:
    """Features of a picture, uint8 (height, width, 3) RGB, the strongest `most` of them."""
    height, width = pixels.shape[:2]
    scale = min(1.0, side / max(height, width))
    grey = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2GRAY)
    if scale < 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    found, described = cv2.SIFT_create(nfeatures=most, contrastThreshold=0.02).detectAndCompute(grey, None)
    if described is None or not found:
        points, descriptors = np.zeros((0, 2)), np.zeros((0, 128), np.float32)
    else:
        points = np.array([keypoint.pt for keypoint in found], np.float64) + 0.5
        descriptors = _root(described)
    return Features(points=points, descriptors=descriptors, size_hw=grey.shape[:2], scale=scale)


def _root(descriptors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Square roots of the histograms: their dot product compares histograms better than a Euclidean distance does."""
    sums = np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-6)
    rooted: NDArray[np.float32] = np.sqrt(descriptors / sums).astype(np.float32)
    return rooted


def _next_best(distances: NDArray[np.float32], best: NDArray[np.int64]) -> NDArray[np.float32]:
    """The least distance of each row but that in column `best`; quicker than a partition."""
    rows = np.arange(len(best))
    kept = distances[rows, best]
    distances[rows, best] = np.inf
    found: NDArray[np.float32] = distances.min(axis=1)
    distances[rows, best] = kept
    return found


def matches(first: Features, second: Features, *, ratio: float = RATIO) -> NDArray[np.int64]:
    """Indices (M, 2) of features that are each other's nearest, clearly nearer than the next best, each place once."""
    if min(len(first.points), len(second.points)) < 2:
        return np.zeros((0, 2), np.int64)
    distances = np.maximum(2 - 2 * (first.descriptors @ second.descriptors.T), 0)  # squared
    there = distances.argmin(axis=1)
    back = distances.argmin(axis=0)
    rows = np.arange(len(there))
    best = distances[rows, there]
    by_row, by_column = _next_best(distances, there), _next_best(distances.T, back)
    clear = (best < ratio**2 * by_row) & (best < ratio**2 * by_column[there])
    pairs = np.stack([rows, there], axis=1)[(back[there] == rows) & clear]
    # One corner may carry several features, one an orientation; counted once each it would weigh too much.
    places = np.hstack([np.round(first.points[pairs[:, 0]]), np.round(second.points[pairs[:, 1]])])
    _, kept = np.unique(places, axis=0, return_index=True)
    once: NDArray[np.int64] = pairs[np.sort(kept)].astype(np.int64)
    return once
