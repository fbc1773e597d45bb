"""Detections: what they promise, and that data read row by row is noticed."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from openvlharness_core.arrays import locked_floats
from openvlharness_core.detections import Detections
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.masks import decode_mask, encode_mask

SIZE = (40, 60)
Box = tuple[int, int, int, int]


def block(box: Box, size: tuple[int, int] = SIZE) -> np.ndarray:
    """A mask that fills a box."""
    mask = np.zeros(size, bool)
    mask[box[1] : box[3], box[0] : box[2]] = True
    return mask


def row_by_row(mask: np.ndarray) -> dict[str, object]:
    """The mask in a format that only looks like COCO's."""
    return {"size": list(mask.shape), "counts": encode_mask(mask.T)["counts"]}


def one(box: tuple[float, float, float, float], mask: object, size: tuple[int, int] = SIZE) -> Detections:
    return Detections(boxes_xyxy_px=[box], scores=[0.5], masks=[mask], size_hw=size)


def test_arrays_are_copied_locked_and_of_the_promised_type() -> None:
    boxes, scores = np.array([[1, 2, 3, 4]]), [1]
    found = Detections(boxes_xyxy_px=boxes, scores=scores, size_hw=SIZE)
    boxes[0, 0] = 2
    for values, shape in ((found.boxes_xyxy_px, (1, 4)), (found.scores, (1,))):
        assert (values.dtype, values.shape, values.flags.c_contiguous) == (np.float32, shape, True)
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0
    assert found.boxes_xyxy_px.tolist() == [[1, 2, 3, 4]]
    assert found == attrs.evolve(found)
    assert found != attrs.evolve(found, scores=[0.5])


def test_masks_are_copied() -> None:
    mask = encode_mask(block((10, 10, 20, 20)))
    found = one((10, 10, 20, 20), mask)
    mask["counts"] = "changed"
    assert found.masks is not None
    assert decode_mask(found.masks[0]).sum() == 100


@pytest.mark.parametrize("masks", [None, [], ()])
@pytest.mark.parametrize("boxes", [[], np.zeros((0, 4)), np.zeros((0, 4), np.float32), np.zeros((0, 4), int)])
def test_nothing_found_has_its_shape(boxes: object, masks: object) -> None:
    found = Detections(boxes_xyxy_px=boxes, scores=[], masks=masks, size_hw=SIZE)
    assert (len(found), found.boxes_xyxy_px.shape, found.scores.shape) == (0, (0, 4), (0,))
    assert found.masks == (None if masks is None else ())


@pytest.mark.parametrize("size", [(40, 60), (60, 40), (17, 200), (480, 640)])
def test_masks_read_row_by_row_are_noticed(size: tuple[int, int]) -> None:
    dice = np.random.default_rng(3)
    for _ in range(30):
        (x1, x2), (y1, y2) = (sorted(dice.choice(side // 2, 2, replace=False)) for side in (size[1], size[0]))
        box = (int(x1), int(y1), int(x2), int(y2))
        mask = block(box, size)
        assert len(one(box, encode_mask(mask), size)) == 1
        if mask.sum() > 2 and not (decode_mask(row_by_row(mask)) == mask).all():
            with pytest.raises(MalformedResultError, match="row by row") as raised:
                one(box, row_by_row(mask), size)
            assert raised.value.field == "pred_masks[0]"


@pytest.mark.parametrize(("columns_inside", "fits"), [(15, True), (14, False)])
def test_a_quarter_of_a_mask_may_lie_outside_its_box(columns_inside: int, fits: bool) -> None:
    mask = encode_mask(block((20, 5, 40, 25)))
    box = (20.0, 5.0, 20.0 + columns_inside - 1, 25.0)  # one pixel around the box is taken for inside
    if fits:
        assert len(one(box, mask)) == 1
    else:
        with pytest.raises(MalformedResultError, match="30% outside"):
            one(box, mask)


def test_the_worst_of_several_masks_is_named() -> None:
    good, bad = encode_mask(block((0, 0, 10, 10))), encode_mask(block((30, 30, 50, 40)))
    with pytest.raises(MalformedResultError, match=r"pred_masks\[2\]: .* 100% outside"):
        Detections(
            boxes_xyxy_px=[[0, 0, 10, 10]] * 4, scores=[1] * 4, masks=[good, good, bad, good], size_hw=SIZE, unnamed=0
        )


def test_an_empty_mask_lies_nowhere_and_passes() -> None:
    assert len(one((1, 1, 2, 2), encode_mask(np.zeros(SIZE, bool)))) == 1


def test_boxes_may_stand_a_pixel_beyond_the_picture_and_have_no_area() -> None:
    assert len(Detections(boxes_xyxy_px=[[-1, -1, 61, 41], [5, 5, 5, 5]], scores=[0, 1], size_hw=SIZE)) == 2


@pytest.mark.parametrize(
    "values",
    [
        None, "x", b"x", 3, True, {}, {1}, [None], ["1"], [True], [1, True], [[1, 2], [3]], [[1, 2, 3]], [float("nan")],
        [float("-inf")], [1e39], [2**70], [10**400], [1j], np.array([True]), np.array(["1"]), np.zeros((1, 1)), np.zeros((1, 0)),
        np.array([np.datetime64("2020-01-01")]), [[[[]]]],
    ],
    ids=lambda value: f"{value!r:.30}",
)  # fmt: skip
def test_what_is_no_list_of_numbers_is_refused_by_name(values: object) -> None:
    with pytest.raises(MalformedResultError) as raised:
        locked_floats(values, "place", (None,))
    assert raised.value.field == "place"
    assert len(str(raised.value)) < 200


def test_lists_that_hold_themselves_or_go_very_deep_are_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    deep: list[object] = []
    for _ in range(3000):
        deep = [deep]
    for values in (loop, deep):
        with pytest.raises(MalformedResultError):
            locked_floats(values, "place", (None, 4))
