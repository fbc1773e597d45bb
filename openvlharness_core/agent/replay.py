"""Replaying a recorded question through today's engine and today's capabilities.

The report says what the model and the backends answered. Everything else is made again: pictures are shrunk for
sending, calls checked, artifacts registered and named, evidence and inventories written, history compacted, the answer
found. Where any of that differs from what was recorded, the place in the report is named; and the requests that would
be sent today come with it.

Failures that the engine makes by itself (an unknown tool, arguments that do not fit, several calls at once, a spent
budget) come out of it again; a failure of a tool is taken from the report.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from openvlharness_core.agent.comparing import NOTHING, Difference, differences, step_differences, turns_of
from openvlharness_core.agent.engine import fold
from openvlharness_core.agent.performed import successful_result
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.protocol import (
    AskModel,
    CallFinished,
    Cancelled,
    CheckedCall,
    CountTokens,
    DeadlinePassed,
    Event,
    Finish,
    ModelFailed,
    ModelReplied,
    RunCall,
    Started,
    TokensCounted,
)
from openvlharness_core.agent.recorded import NotInReport, Recorded
from openvlharness_core.agent.report import Report, asked_to_dict, image_to_dict, report_of
from openvlharness_core.agent.returned import failed_result, sound_evidence
from openvlharness_core.agent.state import TurnState, effect_of, uncounted
from openvlharness_core.agent.steps import CompactionStep, ModelStep, Step, ToolStep
from openvlharness_core.calls import CapabilityResult
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.errors import HarnessError
from openvlharness_core.jsonable import json_ready
from openvlharness_core.messages import ModelRequest
from openvlharness_core.pictures import ImageLimits
from openvlharness_core.ports.imaging import ImageCodec

MORE = "another request"
"""Stands for the end of a question that today would go on where the record ends."""


@attrs.frozen(kw_only=True)
class Replay:
    """What became of a replay.

    Attributes:
        differences: everything that is not what was recorded, in the order of the report.
        requests: what the model would be sent today, in order.
    """

    differences: tuple[Difference, ...] = ()
    requests: tuple[ModelRequest, ...] = ()


def replay(
    report: Report, toolset: Toolset, policy: TurnPolicy, codec: ImageCodec, limits: ImageLimits
) -> tuple[Difference, ...]:
    """Everything in which today's code differs from the record; the arguments are those of `replayed`."""
    return replayed(report, toolset, policy, codec, limits).differences


def replayed_requests(
    report: Report, toolset: Toolset, policy: TurnPolicy, codec: ImageCodec, limits: ImageLimits
) -> tuple[ModelRequest, ...]:
    """The requests that today's code sends in the recorded question; the arguments are those of `replayed`."""
    return replayed(report, toolset, policy, codec, limits).requests


def replayed(report: Report, toolset: Toolset, policy: TurnPolicy, codec: ImageCodec, limits: ImageLimits) -> Replay:
    """Replay a report. Plain and slow where pictures have to be decoded: on a loop it belongs behind `Offload`.

    Args:
        report: as it was made, or as it was loaded.
        toolset: today's tools; their backends are not called.
        policy: the rules; `tools` are filled in from the toolset.
        codec: takes the recorded pictures in.
        limits: what pictures the model takes.
    """
    recorded = Recorded(report, codec, limits)
    counts = policy.count_tokens and report.fixed_tokens is not None
    policy = attrs.evolve(policy, tools=toolset.specs(policy.prompts), count_tokens=counts)
    try:
        started = Started(intake=recorded.intake())
    except NotInReport as error:
        return Replay(differences=(Difference(place=error.place, recorded=error.name, today=NOTHING),))
    except HarnessError as error:
        return Replay(differences=(Difference(place="question", recorded="pictures", today=str(error)),))
    performance = _Performance(recorded=recorded, toolset=toolset, policy=policy, turns=turns_of(report.steps))
    state = performance.perform(started)
    return Replay(differences=(*performance.found, *_compared(report, state)), requests=tuple(performance.requests))


@attrs.define(kw_only=True)
class _Performance:
    """Tells the engine what the record says that happened, for as long as it says anything.

    Attributes:
        turns: recorded steps with their positions, one group a reply.
        heard: replies that the engine has been told of; the group of the newest has that number.
        requests: what would have been sent.
        found: differences that no comparison of the two trajectories shows.
    """

    recorded: Recorded
    toolset: Toolset
    policy: TurnPolicy
    turns: list[list[tuple[int, Step]]]
    heard: int = 0
    requests: list[ModelRequest] = attrs.field(factory=list)
    found: list[Difference] = attrs.field(factory=list)

    def perform(self, event: Event | None) -> TurnState:
        """The state at the end of the record, or of the question as it goes today."""
        state = TurnState()
        while event is not None:
            state = fold(state, event, self.policy)
            match effect_of(state, self.policy):
                case Finish():
                    return state
                case AskModel(request=request):
                    self.requests.append(request)
                    event = self._answer(state)
                case RunCall(call=call):
                    event = self._result(state, call)
                case CountTokens():
                    event = self._counts(state)
        return state

    def _answer(self, state: TurnState) -> Event | None:
        """What came of a request: a reply, or whatever stands in the record instead."""
        refused = any(
            isinstance(step, CompactionStep) and step.reason == "context_error" for _, step in self.turns[self.heard]
        )
        if refused and not state.retried:
            return ModelFailed(code="context_length_exceeded", message="longer than the context", context=True)
        if self.heard + 1 == len(self.turns):
            return self.recorded.ending()
        self.heard += 1
        step = self.turns[self.heard][0][1]
        assert isinstance(step, ModelStep)
        return ModelReplied(reply=self.recorded.reply(step, self.heard - 1), seconds=step.seconds)

    def _counts(self, state: TurnState) -> Event | None:
        fresh = len(uncounted(state))
        counts = self.recorded.counts(len(state.turns) - fresh, fresh, state.fixed_tokens is None)
        return self.recorded.ending() if counts is None else TokensCounted(counts=counts)

    def _result(self, state: TurnState, call: CheckedCall) -> Event | None:
        """What came of a call: the recorded failure, or the recorded findings named and rendered again."""
        ending = self.recorded.ending()
        found = next(
            ((position, step) for position, step in self.turns[self.heard] if isinstance(step, ToolStep)), None
        )
        if found is None:
            return ending if isinstance(ending, Cancelled | DeadlinePassed) else None
        position, step = found
        result, place = step.result, f"steps[{position}]"
        if result.failure is not None and not result.performed:
            interrupted = result.failure.code == "cancelled" and position == len(self.recorded.report.steps) - 1
            if interrupted and isinstance(ending, Cancelled | DeadlinePassed):
                return ending
            self.found.append(
                Difference(place=f"{place}.error", recorded=result.failure.message, today="the call runs")
            )
        workspace = state.workspace
        try:
            workspace = self.recorded.with_downloads(workspace, step)
            if not result.ok:
                return CallFinished(result=result, workspace=workspace, seconds=step.seconds)
            return self._again(state, call, step, place)
        except NotInReport as error:
            self.found.append(Difference(place=error.place, recorded=error.name, today=NOTHING))
            result = CapabilityResult.failed("malformed_result", str(error))
        except HarnessError as error:
            result = failed_result(error)
        except Exception as error:  # noqa: BLE001 - a tool that cannot show its own findings is what a replay is to find out
            result = CapabilityResult.failed("tool_execution_error", f"{call.tool}: {type(error).__name__}: {error}")
        performed = attrs.evolve(result, performed=True, downloads=step.result.downloads)
        return CallFinished(result=performed, workspace=workspace, seconds=step.seconds)

    def _again(self, state: TurnState, call: CheckedCall, step: ToolStep, place: str) -> CallFinished:
        capability = self.toolset.find(call.tool)
        assert capability is not None, "the engine runs known tools only"
        findings = self.recorded.findings(step, place)
        workspace = self.recorded.with_downloads(state.workspace, step)
        workspace, registered = workspace.register(findings, call.tool)
        evidence = sound_evidence(capability.evidence(findings, registered, workspace, self.policy.prompts))
        result = attrs.evolve(
            successful_result(findings, registered, evidence), performed=True, downloads=step.result.downloads
        )
        return CallFinished(result=result, workspace=workspace, seconds=step.seconds)


def _compared(report: Report, state: TurnState) -> Iterator[Difference]:
    """The record against the state at the end: trajectory, answer, then memory."""
    ended = state.stop_reason is not None
    yield from step_differences(report.steps, state.steps)
    end = state if ended else attrs.evolve(state, stop_reason="cancelled")
    now = report_of(end, report.model, report.seconds, report.prices)
    yield from differences(_question(report), _question(now), "question")
    if ended:
        yield from differences(report.answer, now.answer, "answer")
        yield from differences(report.stop_reason, now.stop_reason, "stop_reason")
        error = [None if each.error is None else attrs.asdict(each.error) for each in (report, now)]
        yield from differences(error[0], error[1], "error")
    else:
        yield Difference(place="stop_reason", recorded=report.stop_reason, today=MORE)
    for name, part in _memory(report).items():
        yield from differences(part, _memory(now)[name], name)


def _question(report: Report) -> object:
    return json_ready([asked_to_dict(part) for part in report.question], "question")


def _memory(report: Report) -> dict[str, object]:
    memory = {
        "images": {record.handle: image_to_dict(record) for record in report.images},
        "bindings": {record.name: record.descriptor() for record in report.bindings},
        "pages": {record.handle: {"url": record.url, "title": record.title} for record in report.pages},
    }
    plain: dict[str, object] = json_ready(memory, "memory")
    return plain
