"""The small tools of seeing against slower ways to the same: ranks, pairs of labels, offsets from outlines, masks."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from openvlharness_adapters.backends.embedded.vision.labels import boxes_of, is_among, pairs_of, touching_pairs
from openvlharness_adapters.backends.embedded.vision.masks import full_masks
from openvlharness_adapters.backends.embedded.vision.outlines import Family, corners_at, fitted, offsets_from
from openvlharness_adapters.backends.embedded.vision.ranks import median_of, percentile_of, percentiles_of
from openvlharness_adapters.backends.embedded.vision.scene import scene_of

_LEVELS = arrays.arrays(np.uint8, st.tuples(st.integers(1, 12), st.just(3)))
_OFFSETS = arrays.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e3, 1e3))
_MAPS = arrays.arrays(np.int32, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 4))


@given(levels=_LEVELS)
def test_a_median_is_that_of_numpy(levels: np.ndarray) -> None:
    assert median_of(levels).tolist() == np.median(levels, axis=0).tolist()
    assert median_of(levels[:, 0]) == np.median(levels[:, 0])


@given(offsets=_OFFSETS, percent=st.floats(0, 100))
def test_percentiles_are_those_of_numpy(offsets: np.ndarray, percent: float) -> None:
    assert percentile_of(offsets, percent) == pytest.approx(float(np.percentile(offsets, percent)), abs=1e-9)
    several = percentiles_of(offsets, 97, percent, 3)
    assert several == pytest.approx(np.percentile(offsets, [97, percent, 3]).tolist(), abs=1e-9)


@given(labels=_MAPS)
def test_boxes_and_pairs_of_labels_are_those_one_would_count(labels: np.ndarray) -> None:
    for label, box in boxes_of(labels):
        rows, columns = np.nonzero(labels == label)
        assert box == (slice(rows.min(), rows.max() + 1), slice(columns.min(), columns.max() + 1))
    assert [label for label, _ in boxes_of(labels)] == sorted(set(labels.ravel().tolist()) - {0})
    height, width = labels.shape
    beside = [(labels[y, x], labels[y, x + 1]) for y in range(height) for x in range(width - 1)]
    above = [(labels[y, x], labels[y + 1, x]) for y in range(height - 1) for x in range(width)]
    differ = {(min(pair), max(pair)) for pair in beside + above if pair[0] != pair[1]}
    assert touching_pairs(labels, 5) == differ
    assert (is_among(labels, (2, 7)) == np.isin(labels, (2, 7))).all()
    assert not is_among(labels, ()).any()


@pytest.mark.parametrize("count", [40, 5000])  # by a table, and by sorting
def test_each_place_is_told_its_pair(count: int) -> None:
    dice = np.random.default_rng(3)
    one, other = dice.integers(0, 40, (2, 300))
    pairs, sizes, where = pairs_of(one, other, count)
    assert [pairs[each] for each in where] == [tuple(sorted(pair)) for pair in zip(one, other, strict=True)]
    assert sizes.tolist() == np.bincount(where).tolist()
    assert pairs == sorted(pairs)


@pytest.mark.parametrize("family", ["ellipse", "rectangle", "star", "pentagon", "hexagon"])
@pytest.mark.parametrize("turn", [0.0, 0.4, -2.0])
def test_offsets_are_nil_on_an_outline_and_tell_inside_from_outside(family: Family, turn: float) -> None:
    numbers = np.array([[40.0, 25.0, 20.0, 11.0, turn], [0.0, 0.0, 9.0, 7.0, 0.0]])
    corners = corners_at(family, numbers[:1])[0]
    outline = corners if family == "ellipse" else np.concatenate([corners, (corners + np.roll(corners, 1, axis=0)) / 2])
    middle = numbers[0, :2]
    assert offsets_from(family, numbers, outline)[0] == pytest.approx(0, abs=1e-6)
    assert (offsets_from(family, numbers, middle + (outline - middle) * 1.2)[0] > 0.5).all()
    assert (offsets_from(family, numbers, middle + (outline - middle) * 0.8)[0] < -0.5).all()


def test_offsets_from_a_triangle_do_not_depend_on_which_way_its_corners_run() -> None:
    corners = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 40.0]])
    points = np.array([[15.0, 0.0], [10.0, -3.0], [10.0, 10.0], [18.0, 24.0]])
    for each in (corners, corners[::-1]):
        off = offsets_from("triangle", np.ascontiguousarray(each).reshape(1, 6), points)[0]
        assert off == pytest.approx([0, 3, -10, 4.8])


@pytest.mark.parametrize("family", ["ellipse", "rectangle", "star", "pentagon", "hexagon"])
def test_a_fit_finds_the_numbers_that_made_the_points(family: Family) -> None:
    true = np.array([40.0, 25.0, 20.0, 11.0, 0.3])
    corners = corners_at(family, true[None])[0]
    shares = np.linspace(0, 1, 12, endpoint=False)[:, None, None]
    points = (corners * (1 - shares) + np.roll(corners, -1, axis=0) * shares).reshape(-1, 2)
    fit = fitted(family, true + np.array([1.5, -1.0, 1.0, -0.8, 0.1]), points)
    assert fit.mean < 0.05
    used = [0, 1, 2, 4] if family in ("pentagon", "hexagon") else [0, 1, 2, 3, 4]
    assert fit.numbers[used] == pytest.approx(true[used], abs=0.1)


@pytest.mark.parametrize("side", [60, 500, 1100])  # enlarged, as it is, shrunk
def test_a_mask_covers_what_was_drawn(side: int) -> None:
    pixels = np.full((side, side + 7, 3), 255, np.uint8)
    drawn = np.zeros(pixels.shape[:2], np.uint8)
    cv2.circle(drawn, (side // 3, side // 2), side // 5, 1, -1)
    cv2.rectangle(drawn, (side - side // 4, 0), (side + 6, side // 3), 1, -1)  # into a corner of the picture
    pixels[drawn > 0] = (30, 60, 200)
    scene = scene_of(pixels)
    masks = full_masks(scene, [thing for thing in scene.things if thing.labels], pixels)
    assert len(masks) == 2
    assert all(mask.shape == drawn.shape for mask in masks)
    assert np.count_nonzero(np.any(masks, axis=0) != drawn) <= 0.004 * drawn.sum()
