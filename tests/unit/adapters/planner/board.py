"""A board with coloured shapes on it, seen by a double that knows them, asked about through the real engine.

What the double is not sure of it reports as unnamed, as the real one does: a shape may have several kinds or colours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs
import numpy as np

from openvlharness_adapters.backends.embedded.vision.queries import COLOURS, SHAPES, NotInGrammarError, understood_query
from openvlharness_adapters.backends.embedded.vision.queries import ShapeQuery as Query
from openvlharness_adapters.models.embedded_code import TemplateCodeGenerator
from openvlharness_adapters.models.embedded_planner import EmbeddedPlanner
from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.capabilities.base import Capability
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.capabilities.depth import DepthCapability
from openvlharness_core.capabilities.grounding import GroundingCapability
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.errors import UnsupportedQueryError
from openvlharness_core.masks import encode_mask
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.question import ImageInput, Question
from openvlharness_core.results import Answered
from openvlharness_core.testing.images import FakeCodec, FakeFetcher, fake_image
from openvlharness_core.testing.time import FakeClock, InlineOffload
from tests.unit.adapters.planner.desk import RunsHere
from tests.unit.core.capabilities.stage import Renderer

INCLUDES = {"ellipse": ("ellipse", "circle"), "rectangle": ("rectangle", "square")}
FILLED = {"circle": 0.785, "triangle": 0.5, "star": 0.4}
"""Share of its box that a kind covers, where it is not all of it."""


@attrs.frozen(kw_only=True)
class Put:
    """A shape on a board; `box` in pixels; `maybe` are further kinds or colours that it may have."""

    colour: str
    kind: str
    box: tuple[int, int, int, int]
    maybe: tuple[str, ...] = ()
    depth: float = 1.0

    @property
    def area(self) -> float:
        x1, y1, x2, y2 = self.box
        return (x2 - x1) * (y2 - y1) * FILLED.get(self.kind, 1.0)

    @property
    def middle(self) -> tuple[float, float]:
        x1, y1, x2, y2 = self.box
        return (x1 + x2) / 2, (y1 + y2) / 2

    def fits(self, query: Query) -> bool | None:
        """Whether it is what a query names; `None` if that is not sure."""
        kinds = {self.kind, *(each for each in self.maybe if each in SHAPES)}
        colours = {self.colour, *(each for each in self.maybe if each in COLOURS)}
        wanted = set(SHAPES) if query.shape is None else set(INCLUDES.get(query.shape, (query.shape,)))
        verdicts = [kinds <= wanted or (None if kinds & wanted else False)]
        verdicts.append(
            query.colour is None or colours == {query.colour} or (None if query.colour in colours else False)
        )
        if False in verdicts:
            return False
        return None if None in verdicts or query.tone else True


@attrs.define
class Sees:
    """Finds what is known to be on the board."""

    boards: dict[str, tuple[tuple[int, int], Sequence[Put]]]
    with_masks: bool = True
    queries: list[str] = attrs.field(factory=list, init=False)

    async def ground(self, image: EncodedImage, query: str, *, timeout_seconds: float) -> Answered[Detections]:
        self.queries.append(query)
        (height, width), shapes = self.boards[image.digest]
        try:
            asked = understood_query(query)
        except NotInGrammarError as error:
            raise UnsupportedQueryError("sees", str(error)) from None
        assert isinstance(asked, Query)
        verdicts = [(shape.fits(attrs.evolve(asked, extreme=None)), shape) for shape in shapes]
        found = [shape for verdict, shape in verdicts if verdict]
        unnamed = sum(verdict is None for verdict, _ in verdicts)
        if asked.extreme and found:
            chosen = (max if asked.extreme == "largest" else min)(shape.area for shape in found)
            alike = [shape for shape in found if 1 / 1.04 <= shape.area / chosen <= 1.04]
            found, unnamed = alike, unnamed + len(alike) - 1
        value = Detections(
            boxes_xyxy_px=np.array([shape.box for shape in found], np.float32).reshape(-1, 4),
            scores=np.full(len(found), 0.9, np.float32),
            masks=[encode_mask(_mask(shape, height, width)) for shape in found] if self.with_masks else None,
            size_hw=(height, width),
            unnamed=unnamed,
        )
        return Answered(value=value, backend="sees")

    async def estimate(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[DepthMap]:
        (height, width), shapes = self.boards[image.digest]
        values = np.full((height, width), 9.0, np.float32)
        for shape in shapes:
            x1, y1, x2, y2 = shape.box
            values[y1:y2, x1:x2] = shape.depth
        return Answered(value=DepthMap(values=values, is_metric=False), backend="sees")


def _mask(shape: Put, height: int, width: int) -> np.ndarray:
    x1, y1, x2, y2 = shape.box
    mask = np.zeros((height, width), bool)
    rows = round((y2 - y1) * FILLED.get(shape.kind, 1.0))
    mask[y1 : y1 + rows, x1:x2] = True
    return mask


@attrs.define
class Board:
    """Pictures of shapes, and everything that is needed to ask about them."""

    pictures: Sequence[Sequence[Put]]
    size_hw: tuple[int, int] = (300, 400)
    with_masks: bool = True
    tools: Sequence[str] = ("grounding", "coding")
    executor: RunsHere = attrs.field(factory=RunsHere)
    sees: Sees = attrs.field(init=False)

    async def ask(self, question: str) -> Report:
        inputs, known = [], {}
        for number, shapes in enumerate(self.pictures):
            data = fake_image(*self.size_hw, f"board {number}")
            inputs.append(ImageInput.from_bytes(data))
            known[EncodedImage(data=data, media_type="image/png", size_hw=self.size_hw).digest] = (self.size_hw, shapes)
        self.sees = Sees(known, self.with_masks)
        capabilities: dict[str, Capability] = {
            "grounding": GroundingCapability(backend=self.sees, renderer=Renderer()),
            "depth": DepthCapability(backend=self.sees, renderer=Renderer()),
            "coding": CodingCapability(generator=TemplateCodeGenerator(), executor=self.executor),
        }
        return await asked(question, inputs, [capabilities[key] for key in self.tools])


async def asked(question: str, inputs: Sequence[ImageInput], capabilities: Sequence[Capability]) -> Report:
    """What the planner makes of a question with these tools."""
    agent = MainAgent(
        model=EmbeddedPlanner(),
        toolset=Toolset(capabilities),
        policy=TurnPolicy(prompts=load_prompt_bundle("openai_v1"), max_iterations=15),
        codec=FakeCodec(),
        fetcher=FakeFetcher(),
        offload=InlineOffload(),
        clock=FakeClock(auto=True),
    )
    return await agent.answer(Question(question, inputs))


def random_board(rng: random.Random, most: int = 6, *, doubtful: bool = False) -> list[Put]:
    """Shapes that do not touch each other, of few kinds and colours so that questions find several."""
    kinds, colours = rng.sample(SHAPES, 3), rng.sample(COLOURS, 3)
    shapes: list[Put] = []
    for _ in range(rng.randint(0, most) * 4):
        width, height = rng.randint(14, 90), rng.randint(14, 90)
        x, y = rng.randint(0, 400 - width), rng.randint(0, 300 - height)
        box = (x, y, x + width, y + height)
        if any(
            box[0] < b[2] + 4 and b[0] < box[2] + 4 and box[1] < b[3] + 4 and b[1] < box[3] + 4
            for b in (s.box for s in shapes)
        ):
            continue
        maybe = (rng.choice(kinds + colours),) if doubtful and rng.random() < 0.1 else ()
        depth = rng.uniform(1, 8)
        shapes.append(Put(colour=rng.choice(colours), kind=rng.choice(kinds), box=box, maybe=maybe, depth=depth))
        if len(shapes) == most:
            break
    return shapes
