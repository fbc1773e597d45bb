"""Fitting the history into a budget of tokens, or of pictures.

When prompt and reserved output would pass the context, turns take shorter forms until the prompt is down to three
quarters of the budget, so that the prefix a provider has cached breaks seldom. Oldest turns go first: their pictures
become lines; then evidence becomes one line a call; then whole turns leave. The opening, the newest update and the
newest turn stay word for word. Calls and their results always go together, since a turn holds both.
"""

from __future__ import annotations

from collections.abc import Iterator

from openvlharness_core.agent.conversation import Form, Turn, newest_update
from openvlharness_core.prompts import PromptBundle

ROOM = 0.75
"""Part of the budget that is left filled after a compaction."""


class DoesNotFit(Exception):
    """Not even the shortest history fits the budget."""


def fit_tokens(turns: tuple[Turn, ...], fixed: int, budget: int, prompts: PromptBundle) -> tuple[Turn, ...]:
    """Shorten counted turns until they fit.

    Args:
        turns: all of them counted.
        fixed: tokens of the opening, the tools and the framing.
        budget: tokens that prompt may take.
        prompts: for the texts of shorter forms.

    Raises:
        DoesNotFit: the opening, the newest update and the newest turn alone are over the budget.
    """
    if fixed + sum(_sent(turn) for turn in turns) <= budget:
        return turns
    newest = newest_update(turns)
    # Updates that an earlier compaction left, and that are no longer the newest, leave before anything else.
    total = fixed + sum(_cost(turn, turn.form, position == newest) for position, turn in enumerate(turns))
    target = int(budget * ROOM)
    forms = [turn.form for turn in turns]
    for position, form in _shortenings(len(turns)):
        if total <= target:
            break
        if form > forms[position]:
            is_newest = position == newest
            total += _cost(turns[position], form, is_newest) - _cost(turns[position], forms[position], is_newest)
            forms[position] = form
    if total > budget:
        raise DoesNotFit(f"{total} tokens of prompt where {budget} fit")
    return tuple(
        turn.compacted(form, prompts, carries_newest_update=position == newest)
        for position, (turn, form) in enumerate(zip(turns, forms, strict=True))
    )


def _shortenings(count: int) -> Iterator[tuple[int, Form]]:
    """Every step in order; the newest turn is never shortened."""
    for form in (Form.PICTURES_AS_LINES, Form.ONE_LINE, Form.GONE):
        for position in range(count - 1):
            yield position, form


def _sent(turn: Turn) -> int:
    """Tokens of a turn as it stands."""
    assert turn.tokens is not None, "counted before it is fitted"
    return turn.tokens.of(turn.form) + (0 if turn.update_gone else turn.tokens.update)


def _cost(turn: Turn, form: Form, carries_newest_update: bool) -> int:
    """Tokens of a turn once it is compacted to `form`."""
    assert turn.tokens is not None, "counted before it is fitted"
    stays = not turn.update_gone and (carries_newest_update or form is Form.WHOLE)
    return turn.tokens.of(form) + (turn.tokens.update if stays else 0)


def fit_pictures(
    turns: tuple[Turn, ...], in_opening: int, limit: int | None, prompts: PromptBundle
) -> tuple[Turn, ...]:
    """Let pictures leave by whole turns, oldest first, until one request carries at most `limit`.

    The opening has been kept to the limit already. Where it fills the limit by itself, the newest turn's pictures
    become lines as well: a request that the provider refuses would help nobody.
    """
    if limit is None:
        return turns
    total = in_opening + sum(turn.pictures for turn in turns)
    fitted = list(turns)
    newest = newest_update(turns)
    for position, turn in enumerate(turns):
        if total <= limit:
            break
        if turn.pictures:
            total -= turn.pictures
            fitted[position] = turn.compacted(Form.PICTURES_AS_LINES, prompts, carries_newest_update=position == newest)
    return tuple(fitted)


def fallback(turns: tuple[Turn, ...], prompts: PromptBundle) -> tuple[Turn, ...]:
    """Without counts: every turn but the newest in its one-line form."""
    newest = newest_update(turns)
    return (
        *(
            turn.compacted(Form.ONE_LINE, prompts, carries_newest_update=position == newest)
            for position, turn in enumerate(turns[:-1])
        ),
        *turns[-1:],
    )
