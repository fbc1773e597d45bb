"""What a reply cost: the numbers of a provider's `usage` object, flat, and who spent them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from openvlharness_core.jsonable import nested_too_deeply

Usage = Mapping[str, float]
"""Numeric fields by dotted key, such as `prompt_tokens` or `prompt_tokens_details.cached_tokens`."""


@attrs.frozen(kw_only=True)
class Spent:
    """One reply's usage under the role that asked for it.

    Attributes:
        role: `orchestrator`, `coding`, `auxiliary`, `judge`, `search` for credits, or a tool's own word.
        model: the model that was asked, if known.
        usage: the flat usage.
    """

    role: str
    model: str | None = None
    usage: Usage = attrs.field(factory=dict, hash=False)


SEARCH_ROLE = "search"
_CREDITS = "search_credits"


def search_credits(number: float) -> Spent:
    """Credits of a search service, which are no tokens: reports count them with the tool that spent them."""
    return Spent(role=SEARCH_ROLE, usage={_CREDITS: number})


def credits_in(spent: Spent) -> float | None:
    """The credits of what `search_credits` made; `None` for tokens."""
    return spent.usage.get(_CREDITS, 0) if spent.role == SEARCH_ROLE else None


_LARGEST = 1e300
"""Anything that is counted is smaller, and sums of such numbers stay finite."""


def flat_usage(usage: object) -> dict[str, float]:
    """Every finite number of a usage object, nested ones by dotted key; anything else is left out."""
    return {} if nested_too_deeply(usage) else _flat(usage, "")


def _flat(usage: object, prefix: str) -> dict[str, float]:
    flat: dict[str, float] = {}
    if not isinstance(usage, Mapping):
        return flat
    for key, value in usage.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{name}."))
        elif isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST < value < _LARGEST:
            flat[name] = value
    return flat


def summed(usages: Iterable[Usage]) -> dict[str, float]:
    """Key by key sum."""
    total: dict[str, float] = {}
    for usage in usages:
        for key, value in usage.items():
            total[key] = total.get(key, 0) + value
    return total
