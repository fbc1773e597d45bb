from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.imaging.placing import Spot, place


def rectangles(spots: list[Spot], sizes: np.ndarray) -> list[tuple[int, int, int, int]]:
    return [
        (*spot.corner_xy, spot.corner_xy[0] + width, spot.corner_xy[1] + height)
        for spot, (width, height) in zip(spots, sizes.tolist(), strict=True)
    ]


def distance(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Pixels between two rectangles along the axis that keeps them apart; below 0 if they overlap."""
    return max(one[0] - other[2], other[0] - one[2], one[1] - other[3], other[1] - one[3])


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(0, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_labels_stay_inside_and_apart(width: int, height: int, count: int, size: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    corners = chance.uniform(0, 1, (count, 2)) * (width, height)
    objects = np.concatenate([corners, np.minimum(corners + chance.uniform(0, 200, (count, 2)), (width, height))], 1)
    sizes = chance.integers(1, size + 1, (count, 2))
    spots = place(objects, sizes, (width, height), 2)
    assert len(spots) == count
    placed = rectangles(spots, sizes)
    for (x1, y1, x2, y2), (w, h) in zip(placed, sizes.tolist(), strict=True):
        assert (x1 >= 0, y1 >= 0) == (True, True)
        assert x2 <= max(width, w)
        assert y2 <= max(height, h)
    for later in range(count):
        if spots[later].is_free:
            assert all(distance(placed[later], placed[earlier]) >= 2 for earlier in range(later))


def test_a_lone_label_lies_on_the_upper_left_corner_of_its_object() -> None:
    (spot,) = place(np.array([[100.0, 100, 200, 200]]), np.array([[30, 20]]), (400, 400), 2)
    assert spot == Spot(corner_xy=(100, 79), is_far=False, is_free=True)


def test_a_label_does_not_hide_another_object_where_it_need_not() -> None:
    objects = np.array([[100.0, 100, 200, 200], [90, 60, 210, 99]])
    spots = place(objects, np.array([[30, 20], [30, 20]]), (400, 400), 2)
    assert distance(rectangles(spots, np.array([[30, 20], [30, 20]]))[0], (90, 60, 210, 99)) >= 0


@pytest.mark.parametrize("count", [50, 300])
def test_crowds_at_one_place_find_room_elsewhere(count: int) -> None:
    objects = np.tile(np.array([[300.0, 300, 310, 310]]), (count, 1))
    sizes = np.tile(np.array([[28, 18]]), (count, 1))
    spots = place(objects, sizes, (640, 640), 2)
    assert all(spot.is_free for spot in spots)
    assert sum(spot.is_far for spot in spots) > count - 14
    placed = rectangles(spots, sizes)
    assert min(distance(one, other) for one, other in combinations(placed, 2)) >= 2
    far = placed[-1]
    assert distance(far, (300, 300, 310, 310)) < 300


def test_without_room_labels_overlap_and_say_so() -> None:
    objects = np.tile(np.array([[2.0, 2, 8, 8]]), (5, 1))
    spots = place(objects, np.tile(np.array([[8, 8]]), (5, 1)), (10, 10), 1)
    assert [spot.is_free for spot in spots] == [True, False, False, False, False]


def test_what_is_held_is_not_covered() -> None:
    held = [(0.0, 0.0, 400.0, 99.0), (60.0, 120.0, 99.0, 400.0)]
    (spot,) = place(np.array([[100.0, 100, 200, 200]]), np.array([[30, 20]]), (400, 400), 2, held)
    (found,) = rectangles([spot], np.array([[30, 20]]))
    assert all(distance(found, tuple(int(v) for v in rectangle)) >= 2 for rectangle in held)


def test_a_wide_label_goes_beside_rather_than_past_what_is_held() -> None:
    held = [(180.0, 150.0, 220.0, 250.0)]
    (spot,) = place(np.array([[195.0, 195, 205, 205]]), np.array([[150, 20]]), (400, 400), 2, held)
    x, y = spot.corner_xy
    assert spot.is_far
    assert abs(y + 10 - 200) <= 1
    assert x + 150 in range(170, 181) or x in range(220, 231)
