"""The agent over doubles: what it performs, records and refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from openvlharness_core.agent import runner
from openvlharness_core.agent.protocol import AskModel, CallFinished, Finish, ModelReplied, RunCall, Started
from openvlharness_core.agent.steps import EnvironmentUpdateStep, Finished, ModelStep, ToolStep
from openvlharness_core.calls import Findings
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.errors import (
    ContextLengthError,
    InvalidQuestionError,
    ModelRefusedError,
    ModelUnavailableError,
    SavedFileError,
)
from openvlharness_core.messages import ImagePart, ModelReply, TextPart, UserMessage
from openvlharness_core.question import Exchange, ImageInput, Question
from openvlharness_core.testing import (
    FakeClock,
    FakeCodec,
    FakeFetcher,
    FakeOcr,
    FakeZoom,
    InMemoryReportStore,
    RecordingTracer,
    WordCounter,
    calling,
    fake_image,
    saying,
)
from tests.unit.core.agents import QUESTION, URL, ZOOM, Own, agent, image, model_of, notes_of
from tests.unit.core.kit import breaches, text_of

ANSWER = saying("<answer>4</answer>")
LOOKING = [calling("Zoom_In_Tool", ZOOM), calling("OCR_Tool", {"image_id": "tool_generated_image_1"}), ANSWER]


async def test_a_question_from_its_pictures_to_its_report() -> None:
    made = agent(LOOKING)
    report = await made.answer(QUESTION, task_id="t1")
    assert (report.answer, report.stop_reason, report.error, report.task_id) == ("4", "answered", None, "t1")
    kinds = [type(step) for step in report.steps]
    looked = [ModelStep, ToolStep, EnvironmentUpdateStep]
    assert kinds == [EnvironmentUpdateStep, *looked, *looked, ModelStep]
    assert [record.handle for record in report.images] == ["input_image_1", "tool_generated_image_1"]
    assert [record.name for record in report.bindings] == ["ocr_result"]
    model_of(made).assert_spent()
    record = json.loads(json.dumps(report.to_dict()))
    assert record["schema"] == "openvlharness.report/1"
    assert record["steps"][5]["data"]["text"] == "7"
    assert record["bindings"]["ocr_result"]["fields"]["to_source"]["shape"] == [2, 3], "found on a crop"
    assert record["usage"]["tools"]["OCR_Tool"]["calls"] == 1


async def test_the_stream_yields_the_steps_of_the_report() -> None:
    report = await agent(LOOKING).answer(QUESTION)
    seen = [step async for step in agent(LOOKING).stream(QUESTION)]
    last = seen.pop()
    assert isinstance(last, Finished)
    assert tuple(seen) == last.report.steps
    assert last.report == report


async def test_a_step_is_yielded_before_the_next_request() -> None:
    made = agent(LOOKING)
    requests_at = [(type(step), len(model_of(made).requests)) async for step in made.stream(QUESTION)]
    assert requests_at[0] == (EnvironmentUpdateStep, 0)
    assert requests_at[1:4] == [(ModelStep, 1), (ToolStep, 1), (EnvironmentUpdateStep, 1)]


async def test_the_tracer_sees_every_event_and_effect() -> None:
    made = agent([calling("Own_Tool"), ANSWER], Own())
    await made.answer(QUESTION)
    tracer = made.tracer
    assert isinstance(tracer, RecordingTracer)
    assert [type(event) for event in tracer.events] == [Started, ModelReplied, CallFinished, ModelReplied]
    assert [type(effect) for effect in tracer.effects] == [AskModel, RunCall, AskModel, Finish]


async def test_without_a_tracer_everything_is_the_same() -> None:
    assert (await agent(LOOKING, tracer=None).answer(QUESTION)) == (await agent(LOOKING).answer(QUESTION))


async def test_seconds_are_those_of_the_clock() -> None:
    clock = FakeClock(auto=True)

    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        await hands.clock.sleep(2.5)
        return Findings(data={})

    report = await agent([calling("Own_Tool"), ANSWER], Own(does=does), clock=clock).answer(QUESTION)
    assert report.seconds == 2.5
    assert [step.seconds for step in report.steps if isinstance(step, ToolStep)] == [2.5]
    assert report.usage["tools"]["Own_Tool"] == {"calls": 1, "failed": 0, "seconds": 2.5}


async def test_converted_arguments_are_noted_and_reach_the_tool() -> None:
    seen: list[Mapping[str, object]] = []

    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        seen.append(arguments)
        return Findings(data={})

    own = Own(does=does, parameters={"properties": {"n": {"type": "integer"}}})
    made = agent([calling("Own_Tool", {"n": "3"}), ANSWER], own)
    await made.answer(QUESTION)
    assert seen == [{"n": 3}]
    assert notes_of(made, "argument_converted") == ["n: numeric text '3' taken as a number"]


@pytest.mark.parametrize(
    ("error", "reason", "code"),
    [
        (ModelUnavailableError("timeout", "no answer"), "model_failed", "timeout"),
        (ModelRefusedError("http_401", "wrong key"), "model_failed", "http_401"),
        (ContextLengthError("context_length_exceeded", "too long"), "context_exceeded", "context_length_exceeded"),
        (RuntimeError("surprise"), "model_failed", "model_error"),
    ],
)
async def test_a_model_that_fails_leaves_the_partial_trajectory(error: Exception, reason: str, code: str) -> None:
    report = await agent([calling("Zoom_In_Tool", ZOOM), error]).answer(QUESTION)
    assert (report.answer, report.stop_reason) == (None, reason)
    assert report.error is not None
    assert report.error.code == code
    assert [record.handle for record in report.images] == ["input_image_1", "tool_generated_image_1"]
    assert "surprise" not in json.dumps(report.to_dict()), "what a bug says is for the trace alone"


async def test_the_traceback_of_a_model_adapter_is_traced() -> None:
    made = agent([RuntimeError("surprise")])
    await made.answer(QUESTION)
    assert "RuntimeError: surprise" in notes_of(made, "model_bug")[0]


async def test_a_script_that_was_not_followed_is_raised() -> None:
    with pytest.raises(AssertionError, match="request 1 was not scripted"):
        await agent([]).answer(QUESTION)


async def test_a_bug_in_core_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fold(*_: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(runner, "fold", fold)
    with pytest.raises(KeyError, match="ours"):
        await agent([ANSWER]).answer(QUESTION)


def _remote(part: ImageInput) -> Question:
    return Question("What?", [image(), part])


@pytest.mark.parametrize(
    ("question", "part"),
    [
        (_remote(ImageInput.from_bytes(b"no picture", name="x.png")), "image 2 (x.png)"),
        (_remote(ImageInput.from_bytes(b"")), "image 2"),
        (_remote(ImageInput.from_path("missing.png")), "image 2 (missing.png)"),
        (_remote(ImageInput.from_data_url("data:image/png;base64", name="d")), "image 2 (d)"),
        (_remote(ImageInput.from_data_url("data:image/png;base64,no picture")), "image 2"),
        (_remote(ImageInput.from_url("https://example.com/missing.png")), "image 2 (https://example.com/missing.png)"),
        (Question(parts=[ImageInput.from_bytes(b"no"), "What?", image()]), "image 1"),
        ("What?", "question"),
        (None, "question"),
    ],
)
async def test_a_part_that_cannot_be_taken_in_is_named_before_any_request(question: Any, part: str) -> None:
    made = agent([ANSWER])
    with pytest.raises(InvalidQuestionError) as raised:
        await made.answer(question)
    assert raised.value.part == part
    assert model_of(made).requests == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ([("a", "b")], "expected an Exchange, got tuple"),
        ([Exchange(question="a", answer="b"), "c"], "expected an Exchange, got str"),
        ([Exchange(question=" ", answer="b")], "expected a question, got no text"),
        ([Exchange(question="a", answer=None)], "expected a text as answer, got NoneType"),  # type: ignore[arg-type]
    ],
)
async def test_a_history_that_is_none_is_named(history: Any, problem: str) -> None:
    with pytest.raises(InvalidQuestionError, match=f"history {len(history)}: {problem}"):
        await agent([ANSWER]).answer(QUESTION, history=history)


async def test_one_bad_picture_stops_the_others() -> None:
    class Slow:
        cancelled = False

        async def fetch(self, source: str) -> bytes:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                Slow.cancelled = True
                raise
            raise AssertionError

    question = Question("What?", [ImageInput.from_url(URL), ImageInput.from_bytes(b"no picture")])
    with pytest.raises(InvalidQuestionError, match="image 2"):
        await agent([ANSWER], fetcher=Slow()).answer(question)
    await asyncio.sleep(0)
    assert Slow.cancelled


async def test_earlier_questions_come_as_text_and_pictures_under_the_same_handles() -> None:
    made = agent([ANSWER])
    report = await made.answer(
        QUESTION, history=[Exchange(question="Before?", answer="3"), Exchange(question="Odd\ud83d", answer="")]
    )
    (request,) = model_of(made).requests
    assert [text_of(message).strip() for message in request.messages[:5]] == [
        "system",
        "Before?",
        "3",
        "Odd\ufffd",
        "empty reply",
    ]
    assert breaches(request.messages) == []
    assert report.to_dict()["question"][0] == {"type": "exchange", "question": "Before?", "answer": "3"}


async def test_forty_pictures() -> None:
    made = agent([calling("Zoom_In_Tool", ZOOM | {"image_id": "input_image_40"}), ANSWER], rules={"max_pictures": 8})
    report = await made.answer(Question("Which?", [image(str(number)) for number in range(40)]))
    assert len(report.images) == 41
    first = model_of(made).requests[0].messages[1]
    assert isinstance(first, UserMessage)
    assert sum(isinstance(part, ImagePart) for part in first.parts) == 8
    assert report.images[-1].parents == ("input_image_40",), "one that was not shown can be looked at"


async def test_a_remote_picture_shown_by_its_url_is_downloaded_once_and_stays() -> None:
    calls = [calling("OCR_Tool", {"image_id": "input_image_1"})] * 2

    class Broken(FakeOcr):
        async def read(self, image: Any, *, timeout_seconds: float) -> Any:
            self.calls += 1
            if self.calls == 1:
                raise RuntimeError("the first time it breaks")
            return await FakeOcr(("7",)).read(image, timeout_seconds=timeout_seconds)

    made = agent([*calls, ANSWER], remote_images="pass_url", toolset=Toolset([OcrCapability(backend=Broken())]))
    report = await made.answer(Question("What?", [ImageInput.from_url(URL)]))
    first, second, third = model_of(made).requests
    assert isinstance(first.messages[1], UserMessage)
    assert first.messages[1].parts[-1] == ImagePart(handle="input_image_1", url=URL)
    assert "- input_image_1: question, size unknown" in text_of(first.messages[2])
    assert isinstance(made.fetcher, FakeFetcher)
    assert made.fetcher.fetched == [URL], "once, though the call failed after it"
    assert second.messages[:3] == third.messages[:3] == first.messages, "the URL goes on being shown"
    assert "- input_image_1: question, 200x100 px" in text_of(third.messages[-1])
    assert report.images[0].size_hw == (100, 200)
    assert report.images[0].url == URL


async def test_a_download_that_fails_is_a_failed_call() -> None:
    made = agent([calling("Zoom_In_Tool", ZOOM), ANSWER], remote_images="pass_url")
    report = await made.answer(Question("What?", [ImageInput.from_url("https://example.com/gone.png")]))
    (step,) = [step for step in report.steps if isinstance(step, ToolStep)]
    assert step.result.failure is not None
    assert step.result.failure.code == "backend_unavailable"
    assert report.images[0].picture is None
    record = report.to_dict()["images"]["input_image_1"]
    assert (record["file"], record["size"], record["source"]) == (None, None, "https://example.com/gone.png")


async def test_a_remote_picture_is_downloaded_at_once_unless_its_url_is_passed() -> None:
    made = agent([ANSWER])
    report = await made.answer(Question("What?", [ImageInput.from_url(URL)]))
    assert report.images[0].size_hw == (100, 200)


async def test_several_of_one_call_download_a_remote_picture_once() -> None:
    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        both = await asyncio.gather(
            hands.image("input_image_1"), hands.image("INPUT_IMAGE_1.png"), hands.image("input_image_2")
        )
        return Findings(data={"sizes": [list(picture.full.size_hw) for _, picture in both]})

    class Yielding(FakeFetcher):
        async def fetch(self, source: str) -> bytes:
            await asyncio.sleep(0)
            return await FakeFetcher.fetch(self, source)

    fetcher = Yielding({URL: fake_image(100, 200), URL + "2": fake_image(3, 4)})
    made = agent([calling("Own_Tool"), ANSWER], Own(does=does), remote_images="pass_url", fetcher=fetcher)
    report = await made.answer(Question("What?", [ImageInput.from_url(URL), ImageInput.from_url(URL + "2")]))
    assert sorted(fetcher.fetched) == [URL, URL + "2"]
    assert [record.size_hw for record in report.images] == [(100, 200), (3, 4)]


async def test_lone_surrogates_get_nowhere() -> None:
    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        return Findings(data={"text": "a\ud83d"}, backend="b\ud83d", sidecars={"\ud83d": 1})

    own = Own(does=does, shows=lambda *_: (TextPart(text="seen \ud83d 😀"),))
    replies = [
        calling("Own_Tool", '{"x": "\\ud83d"}', text="hm \ud83d"),
        calling("Own_Tool"),
        saying("<answer>\ud83d 😀</answer>"),
    ]
    made = agent(replies, own)
    report = await made.answer(Question("a\ud83d b", [image()]), task_id="t\ud83d")
    for request in model_of(made).requests:
        assert breaches(request.messages) == []
    json.dumps(report.to_dict(), ensure_ascii=False).encode()
    assert report.answer == "\ufffd 😀"
    assert "seen \ufffd 😀" in text_of(model_of(made).requests[2].messages[-2])


async def test_checkpoints_need_a_store() -> None:
    with pytest.raises(ValueError, match="expected an agent with a report store"):
        await agent([ANSWER]).answer(QUESTION, checkpoint_to="x")


async def test_a_checkpoint_that_cannot_be_written_is_raised() -> None:
    class Full(InMemoryReportStore):
        async def save_checkpoint(self, checkpoint: object, location: str) -> None:
            raise SavedFileError(location, "no space left")

    with pytest.raises(SavedFileError, match="no space left"):
        await agent([ANSWER], report_store=Full()).answer(QUESTION, checkpoint_to="x")


async def test_questions_side_by_side_do_not_meet() -> None:
    def reply(request: Any) -> ModelReply:
        return saying(f"<answer>{text_of(request.messages[1]).splitlines()[1]}</answer>")

    made = agent([reply] * 20)
    reports = await asyncio.gather(*(made.answer(Question(f"q{number}", [image(str(number))])) for number in range(20)))
    assert [report.answer for report in reports] == [f"q{number}" for number in range(20)]
    assert all(len(report.images) == 1 for report in reports)


async def test_requests_are_counted_where_the_policy_counts_and_a_counter_is() -> None:
    counter = WordCounter()
    rules = {"count_tokens": True, "max_context_length": 9000}
    await agent(LOOKING, rules=rules, token_counter=counter).answer(QUESTION)
    assert counter.counted == 1 + 2 * 4
    report = await agent(LOOKING, rules=rules).answer(QUESTION)
    assert report.answer == "4", "without a counter the provider enforces its limit"


@pytest.mark.parametrize(
    "count",
    [
        lambda segments, tools: 1 / 0,
        lambda segments, tools: (),
        lambda segments, tools: None,
        lambda segments, tools: ("1",) * (len(segments) + 1),
    ],
)
async def test_a_counter_that_fails_leaves_it_to_the_provider(count: Any) -> None:
    class Broken:
        def count(self, segments: Any, tools: Any) -> Any:
            return count(segments, tools)

    made = agent(LOOKING, rules={"count_tokens": True, "max_context_length": 9000}, token_counter=Broken())
    assert (await made.answer(QUESTION)).answer == "4"
    assert len(notes_of(made, "tokens_not_counted")) == 3


async def test_pictures_are_taken_in_once_each() -> None:
    made = agent(LOOKING)
    await made.answer(QUESTION)
    assert made.codec.taken_in == 2, "the question's and the crop"  # type: ignore[attr-defined]


async def test_backends_are_asked_once_a_call() -> None:

    zoom, ocr = FakeZoom(FakeCodec()), FakeOcr(("7",))
    made = attrs.evolve(agent(LOOKING), toolset=Toolset([ZoomCapability(backend=zoom), OcrCapability(backend=ocr)]))
    await made.answer(QUESTION)
    assert (zoom.calls, ocr.calls) == (1, 1)
