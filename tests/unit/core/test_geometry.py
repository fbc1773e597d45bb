"""Grid and pixels meet here, so here is where no edge row may be lost."""

from __future__ import annotations

import math

import hypothesis
import pytest
from hypothesis import strategies as st

from openvlharness_core.geometry import (
    GRID,
    IDENTITY,
    Affine,
    Box,
    compose,
    grid_to_pixels,
    map_box,
    pixels_to_grid,
    translation,
)

sizes = st.tuples(st.integers(1, 5000), st.integers(1, 5000))
on_grid = st.floats(0, GRID) | st.integers(0, GRID)


@st.composite
def grid_boxes(draw: st.DrawFn) -> Box:
    (x1, x2), (y1, y2) = (sorted((draw(on_grid), draw(on_grid))) for _ in range(2))
    hypothesis.assume(x1 < x2 and y1 < y2)
    return x1, y1, x2, y2


@pytest.mark.parametrize(
    ("box", "size_hw", "padding", "pixels"),
    [
        ((100, 0, 200, 1000), (100, 2000), 0, (200, 0, 400, 100)),
        ((0, 0, 1000, 1000), (7, 3), 0, (0, 0, 3, 7)),
        ((333, 333, 334, 334), (10, 10), 0, (3, 3, 4, 4)),
        ((0.1, 0.1, 999.9, 999.9), (100, 100), 0, (0, 0, 100, 100)),
        ((500, 500, 500.5, 500.5), (40, 40), 0, (20, 20, 21, 21)),
        ((250, 250, 750, 750), (100, 100), 10, (15, 15, 85, 85)),
        ((250, 250, 750, 750), (100, 100), 10**6, (0, 0, 100, 100)),
        ((0, 0, 5e-324, 5e-324), (100, 100), 0, (0, 0, 1, 1)),
        ((math.nextafter(1000, 0), 0, 1000, 1), (100, 100), 0, (99, 0, 100, 1)),
        ((0, 0, 1, 1), (1, 1), 0, (0, 0, 1, 1)),
        ((0.25, 0.25, 0.75, 0.75), (1000, 2000), 0, (0, 0, 2, 1)),  # fractions are grid numbers too: nothing is guessed
        ((0, 0, 1, 1), (1000, 1000), 0, (0, 0, 1, 1)),
        ((0.1, 0.2, 0.5, 0.9), (4000, 8000), 0, (0, 0, 4, 4)),
    ],
)
def test_grid_to_pixels(box: Box, size_hw: tuple[int, int], padding: int, pixels: Box) -> None:
    assert grid_to_pixels(box, size_hw, padding) == pixels


@pytest.mark.parametrize(
    "box",
    [
        (0, 0, 0, 10), (0, 5, 10, 5), (10, 0, 5, 10), (-1, 0, 10, 10), (0, 0, 1000.001, 10), (math.nan, 0, 10, 10), (0, 0, math.inf, 10),
        (0, 10, 10, 0),
    ],
)  # fmt: skip
def test_a_box_without_area_or_off_the_grid_is_refused(box: Box) -> None:
    with pytest.raises(ValueError, match="expected"):
        grid_to_pixels(box, (100, 100))


def test_a_negative_padding_is_refused() -> None:
    with pytest.raises(ValueError, match="padding of at least 0, got -1"):
        grid_to_pixels((0, 0, 10, 10), (100, 100), -1)


@hypothesis.settings(max_examples=150)
@hypothesis.given(grid_boxes(), sizes, st.integers(0, 50))
def test_outward_rounding_loses_no_edge_and_stays_inside(box: Box, size_hw: tuple[int, int], padding: int) -> None:
    height, width = size_hw
    x1, y1, x2, y2 = grid_to_pixels(box, size_hw)
    assert 0 <= x1 < x2 <= width
    assert 0 <= y1 < y2 <= height
    # one part in a million of a pixel for the arithmetic of floats
    assert x1 <= box[0] * width / GRID + 1e-6
    assert y1 <= box[1] * height / GRID + 1e-6
    assert x2 >= box[2] * width / GRID - 1e-6
    assert y2 >= box[3] * height / GRID - 1e-6
    assert x1 > box[0] * width / GRID - 1 - 1e-6 or x2 - x1 == 1
    assert x2 < box[2] * width / GRID + 1 + 1e-6 or x2 - x1 == 1
    p1, q1, p2, q2 = grid_to_pixels(box, size_hw, padding)
    assert (p1, q1) == (max(0, x1 - padding), max(0, y1 - padding))
    assert (p2, q2) == (min(width, x2 + padding), min(height, y2 + padding))


@pytest.mark.parametrize(
    ("box", "size_hw", "grid"),
    [
        ((200, 0, 400, 100), (100, 2000), (100, 0, 200, 1000)),
        ((0, 0, 3, 7), (7, 3), (0, 0, 1000, 1000)),
        ((5, 5, 5, 5), (10, 10), (500, 500, 501, 501)),
        ((10, 10, 10, 10), (10, 10), (999, 999, 1000, 1000)),
        ((-5, -5, 15, 15), (10, 10), (0, 0, 1000, 1000)),
        ((0.0005, 0, 1, 1), (1, 1), (1, 0, 1000, 1000)),  # half a unit goes up
        ((0.00049, 0, 1, 1), (1, 1), (0, 0, 1000, 1000)),
        ((20, 20, 30, 30), (10, 10), (999, 999, 1000, 1000)),
        ((-9, -9, -1, -1), (10, 10), (0, 0, 1, 1)),
        ((8, 8, 2, 2), (10, 10), (800, 800, 801, 801)),
    ],
)
def test_pixels_to_grid(box: Box, size_hw: tuple[int, int], grid: Box) -> None:
    assert pixels_to_grid(box, size_hw) == grid


pixels = st.floats(-1e6, 1e6)


@hypothesis.given(st.tuples(pixels, pixels, pixels, pixels), sizes)
def test_a_grid_box_has_at_least_one_unit_and_lies_on_the_grid(box: Box, size_hw: tuple[int, int]) -> None:
    x1, y1, x2, y2 = pixels_to_grid(box, size_hw)
    assert 0 <= x1 < x2 <= GRID
    assert 0 <= y1 < y2 <= GRID
    assert grid_to_pixels((x1, y1, x2, y2), size_hw)


@hypothesis.given(sizes, st.data())
def test_there_and_back_stays_within_half_a_unit(size_hw: tuple[int, int], data: st.DataObject) -> None:
    height, width = size_hw
    x1, y1 = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    x2, y2 = data.draw(st.integers(x1 + 1, width)), data.draw(st.integers(y1 + 1, height))
    grid = pixels_to_grid((x1, y1, x2, y2), size_hw)
    exact = (x1 * GRID / width, y1 * GRID / height, x2 * GRID / width, y2 * GRID / height)
    for low in (0, 1):
        # a side that would have vanished was widened by one unit, at whichever end has room
        within = 0.5 if grid[low + 2] - grid[low] > 1 else 1.5
        assert abs(grid[low] - exact[low]) <= within + 1e-9
        assert abs(grid[low + 2] - exact[low + 2]) <= within + 1e-9


numbers = st.integers(-20, 20).map(float)
maps = st.tuples(st.tuples(numbers, numbers, numbers), st.tuples(numbers, numbers, numbers))


def at(affine: Affine, x: float, y: float) -> tuple[float, float]:
    (a, b, c), (d, e, f) = affine
    return a * x + b * y + c, d * x + e * y + f


@hypothesis.given(maps, maps, numbers, numbers)
def test_composing_is_mapping_twice(outer: Affine, inner: Affine, x: float, y: float) -> None:
    assert at(compose(outer, inner), x, y) == at(outer, *at(inner, x, y))
    assert compose(IDENTITY, inner) == compose(inner, IDENTITY) == inner


@hypothesis.given(maps, st.tuples(numbers, numbers, numbers, numbers))
def test_a_mapped_box_holds_every_mapped_corner(affine: Affine, box: Box) -> None:
    x1, y1, x2, y2 = map_box(box, affine)
    corners = [at(affine, x, y) for x in (box[0], box[2]) for y in (box[1], box[3])]
    assert all(x1 <= x <= x2 and y1 <= y <= y2 for x, y in corners)
    assert {x1, x2} <= {x for x, _ in corners}


def test_a_crop_lies_where_its_corner_is() -> None:
    assert map_box((0, 0, 10, 20), translation(5, 7)) == (5, 7, 15, 27)
    assert map_box((0, 0, 1, 1), compose(translation(5, 7), translation(1, 2))) == (6, 9, 7, 10)
