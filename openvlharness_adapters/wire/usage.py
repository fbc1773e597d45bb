"""What a call cost, inside `meta`: replies of models under `usage`, searches as one number under `search_credits`."""

from __future__ import annotations

from collections.abc import Mapping

from openvlharness_core.texts import clean_text
from openvlharness_core.usage import Spent, flat_usage

CREDITS = "search_credits"
SEARCH_ROLE = "search"


def usage_to_wire(usage: tuple[Spent, ...]) -> dict[str, object]:
    """`usage` (a list of role, model and numbers) and `search_credits`, each only where there is something to tell."""
    wire: dict[str, object] = {}
    replies = [each for each in usage if each.role != SEARCH_ROLE]
    searches = [each.usage.get(CREDITS, 0) for each in usage if each.role == SEARCH_ROLE]
    if replies:
        wire["usage"] = [
            {"role": clean_text(each.role), "model": each.model and clean_text(each.model), "usage": dict(each.usage)}
            for each in replies
        ]
    if searches:
        wire[CREDITS] = sum(searches)
    return wire


def usage_from_wire(meta: Mapping[str, object]) -> tuple[Spent, ...]:
    """What `meta` tells, as far as it can be added up: an answer is not lost for a number that nobody can read."""
    spent = []
    replies = meta.get("usage")
    for each in replies if isinstance(replies, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("role"), str):
            model = each.get("model")
            usage = flat_usage(each.get("usage"))
            spent.append(Spent(role=each["role"], model=model if isinstance(model, str) else None, usage=usage))
    searches = flat_usage({CREDITS: meta.get(CREDITS)})
    if searches:
        spent.append(Spent(role=SEARCH_ROLE, usage=searches))
    return tuple(spent)
