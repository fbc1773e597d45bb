from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.imaging.round_numbers import in_words, round_length


@given(st.floats(1e-300, 1e300))
def test_lengths_are_round_and_as_large_as_may_be(most: float) -> None:
    length = round_length(most)
    assert length <= most
    assert most / length < 2.5 * (1 + 1e-9)
    assert f"{length:.9e}".split("e")[0].rstrip("0").rstrip(".") in ("1", "2", "5")


@pytest.mark.parametrize(
    ("value", "resolution", "words"),
    [
        (0, None, "0"),
        (3.2, None, "3.2"),
        (0.123456, None, "0.123"),
        (9.999, None, "10"),
        (5e-7, None, "5e-7"),
        (2e30, None, "2e30"),
        (100, None, "100"),
        (1.0, 0.2, "1.0"),
        (2.0004, 0.0001, "2.0004"),
        (1234.5, 20, "1234"),
        (2.5e38, 1e37, "2.5e38"),
    ],
)
def test_values_in_words(value: float, resolution: float | None, words: str) -> None:
    assert in_words(value, resolution) == words


@given(st.floats(1e-30, 1e38), st.floats(1e-6, 1.0))
def test_words_are_as_fine_as_the_resolution(value: float, share: float) -> None:
    resolution = value * share
    assert math.isclose(float(in_words(value, resolution)), value, abs_tol=resolution)
