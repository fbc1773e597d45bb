"""Fitting the history: the order of shortening, what stays word for word, counting once, and the picture limit."""

from __future__ import annotations

import attrs
import hypothesis
import pytest
from hypothesis import strategies as st

from openvlharness_core.agent.compaction import DoesNotFit, fallback, fit_pictures, fit_tokens
from openvlharness_core.agent.conversation import Form, Turn, TurnTokens, conversation, newest_update
from openvlharness_core.agent.engine import advance
from openvlharness_core.agent.fitting import with_turns
from openvlharness_core.agent.protocol import ModelReplied, Started, TokensCounted
from openvlharness_core.agent.state import Phase, TurnState, effect_of
from openvlharness_core.agent.steps import CompactionStep
from openvlharness_core.errors import TurnOrderError
from openvlharness_core.messages import (
    AssistantMessage,
    ImagePart,
    ModelReply,
    TextPart,
    ToolMessage,
    UserMessage,
    VirtualCall,
)
from openvlharness_core.question import Intake
from openvlharness_core.testing import WordCounter
from tests.unit.core.kit import PROMPTS, Talk, breaches, picture, rules, text_of


def turn(
    number: int, *, pictures: int = 1, words: int = 10, update: bool = True, tokens: TurnTokens | None = None
) -> Turn:
    """Turn `number` of some question: one call, evidence of so many words and pictures."""
    call = VirtualCall(id=f"c{number}", tool="Look_Tool", arguments="{}")
    shown = tuple(
        ImagePart(handle=f"tool_generated_image_{number}", image=picture(str(number)).sent) for _ in range(pictures)
    )
    result = ToolMessage(
        call_id=call.id,
        tool=call.tool,
        text="done",
        parts=(TextPart(text=f"evidence {number} " + "x " * words), *shown),
    )
    return Turn(
        assistant=AssistantMessage(calls=(call,)),
        results=(result,),
        lines=(f"line {number}",),
        update=UserMessage.of_text(f"update {number}") if update else None,
        tokens=tokens,
    )


def counted(number: int, whole: int = 100, lines: int = 40, line: int = 10, update: int = 5) -> Turn:
    return turn(number, tokens=TurnTokens(whole=whole, pictures_as_lines=lines, one_line=line, update=update))


def forms(turns: tuple[Turn, ...]) -> list[int]:
    return [int(each.form) for each in turns]


def compacted(turns: tuple[Turn, ...], form: Form, newest: int) -> tuple[Turn, ...]:
    """All of them in `form`; number `newest` carries the newest update."""
    return tuple(
        each.compacted(form, PROMPTS, carries_newest_update=number == newest) for number, each in enumerate(turns)
    )


def four() -> tuple[Turn, ...]:
    """Four turns of 105 tokens each, the update included; 420 in all beside the fixed part."""
    return tuple(counted(number) for number in range(1, 5))


def test_nothing_changes_while_it_fits() -> None:
    turns = four()
    assert fit_tokens(turns, 80, 500, PROMPTS) is turns


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (500, [0, 0, 0, 0]),  # 500 in all: 80 fixed and four times 105
        (499, [1, 1, 0, 0]),  # wanted 374; pictures as lines save 60, and the update 5
        (400, [2, 1, 1, 0]),  # wanted 300; three times lines make 305, so one line follows, which saves 30
        (300, [2, 2, 2, 0]),  # wanted 225, got 215
        (250, [3, 3, 3, 0]),  # wanted 187, got 185
    ],
)
def test_pictures_go_before_evidence_and_evidence_before_turns(budget: int, expected: list[int]) -> None:
    assert forms(fit_tokens(four(), 80, budget, PROMPTS)) == expected


def test_whole_turns_leave_last_and_the_newest_never() -> None:
    # everything gone but the newest: 80 + 105 = 185; 75 % of 250 is 187
    turns = fit_tokens(four(), 80, 250, PROMPTS)
    assert forms(turns) == [3, 3, 3, 0]
    assert conversation((), turns) == (turns[3].assistant, *turns[3].results, turns[3].update)


def test_compaction_goes_down_to_three_quarters_and_no_further() -> None:
    # one line each is 80 + 3 * 10 + 105 = 215; 75 % of 287 is 215
    assert forms(fit_tokens(four(), 80, 287, PROMPTS)) == [2, 2, 2, 0]
    assert forms(fit_tokens(four(), 80, 286, PROMPTS)) == [3, 2, 2, 0]


def test_over_three_quarters_is_fine_when_nothing_is_left_to_shorten() -> None:
    assert forms(fit_tokens(four(), 80, 185, PROMPTS)) == [3, 3, 3, 0]


def test_what_cannot_fit_is_said() -> None:
    with pytest.raises(DoesNotFit, match="185 tokens of prompt where 184 fit"):
        fit_tokens(four(), 80, 184, PROMPTS)


def test_a_form_never_returns() -> None:
    short = fit_tokens(four(), 80, 287, PROMPTS)
    assert fit_tokens(short, 80, 10_000, PROMPTS) == short
    assert short[0].in_form(Form.PICTURES_AS_LINES, PROMPTS) is short[0]
    assert fallback(fit_tokens(four(), 80, 250, PROMPTS), PROMPTS)[0].form is Form.GONE


def test_each_form_says_less() -> None:
    whole = turn(1, pictures=2)
    lined, one_line, gone = (whole.in_form(form, PROMPTS) for form in list(Form)[1:])
    assert lined.results == whole.results, "the turn itself keeps everything"
    assert text_of(lined.shown[1]).endswith(
        "picture line handle=tool_generated_image_1\npicture line handle=tool_generated_image_1"
    )
    assert one_line.shown == (whole.assistant, ToolMessage(call_id="c1", tool="Look_Tool", text="line 1"))
    assert gone.shown == ()
    assert (whole.pictures, lined.pictures) == (2, 0)


def test_the_newest_update_keeps_its_place() -> None:
    turns = (turn(1), turn(2), turn(3, update=False), turn(4, update=False))
    assert newest_update(turns) == 1
    gone = compacted(turns[:3], Form.GONE, newest=1)
    assert conversation((), (*gone, turns[3])) == (turns[1].update, turns[3].assistant, *turns[3].results)
    lined = compacted(turns[:3], Form.PICTURES_AS_LINES, newest=1)
    said = [text_of(message) for message in conversation((), (*lined, turns[3]))]
    assert "update 1" not in said
    assert said.index("update 2") == 4


def test_an_update_that_stayed_leaves_with_the_next_compaction_only() -> None:
    turns = (counted(1), counted(2), attrs.evolve(counted(3, update=0), update=None))
    once = fit_tokens(turns, 80, 250, PROMPTS)
    assert [each.update_gone for each in once] == [True, False, False]
    more = (*once, counted(4))
    assert conversation((), more)[: len(conversation((), once))] == conversation((), once), "a newer one breaks nothing"
    size = 80 + sum(each.tokens.of(each.form) for each in more if each.tokens) + 2 * 5
    assert fit_tokens(more, 80, size, PROMPTS) is more
    again = fit_tokens(more, 80, size - 1, PROMPTS)
    assert [each.update_gone for each in again] == [True, True, False, False]


def test_only_an_old_update_may_have_to_leave() -> None:
    """Three quarters are reached by that alone; it is a compaction all the same, and a step says so."""
    (lined,) = compacted((turn(1),), Form.ONE_LINE, newest=0)
    state = TurnState(turns=(lined, turn(2)))
    left = with_turns(state, fallback(state.turns, PROMPTS), "context_error")
    assert [text_of(m) for m in conversation((), left.turns) if isinstance(m, UserMessage)] == ["update 2"]
    assert [step.forms for step in left.steps if isinstance(step, CompactionStep)] == [("one_line", "whole")]
    assert with_turns(left, fallback(left.turns, PROMPTS), "context_error") is left


def test_an_old_update_in_a_whole_turn_stays() -> None:
    turns = (turn(1), turn(2))
    assert [text_of(m) for m in conversation((), turns) if isinstance(m, UserMessage)] == ["update 1", "update 2"]


def test_a_tail_leaves_only_with_its_turn() -> None:
    nudge = UserMessage.of_text("nudge")
    empty = Turn(assistant=AssistantMessage(text="hm"), tail=nudge)
    assert empty.in_form(Form.ONE_LINE, PROMPTS).messages() == (empty.assistant, nudge)
    assert empty.in_form(Form.GONE, PROMPTS).messages() == ()


def test_the_newest_turn_stays_verbatim_when_the_fallback_shortens() -> None:
    turns = tuple(turn(number) for number in (1, 2, 3))
    assert forms(fallback(turns, PROMPTS)) == [2, 2, 0]
    assert fallback((), PROMPTS) == ()


def test_pictures_leave_by_whole_turns_oldest_first() -> None:
    turns = (turn(1, pictures=2), turn(2, pictures=3), turn(3, pictures=1))
    assert forms(fit_pictures(turns, 1, 7, PROMPTS)) == [0, 0, 0]
    assert forms(fit_pictures(turns, 1, 6, PROMPTS)) == [1, 0, 0]
    assert forms(fit_pictures(turns, 1, 4, PROMPTS)) == [1, 1, 0]
    assert forms(fit_pictures(turns, 1, 1, PROMPTS)) == [1, 1, 1]
    assert fit_pictures(turns, 1, None, PROMPTS) is turns


COUNTING = {"count_tokens": True, "reserved_output_tokens": 100}


def _long_talk(limit: int, turns: int = 6) -> Talk:
    talk = Talk(rules(**COUNTING, max_context_length=limit)).start()
    for number in range(turns):
        if talk.ended:
            break
        talk.calls().finds(str(number), text="evidence " * 30)
    return talk


def test_every_request_fits_the_budget_and_pairs_its_calls() -> None:
    for limit in range(360, 1400, 40):
        talk = _long_talk(limit)
        for request in talk.requests:
            assert breaches(request.messages) == []
            segments, tools = WordCounter().count([request.messages], request.tools)
            assert segments + tools <= limit - 100
        if talk.ended:
            assert talk.state.stop_reason == "context_exceeded"


def test_what_must_stay_word_for_word_stays() -> None:
    talk = _long_talk(700)
    opening = talk.requests[0].messages
    newest = talk.state.turns[-1]
    assert any(isinstance(step, CompactionStep) for step in talk.state.steps)
    assert talk.messages[: len(opening)] == opening
    assert talk.messages[-3:] == (newest.assistant, *newest.results, newest.update)
    assert talk.state.workspace.images.resolve("tool_generated_image_1").picture == picture("0"), "handles stay usable"


def test_a_compaction_is_a_step_and_breaks_the_prefix_only_then() -> None:
    talk = _long_talk(900, turns=12)
    said = {step.iteration: step for step in talk.state.steps if isinstance(step, CompactionStep)}
    assert said
    assert all(step.reason == "tokens" for step in said.values())
    for before, now in zip(talk.requests, talk.requests[1:], strict=False):
        kept = now.messages[: len(before.messages)] == before.messages
        assert kept == (now.iteration not in said)
    assert len(said) < len(talk.requests) - 2, "down to three quarters, so that the prefix breaks seldom"


def test_nothing_is_counted_twice() -> None:
    talk = _long_talk(900, turns=12)
    # the opening once; of each turn its three forms and its update
    assert talk.counter.counted == 1 + 4 * len(talk.state.turns)


def test_what_cannot_fit_ends_the_question() -> None:
    talk = Talk(rules(**COUNTING, max_context_length=200)).start("word " * 150)
    assert (talk.requests, talk.state.stop_reason) == ([], "context_exceeded")
    grown = Talk(rules(**COUNTING, max_context_length=500)).start().calls().finds(text="evidence " * 500)
    assert (grown.state.stop_reason, grown.failures) == ("context_exceeded", [None])


def test_without_a_context_length_nothing_is_counted() -> None:
    assert Talk(rules(count_tokens=True, max_context_length=None)).start().counter.counted == 0


@pytest.mark.parametrize("counts", [(), (1,), (1, 2, 3)])
def test_another_number_of_counts_is_a_fault_of_the_driver(counts: tuple[int, ...]) -> None:
    policy = rules(**COUNTING, max_context_length=500)
    state, _ = advance(TurnState(), Started(intake=Intake(parts=("What?",))), policy)
    with pytest.raises(TurnOrderError, match="expected 2 counts"):
        advance(state, TokensCounted(counts=counts), policy)


def test_a_long_error_becomes_one_line() -> None:
    talk = Talk().start().calls().fails(message="it broke\n" * 500).calls().finds()
    line = text_of(Talk(talk.policy, state=talk.state, effect=talk.effect).model_fails(context=True).messages[4])
    assert "\n" not in line.rstrip("\n")
    assert len(line) < 300
    assert line.startswith("Error backend_unavailable: it broke")


def test_no_request_carries_more_pictures_than_the_limit() -> None:
    talk = Talk(rules(max_pictures=3)).start()
    for number in range(4):
        talk.calls().finds(f"{number}a", f"{number}b")
        shown = [line for message in talk.messages for line in text_of(message).splitlines() if line.startswith("<")]
        assert len(shown) <= 3
    assert "picture line handle=tool_generated_image_1" in "\n".join(map(text_of, talk.messages))
    assert [step.reason for step in talk.state.steps if isinstance(step, CompactionStep)] == ["pictures"] * 3


def test_of_forty_pictures_the_first_are_shown_and_the_rest_listed() -> None:
    talk = Talk(rules(max_pictures=3)).start("Which?", *(picture(str(number)) for number in range(40)))
    question = text_of(talk.messages[1])
    assert [line for line in question.splitlines() if line.startswith("<")] == [f"<input_image_{n}>" for n in (1, 2, 3)]
    listed = question.splitlines()[-1]
    assert listed == "images not shown handles=" + ", ".join(f"input_image_{n}" for n in range(4, 41))
    assert "input_image_40" in text_of(talk.messages[2])
    assert len(talk.state.workspace.images.records) == 40


@hypothesis.settings(max_examples=60)
@hypothesis.given(
    sizes=st.lists(st.tuples(*[st.integers(0, 200)] * 4), min_size=1, max_size=7),
    fixed=st.integers(0, 300),
    budget=st.integers(0, 1500),
)
def test_fitting_fits_or_says_that_it_cannot(sizes: list[tuple[int, ...]], fixed: int, budget: int) -> None:
    turns = []
    for number, (*words, update) in enumerate(sizes):
        line, lines, whole = sorted(words)
        turns.append(counted(number, whole, lines, line, update))
    newest = turns[-1].tokens
    assert newest is not None
    floor = fixed + newest.whole + newest.update
    try:
        fitted = fit_tokens(tuple(turns), fixed, budget, PROMPTS)
    except DoesNotFit:
        assert floor > budget
        return
    cost = fixed + sum(t.tokens.of(t.form) + t.tokens.update * (t.form is Form.WHOLE) for t in fitted if t.tokens)
    assert cost <= budget
    assert fitted[-1] is turns[-1]
    if any(forms(fitted)):
        reached = cost <= int(budget * 0.75)
        assert reached or forms(fitted)[:-1] == [3] * (len(turns) - 1)
        assert forms(fitted)[:-1] == sorted(forms(fitted)[:-1], reverse=True), "oldest first"


def test_a_state_that_waits_for_counts_asks_for_the_same_again() -> None:
    policy = rules(**COUNTING, max_context_length=500)
    state, effect = advance(TurnState(), Started(intake=Intake(parts=("What?",))), policy)
    assert state.phase is Phase.COUNTING
    assert effect_of(state, policy) == effect
    with pytest.raises(TurnOrderError):
        advance(state, ModelReplied(reply=ModelReply()), policy)
