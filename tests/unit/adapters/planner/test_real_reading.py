"""The planner with the real reader, the real zoom and the real executor; few, since reading takes a second or two."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from openvlharness_adapters.backends.embedded.ocr import EmbeddedOcr
from openvlharness_adapters.executor.local import LocalExecutor
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.zoom import InProcessZoom
from openvlharness_adapters.models.embedded_code import TemplateCodeGenerator
from openvlharness_adapters.models.embedded_planner import EmbeddedPlanner
from openvlharness_adapters.runtime import SystemClock, ThreadOffload
from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.question import ImageInput, Question
from openvlharness_core.testing.images import FakeFetcher
from tests.unit.adapters.planner.desk import calls, cannot
from tests.unit.adapters.planner.test_random_receipts import SYLLABLES

RECEIPT = Path(__file__).resolve().parents[4] / "examples" / "data" / "receipt.jpg"


@pytest.fixture
def agent() -> Iterator[MainAgent]:
    pytest.importorskip("rapidocr", reason="needs the extra: pip install 'openvlharness[embedded]'")
    codec, offload = PillowCodec(), ThreadOffload(threads=2)
    yield MainAgent(
        model=EmbeddedPlanner(),
        toolset=Toolset(
            [
                OcrCapability(backend=EmbeddedOcr(pixels=codec.pixels, offload=offload)),
                ZoomCapability(backend=InProcessZoom(codec=codec, offload=offload)),
                CodingCapability(generator=TemplateCodeGenerator(), executor=LocalExecutor()),
            ]
        ),
        policy=TurnPolicy(prompts=load_prompt_bundle("openai_v1")),
        codec=codec,
        fetcher=FakeFetcher(),
        offload=offload,
        clock=SystemClock(),
    )
    offload.close()


async def _ask(agent: MainAgent, question: str, image: bytes) -> Report:
    return await agent.answer(Question(question, [ImageInput.from_bytes(image)]))


@pytest.mark.parametrize(
    ("question", "answer", "last_tool"),
    [
        ("What is the total?", "27.14", "OCR_Tool"),
        ("What is the sum of the prices?", "24.90", "Python_Coding_Agent_Tool"),
    ],
)
async def test_the_sample_receipt(agent: MainAgent, question: str, answer: str, last_tool: str) -> None:
    report = await _ask(agent, question, RECEIPT.read_bytes())
    assert (report.answer, report.stop_reason) == (answer, "answered")
    assert calls(report)[-1] == last_tool


def _drawn(rng: random.Random) -> tuple[bytes, dict[str, str]]:
    """A small receipt of random words and amounts, sizes and colours, as JPEG, and its fields."""
    size = rng.randint(18, 40)
    font = ImageFont.load_default(size=size)
    labels = ["".join(rng.choice(SYLLABLES) for _ in range(2)).capitalize() for _ in range(2)]
    fields = {label: f"{rng.randint(1, 99)}.{rng.randint(10, 99)}" for label in [*dict.fromkeys(labels), "Total"]}
    paper, ink = rng.randint(190, 255), rng.randint(0, 70)
    image = Image.new("RGB", (18 * size, 2 * size * (len(fields) + 1)), (paper, paper, paper - 20))
    for at, (label, value) in enumerate(fields.items()):
        ImageDraw.Draw(image).text((size, size * (2 * at + 1)), label, (ink, ink, ink), font)
        ImageDraw.Draw(image).text((16 * size, size * (2 * at + 1)), value, (ink, ink, ink), font, anchor="ra")
    buffer = io.BytesIO()
    image.rotate(rng.uniform(-3, 3), Image.Resampling.BICUBIC, fillcolor=(paper, paper, paper - 20)).save(
        buffer, "JPEG", quality=80
    )
    return buffer.getvalue(), fields


async def test_random_receipts_are_read_right_or_not_answered(agent: MainAgent) -> None:
    rng = random.Random(5)
    right = 0
    for _ in range(6):
        image, fields = _drawn(rng)
        label = rng.choice([*fields])
        report = await _ask(agent, f"What is the {label.lower()}?", image)
        assert cannot(report) or report.answer == fields[label], (fields, label)
        right += not cannot(report)
    assert right >= 4
