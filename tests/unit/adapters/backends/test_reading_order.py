"""Rows and reading order from cells in any order, on pages that are turned."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.backends.embedded.reading_order import Cell, page_angle, rows_of

SIZE = (2000, 2000)
PAGE = (("TOTAL", 300, 200), ("23.40", 800, 200), ("Tax", 300, 240), ("2.10", 820, 240), ("Thank you", 400, 280))
TEXT = "TOTAL    23.40\nTax    2.10\nThank you"


def _cell(text: str, x: float, y: float, angle: float = 0.0, score: float = 0.9) -> Cell:
    """A cell of 24 pixels in height on a page that is turned about the middle, its corners named as a detector does."""
    width = 14 * len(text)
    corners = np.array([[x, y], [x + width, y], [x + width, y + 24], [x, y + 24]], dtype=float)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    turned = (corners - 1000) @ turn.T + 1000
    by_x = turned[np.argsort(turned[:, 0], kind="stable")]
    (left, right) = (side[np.argsort(side[:, 1], kind="stable")] for side in (by_x[:2], by_x[2:]))
    named = np.array([left[0], right[0], right[1], left[1]])
    quarter = round(angle / (math.pi / 2)) % 4
    return Cell(text=text, corners=named, score=score, flipped=quarter in (2, 3))


def _read(angle: float, seed: int = 0) -> str:
    cells = [_cell(text, x, y, angle) for text, x, y in PAGE]
    random.Random(seed).shuffle(cells)
    return "\n".join(line.text for line in rows_of(cells, SIZE))


@pytest.mark.parametrize("quarter", range(4))
@pytest.mark.parametrize("degrees", [-8, -3, 0, 2, 8])
def test_rows_are_found_on_a_page_that_is_turned(quarter: int, degrees: int) -> None:
    angle = quarter * math.pi / 2 + math.radians(degrees)
    assert _read(angle) == TEXT
    found = page_angle([_cell(text, x, y, angle) for text, x, y in PAGE])
    assert math.remainder(found - angle, 2 * math.pi) == pytest.approx(0, abs=1e-6)


@given(st.integers(0, 10_000))
def test_the_order_in_which_cells_come_does_not_matter(seed: int) -> None:
    assert _read(math.radians(3), seed) == TEXT


def test_a_slope_that_reaches_the_next_row_does_not_mix_rows() -> None:
    angle = math.radians(4)  # over 500 pixels 35 down, and rows are 40 apart
    assert _read(angle) == TEXT


def test_gaps_become_spaces() -> None:
    cells = [_cell("ab", 100, 100), _cell("cd", 140, 100), _cell("ef", 210, 100), _cell("gh", 400, 100)]
    assert [line.text for line in rows_of(cells, SIZE)] == ["ab cd  ef    gh"]


def test_a_row_has_the_box_around_its_cells_and_the_lowest_score() -> None:
    line = rows_of([_cell("left", 100, 100, score=0.7), _cell("right", 400, 104, score=0.95)], SIZE)[0]
    assert line.box_xyxy_px == (100, 100, 470, 128)
    assert line.score == 0.7


def test_boxes_stay_on_the_picture() -> None:
    line = rows_of([_cell("edge", -5, -3)], (15, 40))[0]
    assert line.box_xyxy_px == (0, 0, 40, 15)


def test_what_stands_above_each_other_is_two_rows_however_close() -> None:
    cells = [_cell("upper", 100, 100), _cell("lower", 100, 122)]
    assert [line.text for line in rows_of(cells, SIZE)] == ["upper", "lower"]


def test_nothing_is_nothing() -> None:
    assert rows_of([], SIZE) == ()


@given(st.lists(st.tuples(st.integers(-50, 2050), st.integers(-50, 2050), st.floats(-math.pi, math.pi)), max_size=12))
def test_any_cells_make_rows_that_hold_each_once(places: list[tuple[int, int, float]]) -> None:
    cells = [_cell(f"c{at}", x, y, angle) for at, (x, y, angle) in enumerate(places)]
    lines = rows_of(cells, SIZE)
    assert sorted(word for line in lines for word in line.text.split()) == sorted(cell.text for cell in cells)
