"""What tokens cost, claimed only where everything that was used has a price.

A provider charges four kinds of tokens: what it read anew, what it read from its prompt cache, what it wrote into that
cache, and what the model wrote. Both protocols count the first three together and name the cached ones apart; what is
neither cached nor written is paid as `input`. No number is better than a wrong one: where usage is missing or
contradicts itself, or a kind that was used has no price, no money is claimed, and a sum with such a part is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from openvlharness_core.usage import Usage

Prices = Mapping[str, float]
"""Money per million tokens, by kind."""

KINDS = ("input", "cache_read", "cache_write", "output")

_PER_PRICE = 1_000_000
_SHAPES = (
    ("prompt_tokens", "prompt_tokens_details", "completion_tokens"),  # Chat Completions
    ("input_tokens", "input_tokens_details", "output_tokens"),  # Responses
)


def tokens_by_kind(usage: Usage) -> dict[str, float] | None:
    """Tokens of each of `KINDS` in the flat usage of one reply; `None` when it does not tell.

    A usage that is written in both shapes is read in the first. Output that is not mentioned is none, as in the usage
    of a request that only fills a cache.
    """
    for read, details, written in _SHAPES:
        if read not in usage:
            continue
        cache_read = usage.get(f"{details}.cached_tokens", 0)
        cache_write = usage.get(f"{details}.cache_write_tokens", 0)
        fresh = usage[read] - cache_read - cache_write
        tokens = dict(zip(KINDS, (fresh, cache_read, cache_write, usage.get(written, 0)), strict=True))
        return tokens if min(tokens.values()) >= 0 else None
    return None


def cost_of(usage: Usage, prices: Prices) -> float | None:
    """Money for one reply; `None` when nothing can be claimed."""
    tokens = tokens_by_kind(usage)
    if tokens is None:
        return None
    used = {kind: count for kind, count in tokens.items() if count}
    if not used.keys() <= prices.keys():
        return None
    return _finite(sum(count * prices[kind] for kind, count in used.items()) / _PER_PRICE)


def costs_of(usages: Iterable[Usage], prices: Prices | None) -> float | None:
    """Money for several replies of one model; `None` without prices, or where one of them cannot be told."""
    return None if prices is None else total_of(cost_of(usage, prices) for usage in usages)


def total_of(costs: Iterable[float | None]) -> float | None:
    """The sum; `None` if a part of it is not known."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return _finite(total)


def _finite(money: float) -> float | None:
    """A service may report any number of tokens; what they come to must still be one that JSON has."""
    return money if math.isfinite(money) else None
