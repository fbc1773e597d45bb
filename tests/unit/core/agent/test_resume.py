"""A question saved after any event and continued elsewhere sends what the first process would have sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from openvlharness_core.agent.checkpoint import Checkpoint
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.agent.state import Phase, TurnState
from openvlharness_core.agent.watch import Cancellation
from openvlharness_core.errors import ContextLengthError, TurnOrderError
from openvlharness_core.messages import ModelRequest
from openvlharness_core.question import Exchange, ImageInput, Question
from openvlharness_core.testing import FakeClock, InMemoryReportStore, WordCounter, calling, saying
from openvlharness_core.testing.models import Scripted, calling_all
from tests.unit.core.agents import QUESTION, URL, ZOOM, Hanging, HangingModel, agent, model_of

SCRIPT: list[Scripted] = [
    calling("Zoom_In_Tool", ZOOM, call_id="zoom:0"),
    calling("OCR_Tool", {"image_id": "tool_generated_image_1"}, call_id="zoom:0"),
    calling("Zoom_In_Tool", '{"image_id": "input_image_1", "coords": [10'),
    calling_all([("OCR_Tool", {}, ""), ("OCR_Tool", {}, "")]),
    saying(""),
    ContextLengthError("context_length_exceeded", "too long"),
    calling("Zoom_In_Tool", ZOOM | {"coords": [0, 0, 900, 900]}),
    saying("<answer>4</answer>"),
]
RULES = {"paired_sampling_seed": True, "max_pictures": 2, "append_final_message": True}


def made(script: list[Scripted], **fields: Any) -> MainAgent:
    rules = {**RULES, **fields.pop("rules", {})}
    return agent(script, rules=rules, report_store=InMemoryReportStore(), **fields)


async def saved(first: MainAgent, question: Question = QUESTION, **asked: Any) -> tuple[Report, list[Checkpoint]]:
    """The report, and the checkpoint after every event."""
    report = await first.answer(question, task_id="t1", checkpoint_to="here", **asked)
    store = first.report_store
    assert isinstance(store, InMemoryReportStore)
    assert await store.load_checkpoint("here") is store.history["here"][-1]
    return report, store.history["here"]


def replies_heard(checkpoint: Checkpoint, history: list[Checkpoint]) -> int:
    """How many replies (or failures) of the script were heard by then: each left the phase that waits for the model."""
    position = history.index(checkpoint)
    return sum(history[n].state.phase is Phase.AWAITING_MODEL for n in range(position))


@pytest.mark.parametrize("counts", [False, True])
async def test_each_checkpoint_continues_with_the_same_requests(counts: bool) -> None:
    counting = (
        {"rules": {"count_tokens": True, "max_context_length": 9000}, "token_counter": WordCounter()} if counts else {}
    )
    first = made(SCRIPT, **counting)
    report, history = await saved(first, history=[Exchange(question="Before?", answer="3")])
    assert report.answer == "4"
    sent = model_of(first).requests
    assert len(sent) == len(SCRIPT)
    for checkpoint in history:
        heard = replies_heard(checkpoint, history)
        second = made(SCRIPT[heard:], **counting)
        again = await second.resume(checkpoint)
        assert model_of(second).requests == sent[heard:]
        assert again == report
        model_of(second).assert_spent()


async def test_a_checkpoint_is_saved_after_every_event() -> None:
    _, history = await saved(made(SCRIPT))
    assert [checkpoint.state.phase for checkpoint in history[:4]] == [
        Phase.AWAITING_MODEL,
        Phase.AWAITING_TOOL,
        Phase.AWAITING_MODEL,
        Phase.AWAITING_TOOL,
    ]
    assert [checkpoint.finished for checkpoint in history] == [False] * (len(history) - 1) + [True]


async def test_a_finished_checkpoint_only_reports() -> None:
    report, history = await saved(made(SCRIPT))
    again = made([])
    assert await again.resume(history[-1]) == report
    assert model_of(again).requests == []


async def test_what_was_begun_is_not_held_against_the_first_process() -> None:
    _, history = await saved(made(SCRIPT))
    waiting = next(checkpoint for checkpoint in history if checkpoint.state.phase is Phase.AWAITING_TOOL)
    second = made(SCRIPT[1:])
    report = await second.resume(waiting, checkpoint_to="there")
    assert report.answer == "4"
    assert isinstance(second.report_store, InMemoryReportStore)
    assert len(second.report_store.history["there"]) == len(history) - history.index(waiting) - 1


async def test_the_deadline_goes_on_counting_from_where_it_stood() -> None:
    clock, hanging = FakeClock(), Hanging()
    first = made(SCRIPT, clock=FakeClock(auto=True))
    _, history = await saved(first)
    checkpoint = Checkpoint(state=history[0].state, seconds=20.0)
    second = agent(HangingModel(hanging), clock=clock, rules={**RULES, "deadline_seconds": 30.0})
    await clock.advance(1000.0)  # another process, another clock
    task = asyncio.ensure_future(second.resume(checkpoint))
    await hanging.begun.wait()
    await clock.advance(9.0)
    assert not task.done()
    await clock.advance(1.0)
    report = await task
    assert (report.stop_reason, report.seconds, hanging.cancelled) == ("deadline", 30.0, 1)


async def test_time_that_was_over_stays_over() -> None:
    _, history = await saved(made(SCRIPT))
    second = made([], rules={"deadline_seconds": 30.0})
    report = await second.resume(Checkpoint(state=history[0].state, seconds=31.0))
    assert (report.stop_reason, model_of(second).requests) == ("deadline", [])


async def test_seconds_are_saved_with_the_state() -> None:
    clock = FakeClock()

    def later(request: ModelRequest) -> Any:
        clock._now += 7.0
        return saying("<answer>4</answer>")

    _, history = await saved(made([later], clock=clock))
    assert [checkpoint.seconds for checkpoint in history] == [0.0, 7.0]


async def test_a_resumed_question_can_be_cancelled() -> None:
    _, history = await saved(made(SCRIPT))
    cancellation = Cancellation()
    cancellation.cancel()
    report = await made([]).resume(history[2], cancellation=cancellation)
    assert report.stop_reason == "cancelled"
    assert report.steps == history[2].state.steps


async def test_a_downloaded_picture_is_not_downloaded_again() -> None:
    script: list[Scripted] = [
        calling("Zoom_In_Tool", ZOOM),
        calling("Zoom_In_Tool", ZOOM),
        saying("<answer>4</answer>"),
    ]
    first = made(script, remote_images="pass_url")
    report, history = await saved(first, Question("What?", [ImageInput.from_url(URL)]))
    second = made(script[1:], remote_images="pass_url")
    assert await second.resume(history[2]) == report
    assert second.fetcher.fetched == []  # type: ignore[attr-defined]


async def test_where_no_counter_is_a_counted_question_goes_on() -> None:
    first = made(SCRIPT, rules={"count_tokens": True, "max_context_length": 9000}, token_counter=WordCounter())
    report, history = await saved(first)
    counting = next(checkpoint for checkpoint in history if checkpoint.state.phase is Phase.COUNTING)
    second = made(SCRIPT, rules={"count_tokens": True, "max_context_length": 9000})
    again = await second.resume(counting)
    assert again.answer == report.answer == "4"


async def test_a_question_that_never_started_cannot_be_resumed() -> None:
    with pytest.raises(TurnOrderError, match="before Started"):
        await made([]).resume(Checkpoint(state=TurnState()))


async def test_the_trajectory_of_the_report_tells_the_same_story_after_a_resume() -> None:
    report, history = await saved(made(SCRIPT))
    middle = history[len(history) // 2]
    again = await made(SCRIPT[replies_heard(middle, history) :]).resume(middle)
    assert json.dumps(again.to_dict()) == json.dumps(report.to_dict())
