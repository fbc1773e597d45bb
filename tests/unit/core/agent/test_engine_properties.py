"""Whatever happens, in whatever order it may happen: the question ends, and every request may be sent."""

from __future__ import annotations

from enum import Enum

import hypothesis
import pytest
from hypothesis import strategies as st

from openvlharness_core.agent.conversation import Form
from openvlharness_core.agent.engine import advance
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.protocol import (
    CallFinished,
    Cancelled,
    DeadlinePassed,
    Event,
    ModelFailed,
    ModelReplied,
    RunCall,
    Started,
    TokensCounted,
)
from openvlharness_core.agent.report import ModelName, report_of
from openvlharness_core.agent.state import Phase, TurnState, effect_of
from openvlharness_core.agent.steps import CompactionStep, ModelStep, ToolStep
from openvlharness_core.calls import CapabilityResult
from openvlharness_core.errors import TurnOrderError
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import AssistantMessage, ModelReply, UserMessage, VirtualCall
from openvlharness_core.question import Intake
from tests.unit.core.kit import Talk, breaches, rules

policies = st.builds(
    rules,
    max_iterations=st.integers(1, 5),
    final_answer=st.sampled_from(["answer_tag", "answer_tag_or_text"]),
    extra_final_request=st.booleans(),
    continue_empty_answer=st.booleans(),
    append_final_message=st.booleans(),
    context_error_fallback=st.booleans(),
    count_tokens=st.booleans(),
    max_context_length=st.sampled_from([None, 4500, 4800, 6000]),
    max_pictures=st.sampled_from([None, 1, 3]),
    emit_policy=st.sampled_from(["always", "on_change"]),
    paired_sampling_seed=st.booleans(),
)
raw_arguments = st.sampled_from(
    ['{"image_id": "input_image_1"}', "{}", "", "{", "null", '{"image_id": 3}', '{"a": "\\ud83d"}', "[" * 2000, "1e999"]
)
calls = st.builds(
    VirtualCall,
    id=st.sampled_from(["", " ", "a", "a", "call_1_1", "\ud83d", "b"]),
    tool=st.sampled_from(["Look_Tool", "Rest_Tool", "Look_Tool", "", "no such tool", "\ud83d" * 80]),
    arguments=raw_arguments,
    truncated=st.sampled_from([False, False, False, True]),
)
texts = st.sampled_from(
    [None, "", " ", "hm", "\ud83d", "<think>x", "<tool_call>{", "<answer></answer>", "<answer>4</answer>"]
)
replies = st.builds(
    ModelReply,
    text=texts,
    calls=st.one_of(st.just(()), st.tuples(calls), st.tuples(calls), st.lists(calls, max_size=3).map(tuple)),
    reasoning=texts,
    extras=st.sampled_from(["{}", '{"x": 1}']),
)


class Luck(Enum):
    """What becomes of a call that runs."""

    NOTHING, PICTURES, FAILURE, CANCELLED, LATE = range(5)


@hypothesis.settings(max_examples=150)
@hypothesis.given(policy=policies, data=st.data())
def test_any_question_ends_and_every_request_may_be_sent(policy: TurnPolicy, data: st.DataObject) -> None:
    talk = Talk(policy).start(task_id=data.draw(st.sampled_from([None, "t"])))
    forms: list[Form] = []
    for _ in range(
        3 * (policy.max_iterations + 1)
    ):  # a context error, a reply and a call for each request, and no more
        if talk.ended:
            break
        _one_event(talk, data)
        now = [turn.form for turn in talk.state.turns]
        assert all(before <= after for before, after in zip(forms, now, strict=False)), "a shorter form stays"
        forms = now
    assert talk.ended
    _check_requests(talk)
    _check_record(talk)


def _one_event(talk: Talk, data: st.DataObject) -> None:
    if isinstance(talk.effect, RunCall):
        match data.draw(st.sampled_from([*Luck, Luck.PICTURES])):
            case Luck.NOTHING:
                talk.finds()
            case Luck.PICTURES:
                talk.finds(
                    *(f"{len(talk.requests)}{n}" for n in range(data.draw(st.integers(1, 3)))), text="evidence " * 40
                )
            case Luck.FAILURE:
                talk.fails()
            case Luck.CANCELLED:
                talk.tell(Cancelled())
            case Luck.LATE:
                talk.tell(DeadlinePassed())
    elif data.draw(st.integers(0, 9)) == 0:
        event = data.draw(st.sampled_from(["context", "error", "cancel", "deadline"]))
        match event:
            case "context":
                talk.model_fails(context=True)
            case "error":
                talk.model_fails()
            case "cancel":
                talk.tell(Cancelled())
            case "deadline":
                talk.tell(DeadlinePassed())
    else:
        talk.hear(data.draw(replies))


def _check_requests(talk: Talk) -> None:
    compacted = {step.iteration for step in talk.state.steps if isinstance(step, CompactionStep)}
    for request in talk.requests:
        assert breaches(request.messages) == []
        assert 1 <= request.iteration <= talk.policy.max_iterations + 1
        assert (request.tools == ()) == (request.iteration > talk.policy.max_iterations)
    for before, now in zip(talk.requests, talk.requests[1:], strict=False):
        if now.iteration not in compacted:
            assert now.messages[: len(before.messages)] == before.messages
            assert all(new is old for new, old in zip(now.messages, before.messages, strict=False))
        assert now.iteration - before.iteration == (now.messages[-1] is not before.messages[-1])


def _check_record(talk: Talk) -> None:
    state = talk.state
    assert state.stop_reason is not None
    assert (state.answer is not None) == (state.stop_reason == "answered") == (state.error is None)
    said = [call.id for step in state.steps if isinstance(step, ModelStep) for call in step.calls]
    done = [step.call_id for step in state.steps if isinstance(step, ToolStep)]
    assert len(set(said)) == len(said)
    assert said == done, "every call has one outcome, in order"
    record = report_of(state, ModelName(), 0.0).to_dict()
    assert record["stop_reason"] == state.stop_reason
    assert len(record["steps"]) == len(state.steps)


def _events() -> list[Event]:
    return [
        Started(intake=Intake(parts=("What?",))),
        TokensCounted(counts=(1, 1)),
        ModelReplied(reply=ModelReply(text="4")),
        ModelFailed(code="x", message="y"),
        CallFinished(result=CapabilityResult.failed("cancelled", "x"), workspace=Workspace()),
        Cancelled(),
        DeadlinePassed(),
    ]


COUNTING = rules(count_tokens=True, max_context_length=9000)


def _state(phase: Phase) -> TurnState:
    match phase:
        case Phase.NEW:
            return TurnState()
        case Phase.COUNTING:
            return advance(TurnState(), _events()[0], COUNTING)[0]
        case Phase.AWAITING_MODEL:
            return Talk().start().state
        case Phase.AWAITING_TOOL:
            return Talk().start().calls().state
        case Phase.DONE:
            return Talk().start().says("4").state


_LEGAL: dict[Phase, set[type[Event]]] = {
    Phase.NEW: {Started},
    Phase.COUNTING: {TokensCounted, Cancelled, DeadlinePassed},
    Phase.AWAITING_MODEL: {ModelReplied, ModelFailed, Cancelled, DeadlinePassed},
    Phase.AWAITING_TOOL: {CallFinished, Cancelled, DeadlinePassed},
    Phase.DONE: set(),
}


@pytest.mark.parametrize("event", _events(), ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("phase", list(Phase), ids=lambda phase: phase.name)
def test_an_event_occurs_only_where_it_can(phase: Phase, event: Event) -> None:
    state = _state(phase)
    assert state.phase is phase
    if type(event) in _LEGAL[phase]:
        after, effect = advance(state, event, COUNTING)
        assert effect_of(after, COUNTING) == effect
    else:
        with pytest.raises(TurnOrderError, match=f"{type(event).__name__} cannot occur in phase {phase.name}"):
            advance(state, event, COUNTING)


def test_nothing_is_to_be_done_before_the_start() -> None:
    with pytest.raises(TurnOrderError):
        effect_of(TurnState(), rules())


@pytest.mark.parametrize("phase", [Phase.AWAITING_MODEL, Phase.AWAITING_TOOL, Phase.DONE], ids=lambda phase: phase.name)
def test_folding_changes_nothing_of_the_state_before(phase: Phase) -> None:
    state = _state(phase)
    copy = (state.steps, state.turns, state.workspace, state.phase)
    for event in _events():
        if type(event) in _LEGAL[phase]:
            assert advance(state, event, rules()) == advance(state, event, rules()), "the same again"
    assert copy == (state.steps, state.turns, state.workspace, state.phase)


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ((UserMessage.of_text("x"),), "the system prompt does not come first"),
        ((AssistantMessage(text=" "),), "an empty message"),
        ((AssistantMessage(calls=(VirtualCall(id="a", tool="T", arguments="{}"),)),), "1 calls have no result"),
        ((AssistantMessage(calls=(VirtualCall(id="a", tool="a b", arguments="["),)),), "the arguments"),
        ((UserMessage.of_text("\ud83d"),), "a lone surrogate"),
    ],
)
def test_the_validator_of_these_tests_sees_faults(
    messages: tuple[AssistantMessage | UserMessage, ...], fault: str
) -> None:
    assert any(fault in each for each in breaches(messages))
