"""`MainAgent`: performs what the engine asks for, through ports, and tells it what came of it.

Whatever the model and the tools do after the first request ends in a report. Only a bug in core is raised, and the
cancelling of the caller's own task. A `ScriptError` of the model port is raised too: that is how a scripted double
says that it was not asked what it expected.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Literal

import attrs

from openvlharness_core.agent.checkpoint import Checkpoint
from openvlharness_core.agent.engine import fold
from openvlharness_core.agent.intake import Receptionist, unread
from openvlharness_core.agent.performed import downloaded, successful_result
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.protocol import (
    AskModel,
    CallFinished,
    CheckedCall,
    CountTokens,
    Effect,
    Event,
    Finish,
    ModelFailed,
    ModelReplied,
    RunCall,
    Started,
    TokensCounted,
)
from openvlharness_core.agent.report import ModelName, Report, report_of
from openvlharness_core.agent.returned import failed_result, sound_evidence, sound_findings, sound_reply
from openvlharness_core.agent.state import TurnState, effect_of
from openvlharness_core.agent.steps import Finished, Step
from openvlharness_core.agent.watch import Cancellation, Interrupted, Watch
from openvlharness_core.calls import CapabilityResult
from openvlharness_core.capabilities.base import Capability
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.errors import ContextLengthError, HarnessError, ModelError, ScriptError
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ModelRequest
from openvlharness_core.money import Prices
from openvlharness_core.pictures import ImageLimits
from openvlharness_core.ports.clock import Clock
from openvlharness_core.ports.fetcher import ImageFetcher
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.ports.model import ChatModel
from openvlharness_core.ports.offload import Offload
from openvlharness_core.ports.store import ReportStore
from openvlharness_core.ports.tokens import TokenCounter
from openvlharness_core.ports.tracer import Tracer
from openvlharness_core.question import Exchange, Question


@attrs.frozen(kw_only=True)
class MainAgent:
    """Answers questions, several at once if asked to; holds no state of any of them.

    Attributes:
        model: decides what to do next.
        toolset: the tools it may call.
        policy: the rules; its `tools` are filled in from the toolset.
        codec, fetcher, offload, clock: ports that every question needs.
        tracer: sees every event and effect; `None` for nobody.
        token_counter: counts requests where the policy says so; without one the provider enforces its limit.
        report_store: where checkpoints go.
        limits: what pictures the model takes.
        remote_images: whether a remote picture is shown downloaded or by its URL.
        model_name: what reports call the model.
        prices: money per million tokens of the models behind each role, for reports.
    """

    model: ChatModel
    toolset: Toolset = attrs.field(factory=Toolset)
    policy: TurnPolicy
    codec: ImageCodec
    fetcher: ImageFetcher
    offload: Offload
    clock: Clock
    tracer: Tracer | None = None
    token_counter: TokenCounter | None = None
    report_store: ReportStore | None = None
    limits: ImageLimits = ImageLimits()
    remote_images: Literal["download", "pass_url"] = "download"
    model_name: ModelName = ModelName()
    prices: Mapping[str, Prices] = attrs.field(factory=dict, hash=False)

    async def answer(
        self,
        question: Question,
        *,
        task_id: str | None = None,
        history: Iterable[Exchange] = (),
        cancellation: Cancellation | None = None,
        checkpoint_to: str | None = None,
    ) -> Report:
        """Answer one question; the arguments are those of `stream`."""
        steps = self.stream(
            question, task_id=task_id, history=history, cancellation=cancellation, checkpoint_to=checkpoint_to
        )
        return await _last(steps)

    async def stream(
        self,
        question: Question,
        *,
        task_id: str | None = None,
        history: Iterable[Exchange] = (),
        cancellation: Cancellation | None = None,
        checkpoint_to: str | None = None,
    ) -> AsyncGenerator[Step | Finished, None]:
        """Answer one question, yielding each step of the report as it happens and `Finished(report)` at the end.

        Args:
            question: what is asked.
            task_id: names the question in reports, and seeds depend on it.
            history: earlier questions and answers, oldest first.
            cancellation: ends the question early, with a report of what there is.
            checkpoint_to: location in the report store that every event is saved to.

        Raises:
            InvalidQuestionError: a part of the question that cannot be taken in; nothing has been asked.
            SavedFileError: a checkpoint cannot be written.
        """
        start = self.clock.monotonic()
        without_pictures = unread(question, task_id, history)
        run = _Run(agent=self, policy=self._policy(), start=start, cancellation=cancellation, location=checkpoint_to)
        reception = Receptionist(
            limits=self.limits,
            remote_images=self.remote_images,
            codec=self.codec,
            fetcher=self.fetcher,
            offload=self.offload,
            note=run.note,
        )

        async def begin(watch: Watch) -> Event:
            try:
                taking_in = reception.take_in(question, task_id, without_pictures.history)
                return Started(intake=await watch.perform(taking_in))
            except Interrupted:  # the loop meets the interruption again at once, and the report says how far it came
                return Started(intake=without_pictures)

        async with aclosing(run.steps(TurnState(), begin)) as steps:
            async for step in steps:
                yield step

    async def resume(
        self, checkpoint: Checkpoint, *, cancellation: Cancellation | None = None, checkpoint_to: str | None = None
    ) -> Report:
        """Continue a question at its last finished step; what is sent is what the first process would have sent."""
        run = _Run(
            agent=self,
            policy=self._policy(),
            start=self.clock.monotonic() - checkpoint.seconds,
            cancellation=cancellation,
            location=checkpoint_to,
        )
        return await _last(run.steps(checkpoint.state, None))

    def _policy(self) -> TurnPolicy:
        counts = self.policy.count_tokens and self.token_counter is not None
        return attrs.evolve(self.policy, tools=self.toolset.specs(self.policy.prompts), count_tokens=counts)


async def _last(steps: AsyncGenerator[Step | Finished, None]) -> Report:
    async with aclosing(steps):
        async for step in steps:
            if isinstance(step, Finished):
                return step.report
    raise AssertionError("a stream ends with its report")


@attrs.frozen(kw_only=True)
class _Run:
    """One question being performed."""

    agent: MainAgent
    policy: TurnPolicy
    start: float
    cancellation: Cancellation | None
    location: str | None

    async def steps(
        self, state: TurnState, begin: Callable[[Watch], Coroutine[Any, Any, Event]] | None
    ) -> AsyncGenerator[Step | Finished, None]:
        """Fold events until the end; `begin` brings the first one, or is nothing when a checkpoint is continued."""
        told = len(state.steps)
        deadline = self.policy.deadline_seconds
        remaining = None if deadline is None else max(0.0, deadline - self._elapsed())
        async with Watch(self.agent.clock, remaining, self.cancellation) as watch:
            event = None if begin is None else await begin(watch)
            while True:
                if event is not None:
                    self._trace_event(event)
                    state = fold(state, event, self.policy)
                    await self._save(state)
                for step in state.steps[told:]:
                    yield step
                told = len(state.steps)
                effect = effect_of(state, self.policy)
                self._trace_effect(effect)
                if isinstance(effect, Finish):
                    report = report_of(state, self.agent.model_name, self._elapsed(), self.agent.prices)
                    yield Finished(report=report)
                    return
                event = watch.interruption() or await self._perform(effect, state, watch)

    async def _perform(self, effect: Effect, state: TurnState, watch: Watch) -> Event:
        started = self.agent.clock.monotonic()
        hands = self._hands(state.workspace)
        try:
            match effect:
                case AskModel(request=request):
                    return await watch.perform(self._ask(request, started))
                case RunCall(call=call):
                    return await watch.perform(self._call(call, hands, started))
                case CountTokens():
                    return await watch.perform(self._count(effect))
        except Interrupted as interrupted:
            return interrupted.event
        raise AssertionError(f"{type(effect).__name__} is not performed")

    async def _ask(self, request: ModelRequest, started: float) -> Event:
        try:
            reply = await self.agent.model.complete(request)
        except ModelError as error:
            code, message, context = str(error.code), str(error.message), isinstance(error, ContextLengthError)
            return ModelFailed(code=code, message=message, context=context, seconds=self._since(started))
        except ScriptError:
            raise
        except BaseException as error:  # somebody's own ChatModel may raise anything
            if _asked_to_stop(error):
                raise
            self.note("model_bug", traceback.format_exc())
            message = f"the model adapter failed with {type(error).__name__}; the trace has the details"
            return ModelFailed(code="model_error", message=message, seconds=self._since(started))
        try:
            return ModelReplied(reply=sound_reply(reply), seconds=self._since(started))
        except TypeError as error:
            return ModelFailed(code="not_a_reply", message=str(error), seconds=self._since(started))

    async def _count(self, effect: CountTokens) -> Event:
        """Count; what cannot be counted weighs nothing, which leaves it to the provider to enforce its limit."""
        counter = self.agent.token_counter
        problem = "no counter here"  # a checkpoint may be continued where there is none
        if counter is not None:
            try:
                counts = tuple(await self.agent.offload.run(lambda: counter.count(effect.segments, effect.tools)))
            except Exception:  # noqa: BLE001 - a tokenizer that fails must not end the question
                problem = traceback.format_exc()
            else:
                if len(counts) == len(effect.segments) + 1 and all(type(count) is int for count in counts):
                    return TokensCounted(counts=counts)
                problem = f"expected {len(effect.segments) + 1} whole numbers, got {counts!r:.200}"
        self.note("tokens_not_counted", problem)
        return TokensCounted(counts=(0,) * (len(effect.segments) + 1))

    async def _call(self, call: CheckedCall, hands: Hands, started: float) -> Event:
        """Perform a call, register what it found, and render the evidence; or say why it failed."""
        capability = self.agent.toolset.find(call.tool)
        assert capability is not None, "the engine runs known tools only"
        for note in call.notes:
            self.note("argument_converted", note)
        before = hands.workspace
        try:
            result, after = await self._performed(capability, call, hands)
        except BaseException as error:  # a bug in somebody's own tool
            if _asked_to_stop(error):
                raise
            self.note("tool_bug", traceback.format_exc())
            message = f"{call.tool} failed with {type(error).__name__}; another call may still work"
            result, after = CapabilityResult.failed("tool_execution_error", message), hands.workspace
        finished = attrs.evolve(result, performed=True, downloads=downloaded(before, hands.workspace))
        return CallFinished(result=finished, workspace=after, seconds=self._since(started))

    async def _performed(
        self, capability: Capability, call: CheckedCall, hands: Hands
    ) -> tuple[CapabilityResult, Workspace]:
        """The result, and memory as it stands then; what is no `HarnessError` is a bug and left to the caller."""
        try:
            findings = sound_findings(await capability.perform(call.arguments, hands))
            workspace, registered = hands.workspace.register(findings, call.tool)
            evidence = sound_evidence(capability.evidence(findings, registered, workspace, self.policy.prompts))
        except HarnessError as error:
            return failed_result(error), hands.workspace
        return successful_result(findings, registered, evidence), workspace

    def _hands(self, workspace: Workspace) -> Hands:
        agent = self.agent
        return Hands(
            workspace=workspace,
            limits=agent.limits,
            codec=agent.codec,
            fetcher=agent.fetcher,
            offload=agent.offload,
            clock=agent.clock,
            note=self.note,
        )

    async def _save(self, state: TurnState) -> None:
        if self.location is not None:
            if self.agent.report_store is None:
                raise ValueError("checkpoint_to: expected an agent with a report store, got one without")
            checkpoint = Checkpoint(state=state, seconds=self._elapsed())
            await self.agent.report_store.save_checkpoint(checkpoint, self.location)

    def _elapsed(self) -> float:
        return self.agent.clock.monotonic() - self.start

    def _since(self, started: float) -> float:
        return self.agent.clock.monotonic() - started

    def _trace_event(self, event: Event) -> None:
        if self.agent.tracer is not None:
            self.agent.tracer.event(self._question_id, event)

    def _trace_effect(self, effect: Effect) -> None:
        if self.agent.tracer is not None:
            self.agent.tracer.effect(self._question_id, effect)

    def note(self, kind: str, text: str) -> None:
        """Tell the tracer something beside events."""
        if self.agent.tracer is not None:
            self.agent.tracer.note(self._question_id, kind, text)

    @property
    def _question_id(self) -> str:
        return f"{id(self):x}"


def _asked_to_stop(error: BaseException) -> bool:
    """Whether `error` is Ctrl-C, or the end of the very task or loop that meets it, and not of something inside a port."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs any more: what was left behind is being destroyed
        return True
    cancelled = isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
    return cancelled or isinstance(error, KeyboardInterrupt)
