"""Replays: nothing differs when nothing changed, and whatever was changed is named by its place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings

from contracts.ports.sample_question import (
    OCR,
    SURVEY,
    ZOOM,
    SurveyCapability,
    sample_agent,
    sample_policy,
    sample_question,
    sample_replies,
    sample_run,
    sample_toolset,
)
from openvlharness_adapters.files.report_store import read_report, write_report
from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_core.agent.comparing import NOTHING, Difference, differences, step_differences
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.replay import MORE, replay, replayed, replayed_requests
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.steps import EnvironmentUpdateStep, ToolStep
from openvlharness_core.agent.watch import Cancellation
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.errors import ContextLengthError, ModelUnavailableError, UnreadableImageError
from openvlharness_core.messages import ModelRequest
from openvlharness_core.pictures import EncodedImage, ImageLimits, Picture
from openvlharness_core.profile import ModelProfile
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.question import Question
from openvlharness_core.testing import FakeCodec, WordCounter, calling, plain_prompts, saying
from tests.support.random_runs import RandomRun, random_runs


@pytest.fixture(scope="module")
def report() -> Report:
    return asyncio.run(sample_run())


def _replay(report: Report, policy: TurnPolicy | None = None, toolset: Toolset | None = None) -> list[str]:
    found = replay(report, toolset or sample_toolset(), policy or sample_policy(), FakeCodec(), ImageLimits())
    return [str(difference) for difference in found]


def _places(report: Report, policy: TurnPolicy | None = None, toolset: Toolset | None = None) -> list[str]:
    found = replay(report, toolset or sample_toolset(), policy or sample_policy(), FakeCodec(), ImageLimits())
    return [difference.place for difference in found]


# --- nothing differs -------------------------------------------------------------------------------------------------


def _bodies(requests: tuple[ModelRequest, ...]) -> list[bytes]:
    profile = ModelProfile(alias="any", replay_fields=("reasoning_details", "reasoning_content"))
    encoder = ChatEncoder(profile=profile, opening=b'{"model":"m","messages":[')
    return [b"".join(encoder.body(request)) for request in requests]


async def test_a_loaded_report_sends_the_same_bytes_again(tmp_path: Path) -> None:
    agent = sample_agent(list(sample_replies()))
    report = await agent.answer(sample_question(), task_id="sample")
    write_report(report, tmp_path)
    again = replayed(read_report(tmp_path), sample_toolset(), sample_policy(), FakeCodec(), ImageLimits())
    assert again.differences == ()
    assert _bodies(again.requests) == _bodies(tuple(agent.model.requests))  # type: ignore[attr-defined]
    assert len(again.requests) == 12
    assert b"reasoning_details" in _bodies(again.requests)[-1]


@given(random_runs())
@settings(max_examples=60)
def test_any_question_replays_to_itself(run: RandomRun) -> None:
    again = replayed(run.report, sample_toolset(), run.policy, FakeCodec(), run.limits)
    assert again.differences == ()
    assert again.requests[: len(run.requests)] == run.requests
    assert len(again.requests) - len(run.requests) <= (run.report.stop_reason == "cancelled")


@pytest.mark.parametrize("error", [ModelUnavailableError("timeout", "no reply"), ContextLengthError("context", "long")])
@pytest.mark.parametrize("before", [0, 1, 3])
async def test_a_question_that_the_model_ended(error: Exception, before: int) -> None:
    replies: list[Any] = [*sample_replies()[:before], error, error]
    agent = sample_agent(replies)
    report = await agent.answer(sample_question())
    assert report.stop_reason in {"model_failed", "context_exceeded"}
    again = replayed(report, sample_toolset(), sample_policy(), FakeCodec(), ImageLimits())
    assert again.differences == ()
    assert again.requests == tuple(agent.model.requests)  # type: ignore[attr-defined]


@pytest.mark.parametrize("deadline", [0.0, 100.0])
async def test_a_question_that_ran_out_of_time(deadline: float) -> None:
    policy = sample_policy(deadline_seconds=deadline)
    report = await sample_run(policy=policy)  # waiting for a tool moves the clock far on
    assert report.stop_reason == "deadline"
    assert _replay(report, policy) == []


async def test_a_question_that_was_given_up_in_a_tool() -> None:
    cancellation = Cancellation()

    class Impatient(SurveyCapability):
        async def perform(self, arguments: Any, hands: Any) -> Any:
            cancellation.cancel()
            await asyncio.Event().wait()

    toolset = Toolset([Impatient()])
    agent = sample_agent([calling(SURVEY, {"image_id": "input_image_1"})], toolset=toolset)
    report = await agent.answer(sample_question(), cancellation=cancellation)
    assert report.stop_reason == "cancelled"
    assert report.steps[-1].result.failure.code == "cancelled"  # type: ignore[union-attr]
    assert _replay(report, toolset=toolset) == []


async def test_a_history_that_was_compacted_by_counts() -> None:
    policy = sample_policy(count_tokens=True, max_context_length=900, reserved_output_tokens=100)
    agent = sample_agent(list(sample_replies()), policy=policy, token_counter=WordCounter())
    report = await agent.answer(sample_question())
    assert any(getattr(step, "reason", None) == "tokens" for step in report.steps)
    again = replayed(report, sample_toolset(), policy, FakeCodec(), ImageLimits())
    assert again.differences == ()
    assert again.requests == tuple(agent.model.requests)  # type: ignore[attr-defined]
    wider = attrs.evolve(policy, max_context_length=100_000)
    assert any(".kind" in place for place in _places(report, wider))


async def test_a_remote_picture_arrives_when_it_arrived_then() -> None:
    replies = [
        calling(OCR, {"image_id": "input_image_1"}),
        calling(SURVEY, {"image_id": "input_image_2", "reason": "dark"}),
        calling(ZOOM, {"image_id": "input_image_2", "coords": [0, 0, 500, 500]}),
        saying("<answer>1</answer>"),
    ]
    agent = sample_agent(replies)
    report = await agent.answer(sample_question())
    update = [step.text for step in report.steps if isinstance(step, EnvironmentUpdateStep)]
    assert ["size unknown" in text for text in update] == [True, True, False]
    again = replayed(report, sample_toolset(), sample_policy(), FakeCodec(), ImageLimits())
    assert again.differences == ()
    assert again.requests == tuple(agent.model.requests)  # type: ignore[attr-defined]
    assert again.requests == replayed_requests(report, sample_toolset(), sample_policy(), FakeCodec(), ImageLimits())


class ReencodingCodec(FakeCodec):
    """Gives every picture that came in colour the same bytes in full, and sends half of it: identity is that of what came."""

    def take_in(self, data: bytes, limits: ImageLimits) -> Picture:
        picture = super().take_in(data, limits)
        if b"colour" in data:
            full = EncodedImage(data=b"FAKE 40 60 grey", media_type="image/png", size_hw=(40, 60))
            picture = attrs.evolve(picture, full=full, sent=full, notes=("turned grey",))
        height, width = picture.full.size_hw
        if limits.max_side is not None and limits.max_side < max(height, width):
            data = b"FAKE 20 30 half of " + picture.full.data[-4:]
            picture = attrs.evolve(picture, sent=attrs.evolve(picture.full, data=data, size_hw=(20, 30)))
        return picture


async def test_pictures_that_had_to_change_keep_their_identity(tmp_path: Path) -> None:
    """Two pictures that came as different bytes and are the same in full have two handles, then and now."""
    red, blue = b"FAKE 40 60 red colour", b"FAKE 40 60 blue colour"
    question = Question(text="Same?", images=sample_question().parts[1:2])  # type: ignore[arg-type]
    limits = ImageLimits(max_side=30)
    replies = [calling(SURVEY, {"image_id": "input_image_1"})] * 2
    crops = iter((red, blue))

    class TwoColours(ReencodingCodec):
        def crop(self, image: EncodedImage, region_xyxy_px: Any) -> EncodedImage:
            return EncodedImage(data=next(crops), media_type="image/png", size_hw=(40, 60))

    agent = sample_agent([*replies, saying("<answer>no</answer>")], codec=TwoColours(), limits=limits)
    report = await agent.answer(question)
    assert [record.handle for record in report.images][1:] == ["tool_generated_image_1", "tool_generated_image_2"]
    write_report(report, tmp_path)
    loaded = read_report(tmp_path)
    assert loaded == report
    again = replayed(loaded, sample_toolset(), sample_policy(), ReencodingCodec(), limits)
    assert again.differences == ()
    assert again.requests == tuple(agent.model.requests)  # type: ignore[attr-defined]
    other = replayed(loaded, sample_toolset(), sample_policy(), ReencodingCodec(), ImageLimits())
    assert "images.input_image_1.private.picture.sent" in {difference.place for difference in other.differences}


# --- the record was changed ------------------------------------------------------------------------------------------


def _edited(report: Report, folder: Path, edit: Callable[[Any], None]) -> Report:
    """The report after somebody has changed its `report.json` on disk."""
    write_report(report, folder)
    path = folder / "report.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    edit(record)
    path.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    return read_report(folder)


def _evidence(record: Any) -> None:
    text = record["steps"][2]["evidence"][0]["text"]
    record["steps"][2]["evidence"][0]["text"] = text[:9] + "~" + text[10:]


def _set(*way: str | int, value: object) -> Callable[[Any], None]:
    def edit(record: Any) -> None:
        for key in way[:-1]:
            record = record[key]
        assert record[way[-1]] != value
        record[way[-1]] = value

    return edit


def _one_character(*way: str | int, at: int) -> Callable[[Any], None]:
    def edit(record: Any) -> None:
        for key in way[:-1]:
            record = record[key]
        record[way[-1]] = record[way[-1]][:at] + "~" + record[way[-1]][at + 1 :]

    return edit


@pytest.mark.parametrize(
    ("edit", "place", "position"),
    [
        (_one_character("steps", 2, "evidence", 0, "text", at=9), "steps[2].evidence[0].text", 9),
        (_one_character("steps", 5, "evidence", 0, "text", at=20), "steps[5].evidence[0].text", 20),
        (_one_character("steps", 3, "text", at=30), "steps[3].text", 30),
        (_one_character("steps", 0, "text", at=3), "steps[0].text", 3),
        (_set("steps", 2, "evidence", 1, "handle", value="tool_generated_image_2"), "steps[2].evidence[1].handle", 21),
        (_set("steps", 2, "evidence", 1, "handle", value="tool_generated_image_9"), "steps[2].evidence[1].handle", 21),
        (_set("steps", 2, "artifacts", "images", 0, value="tool_generated_image_9"), "steps[2].artifacts.images[0]", None),
        (_set("steps", 2, "arguments", "coords", 2, value=499), "steps[2].arguments.coords[2]", None),
        (_set("steps", 1, "calls", 0, "id", value="z"), "steps[1].calls[0].id", None),
        (_set("steps", 2, "call_id", value="z"), "steps[2].call_id", 0),
        (_one_character("steps", 10, "data", "text", at=0), "steps[10].evidence[0].text", None),
        (_one_character("steps", 13, "error", "message", at=5), "steps[13].error.message", 5),
        (_set("steps", 13, "error", "code", value="budget_spent"), "steps[13].error.code", 0),
        (_set("answer", value="13.50"), "answer", 1),
        (_set("answer", value=None), "answer", None),
        (_set("stop_reason", value="no_answer"), "stop_reason", 0),
        (_set("images", "tool_generated_image_1", "parents", value=[]), "images.tool_generated_image_1.parents[0]", None),
        (_set("images", "tool_generated_image_1", "source", value="X"), "images.tool_generated_image_1.source", 0),
        (_set("pages", "webpage_url_1", "title", value="B"), "pages.webpage_url_1.title", None),
        (_set("question", 2, "handle", value="input_image_3"), "question[2].handle", 12),
    ],
)  # fmt: skip
def test_one_change_on_disk_is_named(
    report: Report, tmp_path: Path, edit: Callable[[Any], None], place: str, position: int | None
) -> None:
    loaded = _edited(report, tmp_path, edit)
    found = {each.place: each for each in replay(loaded, sample_toolset(), sample_policy(), FakeCodec(), ImageLimits())}
    if place in {
        "steps[1].calls[0].id",
        "pages.webpage_url_1.title",
    }:  # told to the engine, and seen in what it makes of it
        place = {"steps[1].calls[0].id": "steps[2].call_id"}.get(place, "steps[6].text")
    assert place in found
    if position is not None:
        assert found[place].position == position


def test_only_what_was_changed_is_named(report: Report, tmp_path: Path) -> None:
    [text] = _replay(_edited(report, tmp_path, _evidence))
    assert text == (
        "steps[2].evidence[0].text, character 9: "
        "recorded 'zoom imag~=input_image_1 handle=t', today 'zoom image=input_image_1 handle=t'"
    )


def test_a_changed_argument_of_the_model_is_seen_in_the_call(report: Report, tmp_path: Path) -> None:
    arguments = json.dumps({"image_id": "input_image_1", "coords": [0, 0, 500, 400]})
    loaded = _edited(report, tmp_path, _set("steps", 1, "calls", 0, "arguments", value=arguments))
    assert "steps[2].arguments.coords[3]" in _places(loaded)


def test_a_changed_reply_is_another_answer(report: Report, tmp_path: Path) -> None:
    loaded = _edited(report, tmp_path, _set("steps", -1, "text", value="It says <answer>12.51</answer>."))
    assert _replay(loaded) == ["answer, character 4: recorded '12.50', today '12.51'"]


def test_a_step_that_is_gone_or_new_disturbs_no_other_turn(report: Report, tmp_path: Path) -> None:
    last_update = len(report.steps) - 2
    loaded = _edited(report, tmp_path, lambda record: record["steps"].pop(last_update))
    assert _replay(loaded) == [f"steps[{last_update}].kind: recorded 'nothing', today 'environment_update'"]
    twice = attrs.evolve(report, steps=(*report.steps[:4], report.steps[3], *report.steps[4:]))
    assert _places(twice) == ["steps[4].kind"]


# --- today is another day --------------------------------------------------------------------------------------------


def test_another_wording_is_named_wherever_it_shows(report: Report) -> None:
    policy = sample_policy(prompts=plain_prompts(zoom="Cut $handle out of $image: $region, $size"))
    zooms = [
        position
        for position, step in enumerate(report.steps)
        if isinstance(step, ToolStep) and step.tool == ZOOM and step.result.ok
    ]
    assert len(zooms) == 2
    assert _places(report, policy) == [f"steps[{position}].evidence[0].text" for position in zooms]


def test_a_tool_that_is_gone(report: Report) -> None:
    toolset = Toolset([tool for tool in sample_toolset() if tool.name != ZOOM])
    texts = _replay(report, toolset=toolset)
    assert "steps[2].ok: recorded True, today False" in texts
    assert any(text.startswith("images.tool_generated_image_4: recorded {") for text in texts)


async def test_a_tool_that_has_come() -> None:
    """What was refused then would run today, and nobody knows what it would find."""
    toolset = Toolset([tool for tool in sample_toolset() if tool.name != OCR])
    replies = [calling(OCR, {"image_id": "input_image_1"}), saying("<answer>1</answer>")]
    report = await sample_agent(replies, toolset=toolset).answer(sample_question())
    assert _replay(report, toolset=toolset) == []
    [text] = _replay(report)
    assert text.startswith("steps[2].error: recorded 'unknown tool tool=OCR_Tool")
    assert text.endswith("today 'the call runs'")


def test_a_tool_that_cannot_show_what_it_found(report: Report) -> None:
    class Careless(SurveyCapability):
        def evidence(self, findings: Any, registered: Any, workspace: Any, prompts: PromptBundle) -> Any:
            return (findings.data["no such key"],)

    texts = _replay(report, toolset=sample_toolset().with_capability(Careless()))
    assert "steps[5].ok: recorded True, today False" in texts
    assert any("KeyError" in text for text in texts)


def test_a_budget_that_was_larger(report: Report) -> None:
    places = _places(report, sample_policy(max_iterations=4))
    assert any(place.startswith("steps[") for place in places)
    assert "stop_reason" in places


async def test_a_question_that_would_go_on_today() -> None:
    agent = sample_agent([saying("no tag")])
    report = await agent.answer(sample_question())
    [found] = replay(report, sample_toolset(), sample_policy(final_answer="answer_tag"), FakeCodec(), ImageLimits())
    assert found == Difference(place="stop_reason", recorded="answered", today=MORE)


async def test_a_question_that_would_stop_earlier_today() -> None:
    policy = sample_policy(final_answer="answer_tag")
    report = await sample_agent([saying("no tag"), saying("<answer>1</answer>")], policy=policy).answer(
        sample_question()
    )
    assert _replay(report, sample_policy()) == [
        "steps[2].kind: recorded 'model', today 'nothing'",
        "answer, character 0: recorded '1', today 'no tag'",
    ]


def test_a_codec_that_refuses_the_pictures(report: Report) -> None:
    class Strict(FakeCodec):
        def take_in(self, data: bytes, limits: ImageLimits) -> Picture:
            raise UnreadableImageError("expected something else")

    [found] = replay(report, sample_toolset(), sample_policy(), Strict(), ImageLimits())
    assert str(found) == "question: recorded 'pictures', today 'expected something else'"


def test_a_report_without_one_of_its_pictures(report: Report) -> None:
    missing = attrs.evolve(report, images=report.images[:1])
    [found] = replay(missing, sample_toolset(), sample_policy(), FakeCodec(), ImageLimits())
    assert found == Difference(place="question[3].handle", recorded="input_image_2", today=NOTHING)


# --- comparing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recorded", "today", "texts"),
    [
        ({"a": [1, 2]}, {"a": [1, 2]}, []),
        ({"a": [1, 2]}, {"a": [1, 3, 4]}, ["r.a[1]: recorded 2, today 3", "r.a[2]: recorded 'nothing', today 4"]),
        ({"a": 1}, {"b": None}, ["r.a: recorded 1, today 'nothing'", "r.b: recorded 'nothing', today None"]),
        ({"a": True}, {"a": 1}, ["r.a: recorded True, today 1"]),
        ("abc", "abcd", ["r, character 3: recorded 'abc', today 'abcd'"]),
        ([], {}, ["r: recorded [], today {}"]),
    ],
)
def test_differences_name_every_leaf(recorded: object, today: object, texts: list[str]) -> None:
    assert [str(difference) for difference in differences(recorded, today, "r")] == texts


def test_trajectories_are_compared_turn_by_turn() -> None:
    update = EnvironmentUpdateStep(text="a")
    assert list(step_differences((update,), (update,))) == []
    [found] = step_differences((), (update,))
    assert found.place == "steps[0].kind"
