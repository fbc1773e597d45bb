"""A report about real pictures, saved, loaded and replayed: what had to change when it came does not change again."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from contracts.ports.sample_question import OCR, ZOOM, sample_agent, sample_policy
from openvlharness_adapters.files.report_store import DirectoryReportStore
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_core.agent.replay import replayed
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.messages import ModelRequest
from openvlharness_core.pictures import ImageLimits
from openvlharness_core.profile import ModelProfile
from openvlharness_core.question import ImageInput, Question
from openvlharness_core.testing import FakeOcr, FakeZoom, InlineOffload, calling, saying


def _drawn(mode: str, kind: str, **options: object) -> bytes:
    ramp = np.linspace(0, 255, 90 * 140 * 3, dtype=np.uint8).reshape(90, 140, 3)
    buffer = io.BytesIO()
    picture = Image.fromarray(ramp).convert(mode)
    if mode == "RGBA":
        picture.putalpha(Image.fromarray(ramp[..., 0]))
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def _turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return _drawn("RGB", "JPEG", exif=exif.tobytes())


PICTURES = {
    "bmp": _drawn("RGB", "BMP"),
    "jpeg": _drawn("RGB", "JPEG"),
    "turned": _turned(),
    "transparent": _drawn("RGBA", "PNG"),
    "grey": _drawn("L", "PNG"),
    "cmyk": _drawn("CMYK", "JPEG"),
    "animation": _drawn("RGB", "GIF", save_all=True, append_images=[Image.new("RGB", (140, 90), "red")], duration=40),
}


def _toolset(codec: PillowCodec) -> Toolset:
    return Toolset([ZoomCapability(backend=FakeZoom(codec)), OcrCapability(backend=FakeOcr(lines=("A", "B")))])


def _bodies(requests: tuple[ModelRequest, ...]) -> list[bytes]:
    encoder = ChatEncoder(profile=ModelProfile(alias="any"), opening=b'{"messages":[')
    return [b"".join(encoder.body(request)) for request in requests]


@pytest.mark.parametrize("limits", [ImageLimits(), ImageLimits(max_side=64), ImageLimits(min_side=200)])
async def test_real_pictures_replay_byte_for_byte(limits: ImageLimits, tmp_path: Path) -> None:
    codec = PillowCodec()
    replies = [
        calling(ZOOM, {"image_id": f"input_image_{number}", "coords": [100, 0, 700, 900], "padding": 3})
        for number in range(1, len(PICTURES) + 1)
    ]
    replies.append(calling(OCR, {"image_id": "tool_generated_image_2"}))
    question = Question("Which?", [ImageInput.from_bytes(data, name) for name, data in PICTURES.items()])
    agent = sample_agent(
        [*replies, saying("<answer>all</answer>")],
        codec=codec,
        toolset=_toolset(codec),
        policy=sample_policy(),
        limits=limits,
    )
    report = await agent.answer(question)
    store = DirectoryReportStore(InlineOffload())
    await store.save_report(report, str(tmp_path))
    loaded = await store.load_report(str(tmp_path))
    assert loaded == report
    again = replayed(loaded, _toolset(PillowCodec()), sample_policy(), PillowCodec(), limits)
    assert again.differences == ()
    assert _bodies(again.requests) == _bodies(tuple(agent.model.requests))  # type: ignore[attr-defined]
