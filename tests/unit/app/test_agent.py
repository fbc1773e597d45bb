"""Opening agents: for asyncio, for plain code, from anywhere; and swapping one adapter."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from openvlharness_app import ConfigurationError, build_container, load_preset, open_agent, open_agent_sync
from openvlharness_app.container import AgentContainer
from openvlharness_core import (
    Cancellation,
    Finished,
    HarnessError,
    ImageInput,
    ModelReply,
    ModelRequest,
    Question,
    ToolStep,
)
from openvlharness_core.testing import FakeOcr, ScriptedModel, calling, saying

QUESTION = Question("How many?", [])


def container_with(*replies: ModelReply) -> AgentContainer:
    container = build_container(load_preset("embedded"))
    container.chat_model.override(ScriptedModel(list(replies)))
    return container


async def test_everything_else_stays_as_configured_when_one_adapter_is_swapped(picture: bytes) -> None:
    reply = calling("OCR_Tool", {"image_id": "input_image_1"})
    container = container_with(reply, saying("<answer>4</answer>"))
    container.ocr_backend.override(FakeOcr(("four pills",)))
    async with open_agent(container) as agent:
        report = await agent.answer(Question("How many?", [ImageInput.from_bytes(picture)]))
    assert report.answer == "4"
    (step,) = [step for step in report.steps if isinstance(step, ToolStep)]
    assert step.result.backend == "fake_ocr"
    assert report.model.alias == "embedded-planner"


def test_plain_code_twice_after_the_threads_loop_was_closed() -> None:
    asyncio.set_event_loop(loop := asyncio.new_event_loop())
    loop.close()
    try:
        for _ in range(2):
            with open_agent_sync(container_with(saying("<answer>1</answer>"))) as agent:
                assert agent.answer(QUESTION).answer == "1"
    finally:
        asyncio.set_event_loop(None)


async def test_plain_code_inside_a_running_loop() -> None:
    with open_agent_sync(container_with(saying("<answer>1</answer>"))) as agent:
        assert agent.answer(QUESTION).answer == "1"


def test_plain_code_from_four_threads_with_an_agent_each() -> None:
    def ask(number: int) -> str | None:
        with open_agent_sync(container_with(saying(f"<answer>{number}</answer>"))) as agent:
            return agent.answer(QUESTION).answer

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == ["0", "1", "2", "3"]


def test_one_agent_asked_from_four_threads() -> None:
    with open_agent_sync(container_with(*[saying("<answer>1</answer>")] * 4)) as agent, ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: agent.answer(QUESTION).answer, range(4)))
    assert answers == ["1"] * 4


def test_nothing_is_left_behind() -> None:
    before = set(threading.enumerate())
    with open_agent_sync(container_with(saying("<answer>1</answer>"))) as agent:
        agent.answer(QUESTION)
    gc.collect()  # a coroutine never awaited or an exception never retrieved would warn now, and warnings are errors
    assert set(threading.enumerate()) == before


class _NeverReplies:
    """A double that waits for ever and tells when it was cancelled."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.cancelled = False

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        raise AssertionError("nobody sets that event")


def test_a_switch_thrown_in_another_thread_ends_with_a_report() -> None:
    model, cancellation = _NeverReplies(), Cancellation()
    container = build_container(load_preset("embedded"))
    container.chat_model.override(model)
    with open_agent_sync(container) as agent, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(agent.answer, QUESTION, cancellation=cancellation)
        assert model.asked.wait(10)
        cancellation.cancel()
        report = answer.result(10)
    assert report.stop_reason == "cancelled"
    assert model.cancelled


def test_closing_ends_questions_that_still_run() -> None:
    model = _NeverReplies()
    container = build_container(load_preset("embedded"))
    container.chat_model.override(model)
    with ThreadPoolExecutor(1) as pool:
        with open_agent_sync(container) as agent:
            answer = pool.submit(agent.answer, QUESTION)
            assert model.asked.wait(10)
        assert answer.exception(10) is not None
    assert model.cancelled


def test_plain_code_streams_the_steps_of_the_report() -> None:
    with open_agent_sync(container_with(calling("nothing"), saying("<answer>1</answer>"))) as agent:
        *steps, last = agent.stream(QUESTION)
    assert isinstance(last, Finished)
    assert tuple(steps) == last.report.steps


def test_a_stream_left_early_is_closed() -> None:
    with open_agent_sync(container_with(calling("nothing"), saying("<answer>1</answer>"))) as agent:
        stream = agent.stream(QUESTION)
        next(stream)
        assert isinstance(stream, Iterator)
        stream.close()


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"ablation": "tool"}, "ablation"),
        ({"capabilities": {"bank": "tools.json"}}, "capabilities.bank"),
    ],
)
def test_what_this_version_does_not_bring_is_named_before_anything_is_built(
    change: dict[str, object], key: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_container(merged(embedded_mapping(), change))
    assert key in [fault.key for fault in caught.value.faults]


def embedded_mapping() -> dict[str, object]:
    from openvlharness_app.settings_mapping import settings_to_mapping

    mapping = settings_to_mapping(load_preset("embedded"))
    mapping["services"]["tools"]["ocr"] = {"server_url": "http://127.0.0.1:1"}  # type: ignore[index]
    return mapping


def merged(mapping: dict[str, object], change: dict[str, object]) -> dict[str, object]:
    result = dict(mapping)
    for key, value in change.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def test_one_container_opened_twice_keeps_its_overrides_and_makes_the_rest_anew(picture: bytes) -> None:
    container = container_with(saying("<answer>1</answer>"), saying("<answer>2</answer>"))
    question = Question("How many?", [ImageInput.from_bytes(picture)])
    answers = []
    for _ in range(2):
        with open_agent_sync(container) as agent:
            answers.append(agent.answer(question).answer)
    assert answers == ["1", "2"]


def test_one_container_serves_one_agent_at_a_time() -> None:
    container = container_with()
    with open_agent_sync(container), pytest.raises(HarnessError, match="open agent"), open_agent_sync(container):
        pass


class _IgnoresBeingCancelled:
    """A double that goes on whatever happens."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.set()
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()


def test_leaving_does_not_wait_for_a_call_that_ignores_being_cancelled() -> None:
    model, cancellation = _IgnoresBeingCancelled(), Cancellation()
    container = build_container(load_preset("embedded"))
    container.chat_model.override(model)
    with open_agent_sync(container) as agent, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(agent.answer, QUESTION, cancellation=cancellation)
        assert model.asked.wait(10)
        cancellation.cancel()
        assert answer.result(10).stop_reason == "cancelled"


def test_a_closed_agent_says_so() -> None:
    with open_agent_sync(container_with(calling("nothing"), saying("<answer>1</answer>"))) as agent:
        stream = agent.stream(QUESTION)
        next(stream)
    with pytest.raises(RuntimeError, match="has been closed"):
        agent.answer(QUESTION)
    stream.close()


@pytest.mark.parametrize("left_open", ["manager.__enter__()", "a = manager.__enter__(); s = a.stream(q); next(s)"])
def test_an_agent_left_open_lets_the_interpreter_end_in_silence(left_open: str) -> None:
    program = f"""
from openvlharness_app import build_container, load_preset, open_agent_sync
from openvlharness_core import Question
from openvlharness_core.testing import ScriptedModel, calling
container = build_container(load_preset("embedded"))
container.chat_model.override(ScriptedModel([calling("nothing")]))
q = Question("How many?")
manager = open_agent_sync(container)
{left_open}
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
