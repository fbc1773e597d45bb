"""What generated programs may import to read bindings: masks, boxes and depth without the usual mistakes.

Boxes are x1, y1, x2, y2 in pixels. Masks and depth maps are indexed [y, x]. Bad values raise `ValueError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.masks import runs_of_all

_COLUMNS = 64  # of masks that are compared at a time; their pixels must stay below 2**24, where float32 stops counting


def decode_masks(binding: Mapping[str, Any]) -> NDArray[np.bool_]:
    """All masks of a `segment_…` binding as one array of booleans, shape (N, height, width).

    Raises:
        ValueError: the binding has no masks, or one of them is no COCO RLE of the picture's size.
    """
    masks = _field(binding, "pred_masks")
    if masks is None:
        raise ValueError("pred_masks is None: this backend gives boxes only")
    size = int(_field(binding, "orig_img_h")), int(_field(binding, "orig_img_w"))
    try:
        return runs_of_all(masks, size, "pred_masks").decoded()
    except MalformedResultError as error:
        raise ValueError(str(error)) from None


def box_iou(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Intersection over union of every box of `a` (N, 4) with every box of `b` (M, 4), shape (N, M)."""
    left, right = _boxes(a, "a"), _boxes(b, "b")
    low = np.maximum(left[:, None, :2], right[None, :, :2])
    high = np.minimum(left[:, None, 2:], right[None, :, 2:])
    inner = np.prod(np.clip(high - low, 0, None), axis=2)
    outer = _areas(left)[:, None] + _areas(right)[None, :] - inner
    return _ratio(inner, outer)


def mask_iou(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Intersection over union of every mask of `a` (N, H, W) with every mask of `b` (M, H, W), shape (N, M)."""
    left, right = _masks(a, "a"), _masks(b, "b")
    if left.shape[1:] != right.shape[1:]:
        raise ValueError(f"expected masks of one size, got {left.shape[1:]} and {right.shape[1:]}")
    inner = np.zeros((len(left), len(right)))
    for column in range(0, left.shape[2], _COLUMNS):  # strip by strip: a hundred masks as floats would fill the memory
        first, second = (_floats(masks[:, :, column : column + _COLUMNS]) for masks in (left, right))
        inner += first @ second.T
    outer = _counts(left)[:, None] + _counts(right)[None, :] - inner
    return _ratio(inner, outer)


def depth_at(depth: Mapping[str, Any] | ArrayLike, x: float, y: float) -> float:
    """The depth under pixel (x, y), of a `depth_result` binding or of its array; in metres if it is metric."""
    plane = _plane(depth)
    height, width = plane.shape
    if not (0 <= x < width and 0 <= y < height):  # nor is NaN
        raise ValueError(f"expected a pixel of {width}x{height}, got x={x}, y={y}")
    return float(plane[int(y), int(x)])


def unproject(depth: Mapping[str, Any] | ArrayLike, intrinsics: ArrayLike) -> NDArray[np.float64]:
    """The point of every pixel in camera axes (x right, y down, z forward), shape (height, width, 3).

    As with boxes, the picture's corner is 0, 0: `points[row, column]` lies on the ray through the middle of its pixel, at
    x = column + 0.5, y = row + 0.5 of the intrinsics.

    Args:
        depth: a `depth_result` binding or its array.
        intrinsics: (3, 3) for that picture's pixels.
    """
    plane = _plane(depth).astype(np.float64)
    matrix = np.asarray(intrinsics, dtype=np.float64)
    if matrix.shape != (3, 3):
        raise ValueError(f"expected intrinsics of shape (3, 3), got {matrix.shape}")
    if not np.isfinite(matrix).all() or np.linalg.det(matrix) == 0:
        raise ValueError(f"expected intrinsics that can be inverted, got {matrix.tolist()}")
    rows, columns = np.mgrid[: plane.shape[0], : plane.shape[1]].astype(np.float64)
    rays = np.stack([columns + 0.5, rows + 0.5, np.ones_like(plane)], axis=-1) @ np.linalg.inv(matrix).T
    points: NDArray[np.float64] = rays * plane[..., None]
    return points


def map_boxes(boxes: ArrayLike, to_source: ArrayLike) -> NDArray[np.float64]:
    """Boxes (N, 4) of a crop as boxes of the picture it was cut from; `to_source` is the binding's 2x3 map."""
    corners = _boxes(boxes, "boxes")
    affine = np.asarray(to_source, dtype=np.float64)
    if affine.shape != (2, 3):
        raise ValueError(f"expected to_source of shape (2, 3), got {affine.shape}")
    x1, y1, x2, y2 = corners.T
    points = np.stack([np.stack([x, y, np.ones_like(x)], axis=-1) for x in (x1, x2) for y in (y1, y2)])
    mapped = points @ affine.T
    return np.concatenate([mapped.min(axis=0), mapped.max(axis=0)], axis=1)


def _floats(strip: NDArray[np.bool_]) -> NDArray[np.float32]:
    """(N, height, columns) as (N, pixels), column by column: that is how decoded masks lie in memory."""
    number, height, columns = strip.shape
    return strip.transpose(0, 2, 1).reshape(number, height * columns).astype(np.float32)


def _counts(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.array([np.count_nonzero(mask) for mask in masks], dtype=np.float64)


def _field(binding: object, name: str) -> Any:
    if not isinstance(binding, Mapping) or name not in binding:
        found = f"one with {', '.join(map(str, binding))}" if isinstance(binding, Mapping) else type(binding).__name__
        raise ValueError(f"expected a binding with {name}, got {found}")
    return binding[name]


def _boxes(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    array = array.reshape(0, 4) if array.size == 0 else np.atleast_2d(array)
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"{name}: expected boxes of shape (N, 4), got {array.shape}")
    return array


def _ratio(inner: NDArray[np.float64], outer: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio: NDArray[np.float64] = np.divide(inner, outer, out=np.zeros_like(inner), where=outer > 0)
    return ratio


def _areas(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    areas: NDArray[np.float64] = np.prod(np.clip(boxes[:, 2:] - boxes[:, :2], 0, None), axis=1)
    return areas


def _masks(values: ArrayLike, name: str) -> NDArray[np.bool_]:
    array = np.asarray(values)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3:
        raise ValueError(f"{name}: expected masks of shape (N, height, width), got {array.shape}")
    return array.astype(bool)


def _plane(depth: Mapping[str, Any] | ArrayLike) -> NDArray[Any]:
    array = np.asarray(_field(depth, "depth_meters") if isinstance(depth, Mapping) else depth)
    if array.ndim != 2:
        raise ValueError(f"expected depth of shape (height, width), got {array.shape}")
    return array
