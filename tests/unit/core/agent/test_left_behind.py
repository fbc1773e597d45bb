"""What other people's code may do to the loop and to what questions share."""

from __future__ import annotations

import asyncio
import gc

import attrs
import pytest

from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.messages import ModelReply, ModelRequest
from openvlharness_core.readonly import read_only
from openvlharness_core.testing import FakeClock, FakeCodec, FakeZoom, ScriptedModel, calling, saying
from openvlharness_core.waiting import held, released, within
from tests.unit.core.agents import QUESTION, ZOOM, agent
from tests.unit.core.kit import PROMPTS


class Panic(BaseException):
    """What an extension written in another language raises."""


class _Ends:
    """A zoom double that raises what it was given."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def crop(self, *_: object, timeout_seconds: float) -> object:
        raise self.error


@pytest.mark.parametrize("error", [SystemExit(3), Panic("x"), GeneratorExit(), BaseExceptionGroup("x", [Panic()])])
async def test_a_backend_that_wants_the_process_to_end_ends_its_own_call(error: BaseException) -> None:
    model = ScriptedModel([calling("Zoom_In_Tool", ZOOM), saying("<answer>x</answer>")])
    tool = ZoomCapability(backend=_Ends(error))  # type: ignore[arg-type]
    report = await attrs.evolve(agent(model), toolset=Toolset([tool])).answer(QUESTION)
    assert report.answer == "x"
    assert [step.result.failure.code for step in report.steps if hasattr(step, "result")] == ["tool_execution_error"]


@pytest.mark.parametrize("error", [SystemExit(3), Panic("x"), AssertionError("mine")])
async def test_a_model_that_raises_anything_ends_in_a_report(error: BaseException) -> None:
    class Model:
        async def complete(self, request: ModelRequest) -> ModelReply:
            raise error

    assert (await agent(Model()).answer(QUESTION)).stop_reason == "model_failed"


async def test_an_error_that_nobody_awaits_any_more_is_no_noise() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def call() -> None:
        await future

    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    waiting = asyncio.ensure_future(within(FakeClock(), 5.0, call()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    future.set_exception(ValueError("late"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises((asyncio.CancelledError, ValueError)):
        await waiting
    del waiting
    gc.collect()
    assert complaints == []


async def test_held_lets_only_cancelling_and_interrupts_through() -> None:
    async def fail(error: BaseException) -> None:
        raise error

    with pytest.raises(SystemExit):
        released(await held(fail(SystemExit(1))))
    with pytest.raises(KeyboardInterrupt):
        await held(fail(KeyboardInterrupt()))
    with pytest.raises(asyncio.CancelledError):
        await held(fail(asyncio.CancelledError()))


async def test_a_model_cannot_change_what_a_tool_takes() -> None:
    class Model:
        async def complete(self, request: ModelRequest) -> ModelReply:
            request.tools[0].parameters["properties"].clear()  # type: ignore[attr-defined]
            raise AssertionError("it could")

    tools = Toolset([ZoomCapability(backend=FakeZoom(FakeCodec()))])
    assert (await attrs.evolve(agent(Model()), toolset=tools).answer(QUESTION)).stop_reason == "model_failed"
    assert "image_id" in tools.specs(PROMPTS)[0].parameters["properties"]  # type: ignore[operator]


def test_read_only_data_is_equal_and_refuses_every_change() -> None:
    data = {"a": [1, {"b": 2}]}
    shared = read_only(data)
    assert shared == {"a": (1, {"b": 2})}
    for change in (
        lambda: shared.update(a=1),
        lambda: shared.pop("a"),
        shared["a"][1].clear,
        lambda: shared.setdefault("c", 1),
        lambda: shared.__ior__({"c": 1}),
        lambda: shared.__setitem__("a", 1),
        lambda: shared.__delitem__("a"),
    ):
        with pytest.raises(TypeError):
            change()
