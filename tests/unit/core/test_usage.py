"""Numbers of a provider's usage object, flat and added up."""

from __future__ import annotations

import pytest

from openvlharness_core.usage import flat_usage, summed


@pytest.mark.parametrize(
    ("usage", "flat"),
    [
        (None, {}),
        ([1], {}),
        ({}, {}),
        (
            {"prompt_tokens": 3, "details": {"cached_tokens": 1, "more": {"x": 0.5}}},
            {"prompt_tokens": 3, "details.cached_tokens": 1, "details.more.x": 0.5},
        ),
        ({"a": None, "b": "3", "c": True, "d": [1], "e": {}}, {}),
        ({"a": float("nan"), "b": float("inf"), "c": 10**400, "d": 1e308, "e": -2}, {"e": -2}),
    ],
)
def test_every_finite_number_is_kept_by_its_dotted_key(usage: object, flat: dict[str, float]) -> None:
    assert flat_usage(usage) == flat


def test_an_endless_usage_object_is_left_out() -> None:
    endless: dict[str, object] = {"tokens": 1}
    endless["again"] = endless
    assert flat_usage(endless) == {}


def test_sums_go_key_by_key() -> None:
    assert summed([{"a": 1, "b": 2.5}, {}, {"a": 2}]) == {"a": 3, "b": 2.5}
