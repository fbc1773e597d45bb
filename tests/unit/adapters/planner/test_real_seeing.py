"""Questions about drawn layouts, through the planner, the engine and the real embedded grounding: right, or not answered."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from openvlharness_adapters.backends.embedded.grounding import EmbeddedGrounding
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.renderer import PillowRenderer
from openvlharness_adapters.models.embedded_code import TemplateCodeGenerator
from openvlharness_adapters.models.embedded_planner import EmbeddedPlanner
from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.capabilities.grounding import GroundingCapability
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.question import ImageInput, Question
from openvlharness_core.testing.images import FakeFetcher
from openvlharness_core.testing.time import FakeClock, InlineOffload
from tests.support.shapes import KINDS, PALETTE, SHAPES, Layout, Thing, layout
from tests.unit.adapters.planner.desk import RunsHere

_FIRST = 31000  # no threshold has seen what follows
_PARTLY_HIDDEN = ("overlap", "same_colour", "edge", "touching")
Right = Callable[[str], bool]


def _agent() -> MainAgent:
    codec = PillowCodec()
    grounding = EmbeddedGrounding(pixels=codec.pixels, offload=InlineOffload())
    return MainAgent(
        model=EmbeddedPlanner(),
        toolset=Toolset(
            [
                GroundingCapability(backend=grounding, renderer=PillowRenderer(codec=codec)),
                CodingCapability(generator=TemplateCodeGenerator(), executor=RunsHere()),
            ]
        ),
        policy=TurnPolicy(prompts=load_prompt_bundle("openai_v1"), max_iterations=15),
        codec=codec,
        fetcher=FakeFetcher(),
        offload=InlineOffload(),
        clock=FakeClock(auto=True),
    )


def _area(thing: Thing) -> int:
    """Pixels that its outline encloses."""
    outlines, _ = cv2.findContours(thing.mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    whole: NDArray[np.uint8] = np.zeros(thing.mask.shape, np.uint8)
    cv2.drawContours(whole, outlines, -1, 1, cv2.FILLED)
    return int(whole.sum())


def _box(thing: Thing) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(thing.mask.any(axis=1)), np.flatnonzero(thing.mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _number(wanted: int) -> Right:
    return lambda text: text.split(":")[0].strip(" .") == str(wanted)


def _verdict(wanted: bool) -> Right:
    return lambda text: text.startswith("Yes") == wanted and text.startswith(("Yes", "No"))


def _word(*allowed: str) -> Right:
    return lambda text: text.strip(".").casefold() in allowed


def _asked(shown: Layout) -> Iterator[tuple[str, Right]]:
    """One question of every template, most with a qualifier, and which answers to it are right."""
    dice = random.Random(f"real {shown.kind} {shown.seed}")
    things = list(shown.things)
    some = dice.choice(things) if things else None
    colour = some.colour if some and dice.random() < 0.8 else dice.choice(sorted(PALETTE))
    other_colour = dice.choice(sorted(PALETTE))
    shape = some.shape if some and dice.random() < 0.8 else dice.choice(SHAPES)
    of_shape, of_both = shown.found(None, shape), shown.found(colour, shape)
    yield f"How many {colour} {shape}s are there?", _number(len(of_both))
    yield f"How many {shape}s that are not {colour} are there?", _number(len(of_shape) - len(of_both))
    yield f"Are there any {colour} {shape}s?", _verdict(bool(of_both))
    if other_colour != colour:
        one, other = shown.found(colour, "shape"), shown.found(other_colour, "shape")
        yield f"Are there more {colour} shapes than {other_colour} shapes?", _verdict(len(one) > len(other))
        yield f"How many {colour} and {other_colour} shapes are there?", _number(len(one) + len(other))
    if of_shape:
        yield f"Are all {shape}s {colour}?", _verdict(len(of_shape) == len(of_both))
    if not things:
        return
    if shown.kind not in _PARTLY_HIDDEN:
        largest, smallest = max(things, key=_area), min(things, key=_area)
        yield "Which shape is the largest?", _word(largest.shape)
        yield "What colour is the smallest shape?", _word(smallest.colour)
        if of_shape:
            yield f"What colour is the largest {shape}?", _word(max(of_shape, key=_area).colour)
    leftmost = min(things, key=lambda thing: _box(thing)[0])
    yield "What colour is the leftmost shape?", _word(leftmost.colour)
    alone = [thing for thing in things if len(shown.found(thing.colour, thing.shape)) == 1]
    if len(alone) > 1:
        pair = dice.sample(alone, 2)
        names = [f"{each.colour} {each.shape}" for each in pair]
        middles = [sum(_box(each)[::2]) / 2 for each in pair]
        yield f"Is the {names[0]} left of the {names[1]}?", _verdict(middles[0] < middles[1])
        if shown.kind not in _PARTLY_HIDDEN:
            sizes = [_area(each) for each in pair]
            near = abs(sizes[0] - sizes[1]) < 0.12 * max(sizes)  # then to call them equal is right as well
            larger = _verdict(sizes[0] > sizes[1])
            yield (
                f"Is the {names[0]} larger than the {names[1]}?",
                lambda text: larger(text) or (near and "about equal" in text),
            )


async def _told(kind: str, seeds: range) -> tuple[Counter[str], list[str]]:
    agent, counts, wrong = _agent(), Counter[str](), []
    for seed in seeds:
        shown = layout(kind, seed)
        packed = BytesIO()
        Image.fromarray(shown.pixels).save(packed, "PNG")
        for question, is_right in _asked(shown):
            report = await agent.answer(Question(question, [ImageInput.from_bytes(packed.getvalue())]))
            text = report.answer or ""
            if text.startswith("Cannot"):
                counts["not answered"] += 1
            elif is_right(text):
                counts["right"] += 1
            else:
                wrong.append(f"{kind} {seed}: {question} {text!r}")
    return counts, wrong


@pytest.mark.parametrize("kind", ["plain", "bordered", "outline", "overlap"])
async def test_answers_about_what_is_really_seen_are_right_or_not_given(kind: str) -> None:
    counts, wrong = await _told(kind, range(_FIRST, _FIRST + 1))
    assert wrong == []
    assert counts.total() >= 8


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
async def test_so_are_those_about_many(kind: str) -> None:
    counts, wrong = await _told(kind, range(_FIRST, _FIRST + 6))
    assert wrong == []
    if kind in ("plain", "rotated"):
        assert counts["right"] > 2 * counts["not answered"]
