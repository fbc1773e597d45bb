"""What tokens cost: both shapes of usage, four kinds of tokens, and no claim where something is missing."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_core.money import KINDS, cost_of, costs_of, tokens_by_kind, total_of
from openvlharness_core.usage import flat_usage

PRICES = {"input": 2.0, "cache_read": 0.5, "cache_write": 2.5, "output": 8.0}
CHAT = {
    "prompt_tokens": 1000,
    "completion_tokens": 100,
    "total_tokens": 1100,
    "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 90},
}
RESPONSES = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300},
    "output_tokens": 100,
    "output_tokens_details": {"reasoning_tokens": 90},
    "total_tokens": 1100,
}
# 100 fresh, 600 read, 300 written, 100 of output
COST = (100 * 2.0 + 600 * 0.5 + 300 * 2.5 + 100 * 8.0) / 1e6


@pytest.mark.parametrize("usage", [CHAT, RESPONSES, CHAT | RESPONSES], ids=["chat", "responses", "both at once"])
def test_input_pays_for_what_is_neither_cached_nor_written(usage: dict[str, object]) -> None:
    flat = flat_usage(usage)
    assert tokens_by_kind(flat) == {"input": 100, "cache_read": 600, "cache_write": 300, "output": 100}
    assert cost_of(flat, PRICES) == pytest.approx(COST, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_price_of_what_was_used_leaves_no_claim(kind: str) -> None:
    prices = {name: price for name, price in PRICES.items() if name != kind}
    assert cost_of(flat_usage(CHAT), prices) is None


def test_a_missing_price_of_what_was_not_used_does_not_matter() -> None:
    usage = {"prompt_tokens": 10.0, "completion_tokens": 5.0, "prompt_tokens_details.cached_tokens": 0}
    assert cost_of(usage, {"input": 1.0, "output": 2.0}) == 20 / 1e6
    assert cost_of({"prompt_tokens": 10}, {"input": 1.0}) == 10 / 1e6


def test_what_is_free_costs_nothing() -> None:
    assert cost_of(flat_usage(CHAT), dict.fromkeys(KINDS, 0.0)) == 0


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"total_tokens": 10},
        {"completion_tokens": 10},
        {"prompt_tokens": 10, "prompt_tokens_details.cached_tokens": 11},
        {"prompt_tokens": 10, "prompt_tokens_details.cached_tokens": 6, "prompt_tokens_details.cache_write_tokens": 5},
        {"prompt_tokens": -1},
        {"prompt_tokens": 1, "completion_tokens": -1},
        {"prompt_tokens": 1, "prompt_tokens_details.cached_tokens": -1},
        {"prompt_tokens": 1e300, "completion_tokens": 1},
    ],
)
def test_usage_that_does_not_tell_leaves_no_claim(usage: dict[str, float]) -> None:
    assert cost_of(usage, PRICES | {"input": 1e20}) is None


def test_one_reply_that_does_not_tell_leaves_no_claim_for_all() -> None:
    usage = {"prompt_tokens": 1_000_000}
    assert costs_of([usage, usage], PRICES) == 4.0
    assert costs_of([usage, {}], PRICES) is None
    assert costs_of([], PRICES) == 0
    assert costs_of([], None) is None
    assert total_of([1.5, 2.0]) == 3.5
    assert total_of([1.5, None]) is None
    assert total_of([1e308, 1e308]) is None


_COUNTS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**300), 10**300)
_USAGES = st.dictionaries(
    st.sampled_from(
        [
            *("prompt_tokens", "completion_tokens", "prompt_tokens_details.cached_tokens"),
            *("prompt_tokens_details.cache_write_tokens", "input_tokens", "output_tokens"),
        ]
    ),
    _COUNTS,
)


@given(_USAGES, st.dictionaries(st.sampled_from(KINDS), st.floats(0, 1e300)))
def test_any_usage_costs_a_finite_amount_or_none_is_told(usage: dict[str, float], prices: dict[str, float]) -> None:
    cost = cost_of(flat_usage(usage), prices)
    assert cost is None or (math.isfinite(cost) and cost >= 0)
    assert json.loads(json.dumps(cost)) == cost
