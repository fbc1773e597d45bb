"""Which exchanges are recorded, and that recording changes nothing."""

from __future__ import annotations

import asyncio

import attrs

from openvlharness_core.agent.raw_trace import RawTraceRecorder
from openvlharness_core.errors import ContextLengthError, ModelUnavailableError
from openvlharness_core.messages import ModelReply
from openvlharness_core.testing import RecordingTracer, calling, saying
from tests.unit.core.agents import QUESTION, ZOOM, agent, model_of


def _native(reply: ModelReply, native: str) -> ModelReply:
    return attrs.evolve(reply, native=native)


LOOKING = [_native(calling("Zoom_In_Tool", ZOOM), "first"), _native(saying("<answer>2</answer>"), "second")]


async def test_each_reply_is_kept_with_its_own_request() -> None:
    recorder = RawTraceRecorder()
    made = agent(LOOKING, tracer=recorder)
    report = await made.answer(QUESTION)
    (question,) = recorder.question_ids
    exchanges = recorder.take(question)
    assert [exchange.native for exchange in exchanges] == ["first", "second"]
    assert [exchange.request for exchange in exchanges] == model_of(made).requests
    assert recorder.question_ids == ()
    assert recorder.take(question) == ()
    assert report == await agent(LOOKING, tracer=None).answer(QUESTION)


async def test_a_request_without_a_reply_is_none_and_its_successor_is() -> None:
    recorder = RawTraceRecorder()
    again = _native(calling("Zoom_In_Tool", ZOOM), "again")
    script = [LOOKING[0], again, ContextLengthError("context_length_exceeded", "too long"), LOOKING[1]]
    made = agent(script, tracer=recorder, rules={"context_error_fallback": True})
    await made.answer(QUESTION)
    asked = model_of(made).requests
    exchanges = recorder.take(recorder.question_ids[0])
    assert [exchange.request for exchange in exchanges] == [asked[0], asked[1], asked[3]]
    assert asked[3] != asked[2]
    assert [exchange.native for exchange in exchanges] == ["first", "again", "second"]


async def test_a_question_that_fails_at_once_leaves_nothing() -> None:
    recorder = RawTraceRecorder()
    await agent([ModelUnavailableError("connection", "refused")], tracer=recorder).answer(QUESTION)
    assert recorder.question_ids == ()


async def test_questions_side_by_side_are_kept_apart() -> None:
    recorder = RawTraceRecorder()
    made = [agent([_native(saying("<answer>1</answer>"), native)], tracer=recorder) for native in "abc"]
    await asyncio.gather(*(each.answer(QUESTION) for each in made))
    taken = [recorder.take(question) for question in recorder.question_ids]
    assert sorted(exchange.native or "" for (exchange,) in taken) == ["a", "b", "c"]


async def test_another_tracer_sees_everything() -> None:
    alone, inner = RecordingTracer(), RecordingTracer()
    await agent(LOOKING, tracer=alone).answer(QUESTION)
    recorder = RawTraceRecorder(inner)
    recorder.note("q", "kind", "text")
    await agent(LOOKING, tracer=recorder).answer(QUESTION)
    assert (inner.events, inner.effects) == (alone.events, alone.effects)
    assert inner.notes == [("kind", "text"), *alone.notes]
