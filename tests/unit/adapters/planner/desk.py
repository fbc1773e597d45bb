"""A desk with paper on it: pages whose lines have places, read and cut by doubles, asked about through the real engine.

The reader sees what stands on a page or on a crop of it. A line that the crop cuts is read only as far as it goes, and
nothing is read of one that is cut along its length, as with a real reader.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Mapping, Sequence

import attrs

from openvlharness_adapters.models.embedded_code import TemplateCodeGenerator
from openvlharness_adapters.models.embedded_planner import EmbeddedPlanner
from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.agent.steps import ToolStep
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.model import ChatModel
from openvlharness_core.question import ImageInput, Question
from openvlharness_core.results import Answered, Outcome, TextLine, Transcription
from openvlharness_core.testing.backends import FakeZoom
from openvlharness_core.testing.images import FakeCodec, FakeFetcher, fake_image
from openvlharness_core.testing.time import FakeClock, InlineOffload

WIDTH, LINE, STEP, LEFT, LETTER = 600, 24, 40, 30, 12
"""Pixels: a page's width, the height of a line, from one to the next, the margin, and the width of a letter."""

_CROP = re.compile(r"\((\d+), (\d+), (\d+), (\d+)\) of (\w+)")
Misread = Callable[[str, int], str]
"""What a reader makes of a line at its n-th look at anything, from 1."""


@attrs.frozen
class Line:
    """A line of a page; without a place it stands where its position puts it."""

    text: str
    box: tuple[float, float, float, float] | None = None


@attrs.define
class PageReader:
    """Reads pages by what they are known to hold. `tells_places` is off for a reader of the other kind."""

    pages: Mapping[str, Sequence[Line]]
    misread: Misread = lambda text, look: text
    tells_places: bool = True
    looks: int = attrs.field(default=0, init=False)

    async def read(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[Transcription]:
        self.looks += 1
        lines = tuple(attrs.evolve(line, text=self.misread(line.text, self.looks)) for line in self._visible(image))
        text = "\n".join(line.text for line in lines)
        return Answered(
            value=Transcription(text=text, lines=lines if self.tells_places else None), backend="page_reader"
        )

    def _visible(self, image: EncodedImage) -> list[TextLine]:
        crop = _CROP.search(image.data.decode())
        if crop is None:
            page = self.pages[image.digest[:12]]
            return [_on_page(_placed(line, at), image.size_hw) for at, line in enumerate(page) if line.text.strip()]
        x1, y1, x2, y2 = (int(side) for side in crop.groups()[:4])
        inside = []
        for at, line in enumerate(self.pages[crop[5]]):
            if not line.text.strip():
                continue
            left, top, right, bottom = _placed(line, at).box_xyxy_px
            if min(bottom, y2) - max(top, y1) < 0.7 * (bottom - top) or min(right, x2) - max(left, x1) < LETTER:
                continue
            first, last = max(0, round((x1 - left) / LETTER)), round((min(right, x2) - left) / LETTER)
            text = line.text[first:last]
            if text.strip():
                blank = LETTER * (len(text) - len(text.rstrip()))
                box = (max(left, x1) - x1, max(top, y1) - y1, min(right, x2) - x1 - blank, min(bottom, y2) - y1)
                inside.append(TextLine(text=text.rstrip(), box_xyxy_px=tuple(map(float, box)), score=0.9))
        return inside


def _on_page(line: TextLine, size_hw: tuple[int, int]) -> TextLine:
    """The place ends where the page does, however long the text; a box beyond the edge is refused."""
    x1, y1, x2, y2 = line.box_xyxy_px
    return attrs.evolve(line, box_xyxy_px=(x1, y1, min(x2, float(size_hw[1])), min(y2, float(size_hw[0]))))


def _placed(line: Line, at: int) -> TextLine:
    top = 20 + STEP * at
    box = line.box or (LEFT, top, LEFT + LETTER * len(line.text), top + LINE)
    return TextLine(text=line.text, box_xyxy_px=tuple(map(float, box)), score=0.9)


class RunsHere:
    """Runs programs in this process: they are our own templates."""

    def __init__(self) -> None:
        self.programs: list[str] = []

    async def run(self, program: str, values: Mapping[str, object], deadline_seconds: float | None = None) -> Outcome:
        self.programs.append(program)
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(program, "program", "exec"), {"__name__": "__main__", **values})
        except Exception as error:  # noqa: BLE001 - as the real one: a program that fails is an outcome
            return Outcome(stdout=printed.getvalue(), error=f"{type(error).__name__}: {error}")
        return Outcome(stdout=printed.getvalue())


@attrs.define
class Desk:
    """Pages, and everything that is needed to ask about them."""

    pages: Sequence[Sequence[str | Line]]
    misread: Misread = lambda text, look: text
    tells_places: bool = True
    tools: Sequence[str] = ("ocr", "zoom", "coding")
    max_iterations: int = 15
    model: ChatModel = attrs.field(factory=EmbeddedPlanner)
    reader: object = None
    executor: RunsHere = attrs.field(factory=RunsHere)

    async def ask(self, question: str, **fields: object) -> Report:
        inputs = []
        known = {}
        for number, page in enumerate(self.pages):
            lines = [line if isinstance(line, Line) else Line(line) for line in page]
            height = 40 + STEP * max(len(lines), 1)
            data = fake_image(height, WIDTH, f"page {number}")
            inputs.append(ImageInput.from_bytes(data))
            known[EncodedImage(data=data, media_type="image/png", size_hw=(height, WIDTH)).digest[:12]] = lines
        codec = FakeCodec()
        reader = self.reader or PageReader(known, self.misread, self.tells_places)
        capabilities = {
            "ocr": OcrCapability(backend=reader),
            "zoom": ZoomCapability(backend=FakeZoom(codec)),
            "coding": CodingCapability(generator=TemplateCodeGenerator(), executor=self.executor),
        }
        agent = MainAgent(
            model=self.model,
            toolset=Toolset(capabilities[key] for key in self.tools),
            policy=TurnPolicy(prompts=load_prompt_bundle("openai_v1"), max_iterations=self.max_iterations),
            codec=codec,
            fetcher=FakeFetcher(),
            offload=InlineOffload(),
            clock=FakeClock(auto=True),
        )
        return await agent.answer(Question(question, inputs), **fields)


def cannot(report: Report) -> bool:
    return report.answer is not None and report.answer.startswith("Cannot")


def calls(report: Report) -> list[str]:
    """The tools that were called, in order."""
    return [step.tool for step in report.steps if isinstance(step, ToolStep)]
