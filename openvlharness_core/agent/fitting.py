"""What comes before every request: the picture limit, the counting, and the fitting to the context."""

from __future__ import annotations

import attrs

from openvlharness_core.agent.compaction import DoesNotFit, fit_pictures, fit_tokens
from openvlharness_core.agent.conversation import Turn, TurnTokens, pictures_in
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.state import Phase, StopError, TurnState, stopped, uncounted
from openvlharness_core.agent.steps import CompactionStep
from openvlharness_core.errors import TurnOrderError


def before_request(state: TurnState, policy: TurnPolicy) -> TurnState:
    """Keep to the picture limit, then count if the policy counts, then ask."""
    turns = fit_pictures(state.turns, pictures_in(state.opening), policy.max_pictures, policy.prompts)
    state = with_turns(state, turns, "pictures")
    return attrs.evolve(state, phase=Phase.COUNTING if policy.counts else Phase.AWAITING_MODEL)


def with_turns(state: TurnState, turns: tuple[Turn, ...], reason: str) -> TurnState:
    """The state with compacted turns, and a step that says so if any changed its form or lost its update."""
    if all(now is before for now, before in zip(turns, state.turns, strict=True)):
        return state
    forms = tuple(turn.form.name.lower() for turn in turns)
    step = CompactionStep(iteration=state.iteration, reason=reason, forms=forms)
    return attrs.evolve(state, turns=turns, steps=(*state.steps, step))


def with_counts(state: TurnState, counts: tuple[int, ...]) -> TurnState:
    """The state with the answer to `count_effect`: what was new has its numbers now.

    Raises:
        TurnOrderError: not one number a segment and one more.
    """
    fresh = uncounted(state)
    opening = state.fixed_tokens is None
    if len(counts) != opening + 4 * len(fresh) + 1:
        raise TurnOrderError(f"expected {opening + 4 * len(fresh) + 1} counts, got {len(counts)}")
    fixed = (counts[0] + counts[-1]) if opening else state.fixed_tokens
    numbers = iter(counts[opening:-1])
    counted = tuple(
        attrs.evolve(turn, tokens=TurnTokens(whole=w, pictures_as_lines=p, one_line=o, update=u))
        for turn, w, p, o, u in zip(fresh, numbers, numbers, numbers, numbers, strict=False)
    )
    return attrs.evolve(state, fixed_tokens=fixed, turns=(*state.turns[: len(state.turns) - len(fresh)], *counted))


def fit_to_context(state: TurnState, policy: TurnPolicy) -> TurnState:
    """Shorten the history until prompt and reserved output fit, then ask; stop if they cannot."""
    assert policy.max_context_length is not None
    assert state.fixed_tokens is not None
    budget = policy.max_context_length - policy.reserved_output_tokens
    try:
        turns = fit_tokens(state.turns, state.fixed_tokens, budget, policy.prompts)
    except DoesNotFit as error:
        return stopped(state, "context_exceeded", StopError(code="context_exceeded", message=str(error)))
    return attrs.evolve(with_turns(state, turns, "tokens"), phase=Phase.AWAITING_MODEL)
