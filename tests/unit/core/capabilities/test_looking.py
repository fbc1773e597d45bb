"""Zoom, OCR and coding over doubles: data, artifacts, evidence and failures."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import numpy as np
import pytest

from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.agent.steps import ToolStep
from openvlharness_core.calls import Findings, NewBinding
from openvlharness_core.capabilities.base import Capability
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.errors import BackendTimeoutError, BackendUnavailableError, ToolFailure, UnreadableImageError
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ImagePart, Part, TextPart
from openvlharness_core.pictures import ImageLimits, RemotePicture
from openvlharness_core.results import Answered, Outcome, TextLine, Transcription
from openvlharness_core.testing import (
    FakeClock,
    FakeCodec,
    FakeCodeExecutor,
    FakeCodeGenerator,
    FakeFetcher,
    FakeOcr,
    InlineOffload,
    ScriptedModel,
    calling,
    fake_image,
    saying,
)
from tests.unit.core.agents import QUESTION, ZOOM, agent
from tests.unit.core.kit import PROMPTS, picture


def hands(
    workspace: Workspace | None = None, clock: FakeClock | None = None, notes: list[tuple[str, str]] | None = None
) -> Hands:
    """Hands over doubles; without a workspace, one with a picture of 60 by 40."""
    return Hands(
        workspace=workspace or Workspace().with_input(picture("q")),
        limits=ImageLimits(),
        codec=FakeCodec(),
        fetcher=FakeFetcher(),
        offload=InlineOffload(),
        clock=clock or FakeClock(),
        note=lambda kind, text: None if notes is None else notes.append((kind, text)),
    )


async def use(
    tool: Capability, arguments: dict[str, object], with_hands: Hands | None = None
) -> tuple[Findings, list[Part], Workspace]:
    """Perform, register and render, as the runner does."""
    held = with_hands or hands()
    findings = await tool.perform(arguments, held)
    workspace, registered = held.workspace.register(findings, tool.name)
    return findings, list(tool.evidence(findings, registered, workspace, PROMPTS)), workspace


def tool_of(made: MainAgent, name: str) -> Capability:
    found = made.toolset.find(name)
    assert found is not None
    return found


ZOOM_TOOL = tool_of(agent([]), "Zoom_In_Tool")


async def test_a_zoom_is_a_picture_with_its_region_and_its_way_back() -> None:
    findings, evidence, workspace = await use(
        ZOOM_TOOL, {"image_id": "Input_Image_1.png", "coords": [250, 250, 510, 750], "padding": 2}
    )
    assert findings.data == {
        "image_id": "input_image_1",
        "coords": [250, 250, 510, 750],
        "padding": 2,
        "region_xyxy_px": [13, 8, 33, 32],
        "size_hw": [24, 20],
    }
    crop = workspace.images.resolve("tool_generated_image_1")
    assert (crop.size_hw, crop.parents, crop.to_source) == (
        (24, 20),
        ("input_image_1",),
        ((1.0, 0.0, 13.0), (0.0, 1.0, 8.0)),
    )
    text, shown = evidence
    assert text == TextPart(
        text="zoom image=input_image_1 handle=tool_generated_image_1 region=[13, 8, 33, 32] size=20x24"
    )
    assert isinstance(shown, ImagePart)
    assert crop.picture is not None
    assert shown.image is crop.picture.sent


@pytest.mark.parametrize("coords", [[0.1, 0.1, 0.9, 0.9], [0, 0, 1, 1], [0.25, 0, 0.5, 1.0]])
async def test_fractions_are_grid_numbers_and_never_guessed_into_a_share_of_the_picture(coords: list[float]) -> None:
    findings, evidence, _ = await use(ZOOM_TOOL, {"image_id": "input_image_1", "coords": coords, "padding": 0})
    assert findings.data["coords"] == coords
    assert findings.data["region_xyxy_px"] == [0, 0, 1, 1]
    assert isinstance(evidence[0], TextPart)
    assert str([0, 0, 1, 1]) in evidence[0].text


@pytest.mark.parametrize("coords", [[500, 0, 500, 10], [10, 0, 5, 10], [0, 10, 10, 10]])
async def test_a_box_without_area_is_told(coords: list[float]) -> None:
    with pytest.raises(ToolFailure, match="coords: expected") as raised:
        await use(ZOOM_TOOL, {"image_id": "input_image_1", "coords": coords, "padding": 0})
    assert raised.value.code == "invalid_tool_arguments"


async def test_an_unknown_picture_is_told_the_known_ones() -> None:
    with pytest.raises(ToolFailure, match="known ones: input_image_1") as raised:
        await use(ZOOM_TOOL, {"image_id": "photo", "coords": [0, 0, 10, 10], "padding": 0})
    assert raised.value.code == "unknown_reference"


@attrs.define
class Reader:
    """Reads what it was given."""

    value: Transcription

    async def read(self, image: Any, *, timeout_seconds: float) -> Answered[Transcription]:
        return Answered(value=self.value, backend="reader")


async def test_text_comes_with_places_on_the_grid_for_the_model_and_in_pixels_for_code() -> None:
    line = TextLine(text="EXIT\ud83d", box_xyxy_px=(6.0, 4.0, 30.0, 20.0), score=0.91234)
    tool = OcrCapability(backend=Reader(Transcription(text="EXIT\ud83d", lines=(line,))))
    findings, evidence, workspace = await use(tool, {"image_id": "input_image_1"})
    assert findings.data == {
        "image_id": "input_image_1",
        "text": "EXIT\ufffd",
        "lines": [{"text": "EXIT\ufffd", "bbox_2d": [100, 100, 500, 500], "score": 0.9123}],
        "left_out": 0,
    }
    assert workspace.values()["ocr_result"] == {
        "text": "EXIT\ufffd",
        "lines": [{"text": "EXIT\ufffd", "box": [6.0, 4.0, 30.0, 20.0], "score": 0.91234}],
        "image_id": "input_image_1",
    }
    assert [part.text for part in evidence if isinstance(part, TextPart)] == [
        "Text of input_image_1:\n```text\nEXIT\ufffd\n```",
        'Places:\n```json\n[\n{"bbox_2d": [100, 100, 500, 500], "label": "EXIT\ufffd"}\n]\n```',
    ]


async def test_nothing_readable_is_one_sentence_and_an_empty_list() -> None:
    findings, evidence, workspace = await use(OcrCapability(backend=FakeOcr()), {"image_id": "input_image_1"})
    assert (findings.data["text"], findings.data["lines"]) == ("", [])
    assert evidence == [TextPart(text="ocr nothing image=input_image_1")]
    assert list(workspace.values()) == ["ocr_result"]


@pytest.mark.parametrize("blank", ["", " ", " \n\t\n", "\u3000"])
async def test_a_blank_text_is_nothing_readable(blank: str) -> None:
    tool = OcrCapability(backend=Reader(Transcription(text=blank)))
    _, evidence, _ = await use(tool, {"image_id": "input_image_1"})
    assert evidence == [TextPart(text="ocr nothing image=input_image_1")]


async def test_a_backend_that_tells_no_places_leaves_them_null() -> None:
    tool = OcrCapability(backend=Reader(Transcription(text="EXIT")))
    findings, evidence, _ = await use(tool, {"image_id": "input_image_1"})
    assert findings.data["lines"] is None
    assert len(evidence) == 1


async def test_long_text_is_cut_with_a_notice_and_places_are_bounded() -> None:
    tool = OcrCapability(backend=FakeOcr(tuple(f"line {number} " + "x" * 60 for number in range(300))))
    findings, evidence, _ = await use(tool, {"image_id": "input_image_1"})
    said, places, rest = (part.text for part in evidence if isinstance(part, TextPart))
    assert "count=100" in rest
    assert f"[{len(str(findings.data['text'])) - 8000} more characters cut; the whole is in ocr_result['text']]" in said
    assert places.count("bbox_2d") == 200


async def test_a_backend_that_takes_too_long_is_cancelled() -> None:
    clock = FakeClock(auto=True)

    class Slow:
        cancelled = False

        async def read(self, image: Any, *, timeout_seconds: float) -> Any:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                Slow.cancelled = True
                raise

    with pytest.raises(BackendTimeoutError, match="ocr: no answer within 3 s"):
        await use(OcrCapability(backend=Slow(), timeout_seconds=3.0), {"image_id": "input_image_1"}, hands(clock=clock))
    assert Slow.cancelled


def coding(
    outcome: Outcome | Exception, program: str = "print(1)"
) -> tuple[CodingCapability, FakeCodeGenerator, FakeCodeExecutor]:
    class Failing(FakeCodeExecutor):
        async def run(self, *args: Any, **kwargs: Any) -> Outcome:
            await FakeCodeExecutor.run(self, *args, **kwargs)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

    generator, executor = FakeCodeGenerator(program), Failing()
    return CodingCapability(generator=generator, executor=executor), generator, executor


async def test_the_writer_sees_descriptors_and_the_executor_values() -> None:
    new = NewBinding(
        stem="depth_result", fields={"depth_meters": np.ones((2, 2), np.float32)}, image_id="input_image_1"
    )
    workspace, _ = Workspace().with_input(picture("q")).register(Findings(data={}, bindings=(new,)), "T")
    tool, generator, executor = coding(Outcome(stdout="1\n", variables={"x": "1"}, seconds=0.5))
    findings, evidence, _ = await use(tool, {"objective": "count"}, hands(workspace))
    assert generator.asked == [("count", workspace.descriptors())]
    (program, values) = executor.ran[0]
    assert program == "print(1)"
    assert isinstance(values["depth_result"]["depth_meters"], np.ndarray)  # type: ignore[index]
    assert findings.data == {
        "objective": "count",
        "program": "print(1)",
        "stdout": "1\n",
        "stderr": "",
        "variables": {"x": "1"},
        "execution_error": None,
        "timed_out": False,
        "seconds": 0.5,
    }
    assert evidence == [
        TextPart(text="```python\nprint(1)\n```\n\n```text\n1\n```\n\ncoding variables variables=x = 1")
    ]


async def test_a_program_that_fails_is_a_successful_call_that_says_so() -> None:
    tool, _, _ = coding(Outcome(stderr="warning", error="NameError: x"))
    findings, evidence, _ = await use(tool, {"objective": "count"})
    assert findings.data["execution_error"] == "NameError: x"
    (said,) = evidence
    assert isinstance(said, TextPart)
    assert "coding no output\n\ncoding error error=NameError: x\n\ncoding stderr stderr=warning" in said.text


async def test_pictures_of_a_program_are_registered_and_what_is_none_is_noted() -> None:
    notes: list[tuple[str, str]] = []
    tool, _, _ = coding(Outcome(images=(("plot.png", fake_image(5, 6, "plot")), ("broken.png", b"no picture"))))
    _, evidence, workspace = await use(tool, {"objective": "plot"}, hands(notes=notes))
    assert [record.source for record in workspace.images.records] == ["question", "Python_Coding_Agent_Tool"]
    assert isinstance(evidence[-1], ImagePart)
    assert evidence[-1].handle == "tool_generated_image_1"
    assert [kind for kind, _ in notes] == ["picture_refused"]
    assert list(workspace.values()) == [], "variables are not kept"


async def test_an_executor_that_is_gone_still_has_the_program_paid_for() -> None:
    tool, _, _ = coding(BackendUnavailableError("executor", "no process"))
    with pytest.raises(BackendUnavailableError, match="executor: no process") as raised:
        await use(tool, {"objective": "count"})
    assert [spent.role for spent in raised.value.usage] == ["coding"]


async def test_outputs_are_free_of_half_characters() -> None:
    tool, _, _ = coding(
        Outcome(stdout="\ud83d", stderr="\ud83d", variables={"\ud83d": "\ud83d"}, error="\ud83d"), program="# \ud83d"
    )
    _, evidence, _ = await use(tool, {"objective": "count"})
    for part in evidence:
        assert isinstance(part, TextPart)
        part.text.encode()


async def test_what_was_downloaded_must_be_a_picture() -> None:
    held = hands(Workspace().with_input(RemotePicture(url="https://example.com/a")))
    held = attrs.evolve(held, fetcher=FakeFetcher({"https://example.com/a": b"<html>"}))
    with pytest.raises(UnreadableImageError):
        await held.image("input_image_1")
    assert held.workspace.images.records[0].picture is None


async def test_several_pictures_are_taken_in_in_order() -> None:
    taken = await hands().take_in_all([fake_image(1, 2), fake_image(3, 4)])
    assert [each.full.size_hw for each in taken] == [(1, 2), (3, 4)]


async def test_found_on_a_crop_says_where_that_is() -> None:
    made = agent(
        [
            calling("Zoom_In_Tool", ZOOM),
            calling("OCR_Tool", {"image_id": "tool_generated_image_1"}),
            saying("<answer>7</answer>"),
        ]
    )
    report = await made.answer(QUESTION)
    read = [step for step in report.steps if isinstance(step, ToolStep)][1]
    said = [part.text for part in read.result.evidence if isinstance(part, TextPart)]
    assert "region of image handle=tool_generated_image_1 region=[0, 0, 500, 500] source=input_image_1" in said


async def test_a_crop_of_a_crop_says_where_it_lies_in_the_original() -> None:
    deeper = {"image_id": "tool_generated_image_1", "coords": [500, 500, 1000, 1000]}
    model = ScriptedModel([calling("Zoom_In_Tool", ZOOM), calling("Zoom_In_Tool", deeper), saying("x")])
    report = await agent(model).answer(QUESTION)
    first, second = [step.result.evidence for step in report.steps if isinstance(step, ToolStep)]
    assert len(first) == 2
    assert isinstance(second[1], TextPart)
    assert (
        second[1].text
        == "region of image handle=tool_generated_image_2 region=[250, 250, 500, 500] source=input_image_1"
    )


async def test_places_of_lines_beyond_the_limit_are_counted() -> None:
    _, parts, _ = await use(
        OcrCapability(backend=FakeOcr(tuple(f"line {n}" for n in range(205)))), {"image_id": "input_image_1"}
    )
    assert parts[-1] == TextPart(text="ocr rest count=5 binding=ocr_result")
