"""The rules of a question: `advance(state, event, policy)` says what happens next, and performs nothing.

A question is a loop of requests and replies. A reply without a call is an answer, or an empty one. A reply with one
call has it checked and run; with several, none runs and each is told so. Every reply becomes an assistant message and
every call gets its answer before the next request goes out, so no request ever holds an unpaired call.

``fold`` is the state machine, one case a rule; the effect follows from the state (`state.effect_of`).
"""

from __future__ import annotations

import attrs

from openvlharness_core.agent.answers import final_answer, tagged_answer
from openvlharness_core.agent.compaction import fallback
from openvlharness_core.agent.conversation import Turn
from openvlharness_core.agent.fitting import before_request, fit_to_context, with_counts, with_turns
from openvlharness_core.agent.opening import opening_messages, registered_inputs
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.protocol import (
    CallFinished,
    Cancelled,
    CheckedCall,
    DeadlinePassed,
    Effect,
    Event,
    ModelFailed,
    ModelReplied,
    Started,
    TokensCounted,
)
from openvlharness_core.agent.state import Phase, Stage, StopError, StopReason, TurnState, effect_of, stopped
from openvlharness_core.agent.steps import EnvironmentUpdateStep, ModelStep, Step, ToolStep
from openvlharness_core.agent.turns import MendedCall, mend_reply
from openvlharness_core.calls import CallFailure, CapabilityResult
from openvlharness_core.capabilities.arguments import check_arguments
from openvlharness_core.errors import FailureCode, ToolFailure, TurnOrderError
from openvlharness_core.memory.inventory import announced, environment_update
from openvlharness_core.messages import ImagePart, ToolMessage, UserMessage
from openvlharness_core.texts import clean_text, excerpt

_LINE_LIMIT = 240
"""Characters that are left of an old error."""


def advance(state: TurnState, event: Event, policy: TurnPolicy) -> tuple[TurnState, Effect]:
    """Say what happens next.

    Raises:
        TurnOrderError: `event` cannot occur in `state.phase`.
    """
    after = fold(state, event, policy)
    return after, effect_of(after, policy)


def fold(state: TurnState, event: Event, policy: TurnPolicy) -> TurnState:
    """The state after `event`.

    Raises:
        TurnOrderError: `event` cannot occur in `state.phase`.
    """
    match state.phase, event:
        case Phase.NEW, Started():
            return _start(state, event, policy)
        case Phase.COUNTING, TokensCounted(counts=counts):
            return fit_to_context(with_counts(state, counts), policy)
        case Phase.AWAITING_MODEL, ModelReplied():
            return _hear(state, event, policy)
        case Phase.AWAITING_MODEL, ModelFailed():
            return _model_failed(state, event, policy)
        case Phase.AWAITING_TOOL, CallFinished():
            return _call_finished(state, event, policy)
        case ((Phase.COUNTING | Phase.AWAITING_MODEL | Phase.AWAITING_TOOL), (Cancelled() | DeadlinePassed())):
            return _interrupted(state, event)
    raise TurnOrderError(f"{type(event).__name__} cannot occur in phase {state.phase.name}")


# --- the opening -------------------------------------------------------------------------------------------------


def _start(state: TurnState, event: Started, policy: TurnPolicy) -> TurnState:
    workspace = registered_inputs(event.intake, attrs.evolve(event.workspace, modules=policy.modules))
    opening, update = opening_messages(event.intake, workspace, policy)
    if policy.max_iterations == 1:  # the first request is the last
        opening = (*opening, UserMessage.of_text(policy.prompts.text("final_instruction")))
    started = attrs.evolve(
        state,
        intake=event.intake,
        workspace=workspace,
        opening=opening,
        announced=announced(workspace),
        steps=() if update is None else (EnvironmentUpdateStep(text=update),),
        requests=1,
        stage=Stage.LAST if policy.max_iterations == 1 else Stage.REGULAR,
    )
    return before_request(started, policy)


# --- a reply -----------------------------------------------------------------------------------------------------


def _hear(state: TurnState, event: ModelReplied, policy: TurnPolicy) -> TurnState:
    reply = event.reply
    mended = mend_reply(reply, state.call_ids, state.iteration, policy.prompts.text("empty_reply"))
    step = ModelStep(
        iteration=state.iteration,
        text=None if reply.text is None else clean_text(reply.text),
        reasoning=None if reply.reasoning is None else clean_text(reply.reasoning),
        calls=tuple(call.call for call in mended.calls),
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        seconds=event.seconds,
    )
    state = attrs.evolve(
        state, steps=(*state.steps, step), seconds=state.seconds + event.seconds, reply=mended, retried=False
    )
    match state.stage, len(mended.calls):
        case Stage.EXTRA, _:
            return _after_extra(state, step.text, policy)
        case _, 0:
            return _without_call(state, step.text, policy)
        case Stage.LAST, _:
            return _calls_in_last(state, step.text, policy)
        case _, 1:
            return _one_call(state, mended.calls[0], policy)
        case _, count:
            message = policy.prompts.text("one_call_per_turn", count=count)
            return _refuse(state, "one_call_per_turn", message, policy)


def _without_call(state: TurnState, text: str | None, policy: TurnPolicy) -> TurnState:
    answer = final_answer(text, policy.final_answer)
    if answer is not None:
        return _answered(state, answer, policy)
    if state.stage is Stage.LAST:
        return _budget_spent(state, policy)
    if policy.continue_empty_answer:
        return _next_request(state, policy, (), tail="nudge")
    return stopped(state, "no_answer", StopError(code="no_answer", message="the model ended without an answer"))


def _calls_in_last(state: TurnState, text: str | None, policy: TurnPolicy) -> TurnState:
    state_refused, results = _refusals(state, "budget_spent", policy.prompts.text("budget_spent"), policy)
    answer = tagged_answer(text)
    if answer is not None:
        return _answered(state_refused, answer, policy, results)
    return _budget_spent(state_refused, policy, results)


def _after_extra(state: TurnState, text: str | None, policy: TurnPolicy) -> TurnState:
    state, results = _refusals(state, "budget_spent", policy.prompts.text("budget_spent"), policy)
    answer = final_answer(text, policy.final_answer)
    if answer is not None:
        return _answered(state, answer, policy, results)
    return stopped(state, "budget_spent", _spent(policy))


def _budget_spent(state: TurnState, policy: TurnPolicy, results: tuple[ToolMessage, ...] = ()) -> TurnState:
    """The last counted request brought no answer: ask once more without tools if the policy does, else stop."""
    if policy.extra_final_request:
        return _next_request(state, policy, results, tail="extra_final_instruction", stage=Stage.EXTRA)
    return stopped(state, "budget_spent", _spent(policy))


def _spent(policy: TurnPolicy) -> StopError:
    return StopError(code="budget_spent", message=f"no answer within {policy.max_iterations} requests")


# --- calls -------------------------------------------------------------------------------------------------------


def _one_call(state: TurnState, call: MendedCall, policy: TurnPolicy) -> TurnState:
    """Check the only call of a reply; run it, or answer it with what is wrong."""
    spec = next((tool for tool in policy.tools if tool.name == call.call.tool), None)
    if spec is None:
        available = ", ".join(tool.name for tool in policy.tools) or "none"
        message = policy.prompts.text("unknown_tool", tool=excerpt(call.call.tool, 80), available=available)
        return _refuse(state, "unknown_tool", message, policy)
    if call.call.truncated:
        return _refuse(state, "arguments_truncated", policy.prompts.text("arguments_truncated"), policy)
    if call.arguments is None:
        return _refuse(state, "invalid_tool_arguments", call.fault or "expected one JSON object", policy)
    try:
        checked = check_arguments(spec.parameters, call.arguments)
    except ToolFailure as failure:
        return _refuse(state, failure.code, failure.message, policy)
    running = CheckedCall(id=call.call.id, tool=spec.name, arguments=checked.values, notes=checked.notes)
    return attrs.evolve(state, phase=Phase.AWAITING_TOOL, call=running)


def _refuse(state: TurnState, code: FailureCode, message: str, policy: TurnPolicy) -> TurnState:
    """Answer every call of the reply with the same failure and go on."""
    state, results = _refusals(state, code, message, policy)
    return _next_request(state, policy, results)


def _refusals(
    state: TurnState, code: FailureCode, message: str, policy: TurnPolicy
) -> tuple[TurnState, tuple[ToolMessage, ...]]:
    assert state.reply is not None
    steps: list[Step] = []
    results = []
    failed = CapabilityResult.failed(code, message)
    for call in state.reply.calls:
        arguments = call.arguments if call.arguments is not None else call.call.arguments
        steps.append(ToolStep(call_id=call.call.id, tool=call.call.tool, arguments=arguments, result=failed))
        results.append(_tool_message(call.replayed.id, call.replayed.tool, failed, policy))
    return attrs.evolve(state, steps=(*state.steps, *steps)), tuple(results)


def _tool_message(call_id: str, tool: str, result: CapabilityResult, policy: TurnPolicy) -> ToolMessage:
    if result.failure is not None:
        text = policy.prompts.text("failed_call", code=result.failure.code, message=result.failure.message)
        return ToolMessage(call_id=call_id, tool=tool, text=clean_text(text))
    return ToolMessage(
        call_id=call_id, tool=tool, text=policy.prompts.text("acknowledgement", tool=tool), parts=result.evidence
    )


def _call_finished(state: TurnState, event: CallFinished, policy: TurnPolicy) -> TurnState:
    call, result = state.call, event.result
    assert call is not None
    steps: list[Step] = [
        ToolStep(
            call_id=call.id,
            tool=call.tool,
            arguments=call.arguments,
            result=result,
            notes=call.notes,
            seconds=event.seconds,
        )
    ]
    now = announced(event.workspace)
    update = None
    if result.ok and (policy.emit_policy == "always" or now != state.announced):
        update = environment_update(event.workspace, policy.prompts, policy.webpage_env_update_limit)
        steps.append(EnvironmentUpdateStep(text=update))
    state = attrs.evolve(
        state,
        workspace=event.workspace,
        announced=now if update is not None else state.announced,
        steps=(*state.steps, *steps),
        seconds=state.seconds + event.seconds,
        call=None,
    )
    return _next_request(state, policy, (_tool_message(call.id, call.tool, result, policy),), update=update)


# --- the next request, or the end --------------------------------------------------------------------------------


def _next_request(
    state: TurnState,
    policy: TurnPolicy,
    results: tuple[ToolMessage, ...],
    *,
    update: str | None = None,
    tail: str | None = None,
    stage: Stage | None = None,
) -> TurnState:
    """Close the turn and stand before the next request; before the last one the final instruction replaces a nudge."""
    assert state.reply is not None
    requests = state.requests
    if stage is None:
        requests += 1
        stage = Stage.LAST if requests >= policy.max_iterations else Stage.REGULAR
        if stage is Stage.LAST:
            tail = "final_instruction"
    turn = Turn(
        assistant=state.reply.message,
        results=results,
        lines=tuple(_line(result, policy) for result in results),
        update=UserMessage.of_text(update) if update is not None else None,
        tail=UserMessage.of_text(policy.prompts.text(tail)) if tail is not None else None,
    )
    turns = (*state.turns, turn)
    return before_request(
        attrs.evolve(state, turns=turns, reply=None, call=None, requests=requests, stage=stage), policy
    )


def _line(result: ToolMessage, policy: TurnPolicy) -> str:
    """What is left of a result when its evidence has to go, or of an error, which may be long."""
    if not result.parts:
        return excerpt(result.text, _LINE_LIMIT)
    handles = [part.handle for part in result.parts if isinstance(part, ImagePart)]
    return policy.prompts.text("call_line", tool=result.tool, outcome=", ".join(handles) or "no picture")


def _answered(state: TurnState, answer: str, policy: TurnPolicy, results: tuple[ToolMessage, ...] = ()) -> TurnState:
    if policy.append_final_message and state.reply is not None:
        state = attrs.evolve(state, turns=(*state.turns, Turn(assistant=state.reply.message, results=results)))
    return attrs.evolve(stopped(state, "answered", None), answer=answer)


def _model_failed(state: TurnState, event: ModelFailed, policy: TurnPolicy) -> TurnState:
    state = attrs.evolve(state, seconds=state.seconds + event.seconds)
    error = StopError(code=event.code, message=clean_text(event.message))
    if not event.context:
        return stopped(state, "model_failed", error)
    if policy.context_error_fallback and not state.retried:
        shorter = with_turns(state, fallback(state.turns, policy.prompts), "context_error")
        if shorter is not state:
            return attrs.evolve(shorter, retried=True)
    return stopped(state, "context_exceeded", error)


def _interrupted(state: TurnState, event: Cancelled | DeadlinePassed) -> TurnState:
    """End at once; a call that was running is recorded as cancelled, so that none is left unpaired."""
    deadline = isinstance(event, DeadlinePassed)
    message = "the time for this question is over" if deadline else "the question was cancelled"
    if state.call is not None:
        failure = CallFailure(code="cancelled", message=message)
        step = ToolStep(
            call_id=state.call.id,
            tool=state.call.tool,
            arguments=state.call.arguments,
            result=CapabilityResult(failure=failure),
            notes=state.call.notes,
        )
        state = attrs.evolve(state, steps=(*state.steps, step))
    reason: StopReason = "deadline" if deadline else "cancelled"
    return stopped(state, reason, StopError(code=reason, message=message))
