"""A data URL that declares another type than its bytes have: the bytes count, and the trace says so."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.runtime import SystemClock
from openvlharness_core import ImageInput, InvalidQuestionError, MainAgent, Question, TurnPolicy
from openvlharness_core.messages import ImagePart, UserMessage
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing import FakeFetcher, InlineOffload, RecordingTracer, ScriptedModel, plain_prompts, saying


def _encoded(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 20), "red").save(buffer, kind)
    return buffer.getvalue()


PNG, JPEG = _encoded("PNG"), _encoded("JPEG")


def _url(head: str, data: bytes) -> str:
    return f"{head};base64,{base64.b64encode(data).decode()}"


async def _asked(*urls: str) -> tuple[list[str], list[EncodedImage]]:
    """The corrections that the trace tells of, and the pictures that the model was sent."""
    tracer, model = RecordingTracer(), ScriptedModel([saying("<answer>x</answer>")])
    agent = MainAgent(
        model=model,
        policy=TurnPolicy(prompts=plain_prompts()),
        codec=PillowCodec(),
        fetcher=FakeFetcher(),
        offload=InlineOffload(),
        clock=SystemClock(),
        tracer=tracer,
    )
    report = await agent.answer(Question("?", [ImageInput.from_data_url(url) for url in urls]))
    assert report.answer == "x"
    messages = [message for message in model.requests[0].messages if isinstance(message, UserMessage)]
    shown = [part.image for message in messages for part in message.parts if isinstance(part, ImagePart)]
    return [text for kind, text in tracer.notes if kind == "type_corrected"], [image for image in shown if image]


@pytest.mark.parametrize(
    ("head", "data", "told"),
    [
        ("data:image/jpeg", PNG, "image/jpeg, is image/png"),
        ("data:image/png", JPEG, "image/png, is image/jpeg"),
        ("DATA:IMAGE/JPEG", PNG, "image/jpeg, is image/png"),
        ("data:image/jpeg;name=a.jpg;charset=utf-8", PNG, "image/jpeg, is image/png"),
        ("data:image/jpg", PNG, "image/jpg, is image/png"),
        ("data:", PNG, "nothing, is image/png"),
    ],
    ids=["png as jpeg", "jpeg as png", "upper case", "parameters", "jpg", "undeclared"],
)
async def test_a_wrong_type_is_corrected_and_noted(head: str, data: bytes, told: str) -> None:
    notes, (image,) = await _asked(_url(head, data))
    assert notes == [f"image 1: declared as {told}"]
    assert (image.data, image.media_type) == (data, "image/png" if data == PNG else "image/jpeg")


@pytest.mark.parametrize(
    ("head", "data"),
    [("data:image/png", PNG), ("data:image/jpeg", JPEG), ("data:image/jpg", JPEG), ("data:Image/PNG", PNG)],
)
async def test_a_right_one_is_not_spoken_of(head: str, data: bytes) -> None:
    assert (await _asked(_url(head, data)))[0] == []


async def test_the_note_names_the_picture() -> None:
    notes, images = await _asked(_url("data:image/png", PNG), _url("data:image/png", JPEG))
    assert notes == ["image 2: declared as image/png, is image/jpeg"]
    assert [image.media_type for image in images] == ["image/png", "image/jpeg"]


async def test_bytes_that_are_no_picture_are_refused_whatever_they_declare() -> None:
    with pytest.raises(InvalidQuestionError, match="image 1"):
        await _asked(_url("data:image/png", b"this is no picture"))
