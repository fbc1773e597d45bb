"""What can be recorded, and what a model wrote, read strictly."""

from __future__ import annotations

import json

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.jsonable import DEEPEST, json_ready, nested_too_deeply, read_json


def nested(levels: int) -> object:
    value: object = 1
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    return value


def test_plain_values_come_back_as_they_are() -> None:
    value = {"a": [1, 2.5, None, True, "x", {"b": []}], "": 10**50}
    assert json_ready(value, "data") == value


def test_numbers_of_numpy_that_pass_for_floats_become_floats() -> None:
    (number,) = json_ready([np.float64(0.5)], "data")
    assert type(number) is float


def test_tuples_become_lists_and_half_characters_are_replaced() -> None:
    assert json_ready({"\ud83d": ("\udc00 😀",)}, "data") == {"\ufffd": ["\ufffd 😀"]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": [0, {"b": float("nan")}]}, r"data.a\[1\].b: expected a finite number, got nan"),
        ([float("-inf")], r"data\[0\]: expected a finite number"),
        ({"a": b"x"}, "data.a: expected text, number, list, object or null, got bytes"),
        ({"a": {1: 2}}, "data.a: expected text keys, got int"),
        ({1, 2}, "data: expected text, number, list, object or null, got set"),
        (np.zeros(2), "data: expected .* got ndarray"),
        ([np.int64(3)], r"data\[0\]: expected .* got int64"),
        (nested(DEEPEST + 1), f"data: expected at most {DEEPEST} levels"),
        (nested(100_000), f"data: expected at most {DEEPEST} levels"),
    ],
)
def test_anything_else_is_refused_by_place(value: object, said: str) -> None:
    with pytest.raises(MalformedResultError, match=said):
        json_ready(value, "data")


def test_a_value_that_holds_itself_is_refused() -> None:
    rows: list[object] = [1]
    rows += [rows, rows]
    with pytest.raises(MalformedResultError, match="levels"):
        json_ready({"a": rows}, "data")


@pytest.mark.parametrize(("levels", "too_many"), [(0, False), (1, False), (DEEPEST, False), (DEEPEST + 1, True)])
def test_levels_are_counted(levels: int, too_many: bool) -> None:
    assert nested_too_deeply(nested(levels)) is too_many


@hypothesis.given(st.text(st.characters() | st.sampled_from('{}[]",:0123456789.eE-+ NaInfity\\ud8')))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value = read_json(text)
    except ValueError:
        return
    json.dumps(value, allow_nan=False)
