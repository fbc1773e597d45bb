"""What generated programs import: exact on small cases, equal to plain numpy on random ones, and friendly to mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as coco

from openvlharness_core.code_helpers import box_iou, decode_masks, depth_at, map_boxes, mask_iou, unproject
from openvlharness_core.masks import encode_mask

BINDING: dict[str, Any] = {
    "pred_masks": [{"size": [2, 3], "counts": [2, 1, 3]}, {"size": [2, 3], "counts": "06"}],
    "orig_img_h": 2,
    "orig_img_w": 3,
}
CORNERS = st.floats(-20, 60, allow_nan=False, width=32)
BOXES = st.lists(st.tuples(CORNERS, CORNERS, st.floats(0, 40, width=32), st.floats(0, 40, width=32)), max_size=5).map(
    lambda rows: np.array([(x, y, x + w, y + h) for x, y, w, h in rows]).reshape(-1, 4)
)


def test_masks_come_as_one_array_of_booleans_by_row_and_column() -> None:
    masks = decode_masks(BINDING)
    assert (masks.dtype, masks.shape) == (np.bool_, (2, 2, 3))
    assert masks.tolist() == [[[False, True, False], [False, False, False]], [[True] * 3] * 2]
    masks[0] |= True
    assert decode_masks(BINDING)[0].sum() == 1


def test_no_masks_is_an_array_without_masks() -> None:
    assert decode_masks(BINDING | {"pred_masks": []}).shape == (0, 2, 3)


@pytest.mark.parametrize(
    ("binding", "words"),
    [
        (BINDING | {"pred_masks": None}, "boxes only"),
        (BINDING["pred_masks"], "expected a binding with pred_masks, got list"),
        (BINDING["pred_masks"][0], "expected a binding with pred_masks, got one with size, counts"),
        ({"pred_masks": []}, "expected a binding with orig_img_h"),
        (BINDING | {"orig_img_h": 3, "orig_img_w": 2}, r"pred_masks\[0\].size: expected \[3, 2\]"),
        (BINDING | {"pred_masks": [{"size": [2, 3], "counts": [2, 1, 2]}]}, r"pred_masks\[0\].counts: expected counts"),
        (BINDING | {"pred_masks": [{"size": [2, 3], "counts": "0\x00"}]}, r"pred_masks\[0\].counts: expected COCO"),
        (BINDING | {"pred_masks": [None]}, r"pred_masks\[0\]: expected an object"),
    ],
    ids=lambda value: f"{value!r:.40}",
)
def test_bad_masks_are_a_value_error(binding: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        decode_masks(binding)


@given(BOXES, BOXES)
def test_box_iou_is_that_of_each_pair(a: np.ndarray, b: np.ndarray) -> None:
    table = box_iou(a, b)
    assert table.shape == (len(a), len(b))
    assert ((table >= 0) & (table <= 1 + 1e-9)).all()
    as_xywh = [np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1) for boxes in (a, b)]
    if len(a) and len(b) and all((boxes[:, 2:] > 0).all() for boxes in as_xywh):
        assert np.allclose(table, coco.iou(as_xywh[0], as_xywh[1], [0] * len(b)), atol=1e-6)


def test_box_iou_takes_one_box_and_lists() -> None:
    assert box_iou([0, 0, 10, 10], [[0, 0, 10, 10], [5, 0, 15, 10], [20, 20, 30, 30]]).tolist() == [[1, 1 / 3, 0]]
    assert box_iou([[5, 5, 5, 5]], [[5, 5, 5, 5]]).tolist() == [[0]], "a box without area overlaps nothing"
    assert box_iou([], [[0, 0, 1, 1]]).shape == (0, 1)
    with pytest.raises(ValueError, match=r"a: expected boxes of shape \(N, 4\), got \(1, 3\)"):
        box_iou([[0, 0, 10]], [[0, 0, 10, 10]])


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 200))
def test_mask_iou_is_that_of_each_pair(seed: int, height: int, width: int) -> None:
    dice = np.random.default_rng(seed)
    a, b = (dice.random((n, height, width)) < dice.random() for n in (3, 2))
    expected = [[(x & y).sum() / (x | y).sum() if (x | y).any() else 0 for y in b] for x in a]
    assert np.allclose(mask_iou(a, b), expected)
    column_by_column = decode_masks(
        {"pred_masks": [encode_mask(mask) for mask in b], "orig_img_h": height, "orig_img_w": width}
    )
    assert np.allclose(mask_iou(a, column_by_column), expected)


def test_mask_iou_takes_single_masks_and_refuses_other_sizes() -> None:
    assert mask_iou(np.eye(3), np.eye(3)).tolist() == [[1]]
    assert mask_iou(np.zeros((0, 3, 3)), np.eye(3)).shape == (0, 1)
    with pytest.raises(ValueError, match=r"expected masks of one size, got \(3, 3\) and \(4, 4\)"):
        mask_iou(np.eye(3), np.eye(4))
    with pytest.raises(ValueError, match="expected masks of shape"):
        mask_iou(np.zeros(3), np.eye(4))


def test_depth_is_looked_up_by_x_then_y() -> None:
    depth = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert depth_at(depth, 2, 0) == 2
    assert depth_at({"depth_meters": depth, "is_metric": True}, 0.9, 1.99) == 3
    for x, y in ((3, 0), (0, 2), (-0.1, 0), (float("nan"), 0), (0, float("inf"))):
        with pytest.raises(ValueError, match="expected a pixel of 3x2"):
            depth_at(depth, x, y)
    with pytest.raises(ValueError, match="expected a binding with depth_meters, got one with depth"):
        depth_at({"depth": depth}, 0, 0)
    with pytest.raises(ValueError, match="expected depth of shape"):
        depth_at([1.0, 2.0], 0, 0)


@given(st.floats(5, 500), st.floats(5, 500), st.floats(-20, 80), st.floats(-20, 80), st.floats(0, 40))
def test_points_project_back_to_their_pixels(fx: float, fy: float, cx: float, cy: float, depth: float) -> None:
    matrix = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
    plane = np.full((4, 5), depth) + np.arange(5)
    points = unproject({"depth_meters": plane}, matrix)
    assert points.shape == (4, 5, 3)
    assert np.allclose(points[..., 2], plane)
    projected = points @ matrix.T
    rows, columns = np.mgrid[:4, :5]
    assert np.allclose(projected[..., 0], (columns + 0.5) * plane, atol=1e-6 * (1 + depth) * fx)
    assert np.allclose(projected[..., 1], (rows + 0.5) * plane, atol=1e-6 * (1 + depth) * fy)


def test_axes_of_points_are_right_down_and_forward() -> None:
    points = unproject(np.full((21, 31), 2.0), [[10, 0, 15.5], [0, 10, 10.5], [0, 0, 1]])
    assert points[10, 15] == pytest.approx([0, 0, 2])
    assert points[10, 25] == pytest.approx([2, 0, 2])
    assert points[20, 15] == pytest.approx([0, 2, 2])


@pytest.mark.parametrize("matrix", [np.eye(4), np.zeros((3, 3)), np.full((3, 3), np.nan), [1, 2, 3]])
def test_what_is_no_camera_matrix_is_a_value_error(matrix: Any) -> None:
    with pytest.raises(ValueError, match="expected intrinsics"):
        unproject(np.ones((2, 2)), matrix)


def test_boxes_of_a_crop_become_boxes_of_its_source() -> None:
    moved = [[1, 0, 30], [0, 1, 20]]
    assert map_boxes([[0, 0, 10, 5]], moved).tolist() == [[30, 20, 40, 25]]
    assert map_boxes([], moved).shape == (0, 4)
    assert map_boxes([1, 2, 3, 4], [[0.5, 0, 0], [0, 2, 1]]).tolist() == [[0.5, 5, 1.5, 9]]
    assert map_boxes([[0, 0, 10, 5]], [[0, -1, 5], [1, 0, 0]]).tolist() == [[0, 0, 5, 10]], "corners in order again"
    with pytest.raises(ValueError, match=r"expected to_source of shape \(2, 3\), got \(3, 3\)"):
        map_boxes([[0, 0, 10, 5]], np.eye(3))
