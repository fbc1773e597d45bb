"""Ending early: the deadline, the switch, the caller's own task, and ports that do not want to end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest

from openvlharness_core.agent.protocol import DeadlinePassed
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.agent.steps import EnvironmentUpdateStep, Finished, ModelStep, ToolStep
from openvlharness_core.agent.watch import Cancellation, Watch
from openvlharness_core.calls import Findings
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.question import ImageInput, Question
from openvlharness_core.testing import FakeClock, calling, saying
from openvlharness_core.testing.time import settle
from openvlharness_core.waiting import GRACE_SECONDS
from tests.unit.core.agents import (
    QUESTION,
    URL,
    ZOOM,
    Hanging,
    HangingFetcher,
    HangingModel,
    Own,
    agent,
    hanging_tool,
    model_of,
)

ANSWER = saying("<answer>4</answer>")
LIMIT = {"deadline_seconds": 30.0}
Make = Callable[[Hanging, FakeClock], MainAgent]


def _model(hanging: Hanging, clock: FakeClock) -> MainAgent:
    return agent(HangingModel(hanging), clock=clock, rules=LIMIT)


def _tool(hanging: Hanging, clock: FakeClock) -> MainAgent:
    return agent([calling("Own_Tool")], hanging_tool(hanging), clock=clock, rules=LIMIT)


def _backend(hanging: Hanging, clock: FakeClock) -> MainAgent:
    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        return await hands.within(600.0, "own", hanging.hang())

    return agent([calling("Own_Tool")], Own(does=does), clock=clock, rules=LIMIT)


def _download(hanging: Hanging, clock: FakeClock) -> MainAgent:
    fetcher = HangingFetcher(hanging)
    return agent([calling("Zoom_In_Tool", ZOOM)], clock=clock, rules=LIMIT, remote_images="pass_url", fetcher=fetcher)


def _intake(hanging: Hanging, clock: FakeClock) -> MainAgent:
    return agent([], clock=clock, rules=LIMIT, fetcher=HangingFetcher(hanging))


def _offload(hanging: Hanging, clock: FakeClock) -> MainAgent:
    class Stuck:
        async def run(self, call: Callable[[], Any]) -> Any:
            return await hanging.hang()

    rules = {**LIMIT, "count_tokens": True, "max_context_length": 9000}
    return agent([], clock=clock, rules=rules, token_counter=object(), offload=Stuck())


REMOTE = Question("What?", [ImageInput.from_url(URL)])
PORTS = [
    pytest.param(_model, QUESTION, id="model"),
    pytest.param(_tool, QUESTION, id="tool"),
    pytest.param(_backend, QUESTION, id="backend"),
    pytest.param(_download, REMOTE, id="download"),
    pytest.param(_intake, REMOTE, id="intake"),
    pytest.param(_offload, Question("What?"), id="tokenizer"),
]
each_port = pytest.mark.parametrize(("make", "question"), PORTS)


def ask(made: MainAgent, question: Question, **fields: Any) -> asyncio.Task[Report]:
    return asyncio.ensure_future(made.answer(question, **fields))


async def nothing_is_left(clock: FakeClock) -> None:
    await settle()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert clock._sleepers == []


@each_port
async def test_the_deadline_cancels_what_hangs_and_reports(make: Make, question: Question) -> None:
    clock, hanging = FakeClock(), Hanging()
    task = ask(make(hanging, clock), question)
    await hanging.begun.wait()
    await clock.advance(29.0)
    assert not task.done()
    await clock.advance(1.0)
    report = await task
    assert hanging.cancelled == 1
    assert (report.stop_reason, report.answer) == ("deadline", None)
    assert report.error is not None
    assert report.error.code == "deadline"
    assert isinstance(report.steps[0], EnvironmentUpdateStep)
    assert report.to_dict()["stop_reason"] == "deadline"
    await nothing_is_left(clock)


@each_port
async def test_the_switch_cancels_what_hangs_and_reports(make: Make, question: Question) -> None:
    clock, hanging, cancellation = FakeClock(), Hanging(), Cancellation()
    task = ask(make(hanging, clock), question, cancellation=cancellation)
    await hanging.begun.wait()
    cancellation.cancel()
    report = await task
    assert (hanging.cancelled, report.stop_reason) == (1, "cancelled")
    await nothing_is_left(clock)


@each_port
async def test_cancelling_the_callers_task_is_raised_and_cancels_what_hangs(make: Make, question: Question) -> None:
    clock, hanging = FakeClock(), Hanging()
    task = ask(make(hanging, clock), question)
    await hanging.begun.wait()
    task.cancel("enough")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (task.cancelled(), hanging.cancelled) == (True, 1)
    await nothing_is_left(clock)


@each_port
async def test_what_ignores_being_cancelled_is_left_behind(make: Make, question: Question) -> None:
    clock, hanging = FakeClock(), Hanging(stubborn=True)
    task = ask(make(hanging, clock), question)
    await hanging.begun.wait()
    await clock.advance(30.0)
    assert not task.done(), "it has a moment to clean up"
    for _ in range(3):  # a backend inside a tool has a moment of its own
        await clock.advance(GRACE_SECONDS)
    report = await asyncio.wait_for(task, 5)
    assert (report.stop_reason, hanging.cancelled > 0) == ("deadline", True)
    hanging.release.set()
    await settle()
    gc.collect()  # what the call raises in the end is nobody's unretrieved exception
    await nothing_is_left(clock)


async def test_the_partial_trajectory_holds_what_was_done_and_the_call_that_was_not() -> None:
    clock, hanging = FakeClock(), Hanging()
    made = agent(
        [calling("Zoom_In_Tool", ZOOM), calling("Own_Tool", call_id="c2")],
        hanging_tool(hanging),
        clock=clock,
        rules=LIMIT,
    )
    task = ask(made, QUESTION)
    await hanging.begun.wait()
    await clock.advance(30.0)
    report = await task
    assert [type(step) for step in report.steps[1:]] == [
        ModelStep,
        ToolStep,
        EnvironmentUpdateStep,
        ModelStep,
        ToolStep,
    ]
    last = report.steps[-1]
    assert isinstance(last, ToolStep)
    assert last.result.failure is not None
    assert (last.call_id, last.result.failure.code) == ("c2", "cancelled")
    assert [record.handle for record in report.images] == ["input_image_1", "tool_generated_image_1"]
    assert report.seconds == 30.0


async def test_the_deadline_bounds_the_whole_question_and_not_each_call() -> None:
    clock = FakeClock()

    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        await clock.advance(12.0)
        return Findings(data={})

    made = agent([calling("Own_Tool")] * 3, Own(does=does), clock=clock, rules=LIMIT)
    report = await made.answer(QUESTION)
    assert report.stop_reason == "deadline"
    assert len(model_of(made).requests) == 3, "the third call passes 30 seconds"


async def test_a_result_that_comes_at_the_very_moment_counts() -> None:
    clock = FakeClock()
    async with Watch(clock, 30.0, None) as watch:
        coming: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def call() -> str:
            return await coming

        task = asyncio.ensure_future(watch.perform(call()))
        await settle()
        coming.set_result("in time")
        clock._sleepers[0][1].set_result(None)
        assert await task == "in time"
        assert watch.interruption() == DeadlinePassed()


async def test_no_time_at_all_asks_nothing() -> None:
    made = agent([ANSWER], rules={"deadline_seconds": 0.0})
    report = await made.answer(QUESTION)
    assert (report.stop_reason, model_of(made).requests) == ("deadline", [])


async def test_a_switch_that_was_thrown_before_asks_nothing() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    made = agent([ANSWER])
    report = await made.answer(QUESTION, cancellation=cancellation)
    assert (report.stop_reason, model_of(made).requests) == ("cancelled", [])
    assert cancellation.cancelled
    assert report.to_dict()["images"]["input_image_1"]["size"] is None, "it was never read"


async def test_the_switch_may_be_thrown_from_another_thread() -> None:
    hanging, cancellation = Hanging(), Cancellation()
    task = ask(agent(HangingModel(hanging)), QUESTION, cancellation=cancellation)
    await hanging.begun.wait()
    loop = asyncio.get_running_loop()
    loop.set_debug(True)  # then a loop refuses what another thread must not do to it
    await loop.run_in_executor(None, cancellation.cancel)
    report = await asyncio.wait_for(task, 5)
    assert (report.stop_reason, hanging.cancelled) == ("cancelled", 1)
    cancellation.cancel()  # nobody listens any more


async def test_one_switch_ends_several_questions() -> None:
    cancellation, hangings = Cancellation(), [Hanging() for _ in range(3)]
    tasks = [ask(agent(HangingModel(hanging)), QUESTION, cancellation=cancellation) for hanging in hangings]
    for hanging in hangings:
        await hanging.begun.wait()
    cancellation.cancel()
    assert [report.stop_reason for report in await asyncio.gather(*tasks)] == ["cancelled"] * 3


async def test_the_switch_is_seen_between_calls() -> None:
    cancellation = Cancellation()

    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        cancellation.cancel()
        return Findings(data={})

    made = agent([calling("Own_Tool"), ANSWER], Own(does=does))
    report = await made.answer(QUESTION, cancellation=cancellation)
    assert (report.stop_reason, len(model_of(made).requests)) == ("cancelled", 1)
    assert [step.result.ok for step in report.steps if isinstance(step, ToolStep)] == [True], "its result counts"


async def test_cancelling_the_caller_while_it_waits_for_a_stubborn_call() -> None:
    clock, hanging = FakeClock(), Hanging(stubborn=True)
    task = ask(_model(hanging, clock), QUESTION)
    await hanging.begun.wait()
    task.cancel()
    await settle()
    assert not task.done()
    await clock.advance(GRACE_SECONDS)
    with pytest.raises(asyncio.CancelledError):
        await task
    hanging.release.set()
    await nothing_is_left(clock)


def _cancels_itself() -> Coroutine[Any, Any, Any]:
    async def inner() -> None:
        inside = asyncio.ensure_future(asyncio.Event().wait())
        inside.cancel()
        await inside

    return inner()


async def test_a_port_that_was_cancelled_from_within_is_a_failure_and_not_the_callers_wish() -> None:
    class Model:
        async def complete(self, request: object) -> object:
            return await _cancels_itself()

    report = await agent(Model()).answer(QUESTION)  # type: ignore[arg-type]
    assert (report.stop_reason, report.error and report.error.code) == ("model_failed", "model_error")

    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        return await _cancels_itself()  # type: ignore[no-any-return]

    report = await agent([calling("Own_Tool"), ANSWER], Own(does=does)).answer(QUESTION)
    assert report.answer == "4"
    assert [
        step.result.failure.code for step in report.steps if isinstance(step, ToolStep) and step.result.failure
    ] == ["tool_execution_error"]


async def test_nothing_is_left_running_after_an_answer() -> None:
    clock = FakeClock()
    report = await agent([calling("Zoom_In_Tool", ZOOM), ANSWER], clock=clock, rules=LIMIT).answer(QUESTION)
    assert report.answer == "4"
    await nothing_is_left(clock)


async def test_closing_the_stream_early_leaves_nothing_running() -> None:
    clock = FakeClock()
    stream = agent([calling("Zoom_In_Tool", ZOOM)], clock=clock, rules=LIMIT).stream(QUESTION)
    assert isinstance(await anext(stream), EnvironmentUpdateStep)
    await stream.aclose()
    await nothing_is_left(clock)


async def test_a_consumer_that_breaks_off_with_an_error_meets_its_own_error() -> None:
    clock = FakeClock()

    async def breaks_off() -> None:
        async for _ in agent([ANSWER], clock=clock, rules=LIMIT).stream(QUESTION):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await breaks_off()
    gc.collect()
    await nothing_is_left(clock)


async def test_the_time_a_consumer_takes_counts_and_is_not_interrupted() -> None:
    clock = FakeClock()
    seen = []
    async for step in agent([calling("Zoom_In_Tool", ZOOM), ANSWER], clock=clock, rules=LIMIT).stream(QUESTION):
        await clock.advance(20.0)
        seen.append(step)
    last = seen[-1]
    assert isinstance(last, Finished)
    assert last.report.stop_reason == "deadline"
