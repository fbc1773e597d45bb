"""How the camera moved: what is claimed, and what is left open, over movements that are known."""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs
import numpy as np
import pytest

from openvlharness_adapters.models.planner.questions import NotUnderstood, understand
from openvlharness_core.agent.report import Report
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.capabilities.camera_pose import CameraPoseCapability
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.question import ImageInput
from openvlharness_core.results import Answered
from openvlharness_core.testing.images import fake_image
from tests.support.scenes import turn
from tests.unit.adapters.planner.board import asked
from tests.unit.adapters.planner.desk import cannot
from tests.unit.core.capabilities.stage import Renderer

Vector = tuple[float, float, float]


@attrs.frozen(kw_only=True)
class Step:
    """A camera against the first: `centre` right, down, forward (`None`: not observable), and how it is turned."""

    centre: Vector | None = (0.0, 0.0, 0.0)
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0


@attrs.define
class Traces:
    """Knows how the camera moved."""

    steps: Sequence[Step]
    is_metric: bool = False
    notes: tuple[str, ...] = ()

    async def trace(self, images: Sequence[EncodedImage], *, timeout_seconds: float) -> Answered[CameraTrajectory]:
        steps = [Step(), *self.steps][: len(images)]
        extrinsics = []
        for step in steps:
            rotation = turn(yaw=step.yaw, pitch=step.pitch, roll=step.roll)
            extrinsics.append(np.hstack([rotation, -rotation @ np.array(step.centre or (0, 0, 0), float)[:, None]]))
        value = CameraTrajectory(
            intrinsics=np.array([[[60, 0, 30], [0, 60, 20], [0, 0, 1]]] * len(images)),
            extrinsics_w2c=np.array(extrinsics),
            sizes_hw=tuple(image.size_hw for image in images),
            is_metric=self.is_metric,
            translation_known=tuple(step.centre is not None for step in steps),
            notes=self.notes,
        )
        return Answered(value=value, backend="traces")


async def _ask(question: str, *steps: Step, is_metric: bool = False, notes: tuple[str, ...] = ()) -> Report:
    inputs = [ImageInput.from_bytes(fake_image(content=f"view {number}")) for number in range(len(steps) + 1)]
    backend = Traces(steps, is_metric, notes)
    return await asked(question, inputs, [CameraPoseCapability(backend=backend, renderer=Renderer())])


RIGHT = Step(centre=(0.95, 0.05, 0.2), yaw=-8.0)
ROTATED = Step(centre=None, yaw=12.0, pitch=-5.0)


@pytest.mark.parametrize(
    ("question", "step", "answer"),
    [
        ("How did the camera move?", RIGHT, "The camera moved right by an unknown distance (scale unknown); it turned left by 8.0°."),
        ("How did the camera move between the two images?", RIGHT, "The camera moved right by an unknown distance (scale unknown); it turned left by 8.0°."),
        ("Describe the camera motion from the first image to the second image.", RIGHT, "The camera moved right by an unknown distance (scale unknown); it turned left by 8.0°."),
        ("Did the camera move left or right?", RIGHT, "Right. The camera moved right by an unknown distance (scale unknown)."),
        ("Did the camera move to the left?", RIGHT, "No. The camera moved right by an unknown distance (scale unknown)."),
        ("Did the camera move up or right?", RIGHT, "Right. The camera moved right by an unknown distance (scale unknown)."),
        ("Did the camera turn left or right?", RIGHT, "Left: it turned left by 8.0°."),
        ("Which way did the camera turn?", RIGHT, "It turned left by 8.0°."),
        ("In which direction did the camera pan?", ROTATED, "It turned right by 12.0°."),
        ("Did the camera tilt up or down?", ROTATED, "Up: it turned up by 5.0°."),
        ("Did the camera turn?", ROTATED, "Yes: it turned right by 12.0°, up by 5.0°."),
        ("How did the camera move?", ROTATED, "It cannot be told whether the camera moved; it turned right by 12.0°, up by 5.0°."),
        ("Did the camera move?", Step(), "No, it did not move."),
        ("How did the camera move?", Step(centre=(0, 0, -1)), "The camera moved backward by an unknown distance (scale unknown); if it turned, then by less than 2°, which is not certain."),
        ("Did the camera rotate clockwise?", Step(roll=20.0), "Yes: it turned clockwise by 20.0°."),
    ],
)  # fmt: skip
async def test_what_is_answered(question: str, step: Step, answer: str) -> None:
    assert (await _ask(question, step)).answer == answer


@pytest.mark.parametrize(
    ("question", "step", "notes", "why"),
    [
        ("Did the camera move left or right?", ROTATED, (), "only the rotation can be told"),
        ("Did the camera move left or right?", Step(centre=(0.1, 0, 1)), (), "moved forward"),
        ("Did the camera move left or right?", Step(), (), "did not move"),
        ("Did the camera turn left or right?", Step(yaw=1.5), (), "less than 2°"),
        ("Did the camera turn left or right?", RIGHT, ("the rotation between picture 1 and picture 2 is uncertain by about 9 degrees",), "less than 9°"),
        ("Did the camera turn?", Step(), (), "less than 2°"),
        ("Did the camera pan up or down?", ROTATED, (), "does not pan"),
        ("How did the camera move quickly?", RIGHT, (), "“quickly”"),
        ("How did the red camera move?", RIGHT, (), "beyond me"),
    ],
)  # fmt: skip
async def test_what_is_not_plain_is_not_answered(question: str, step: Step, notes: tuple[str, ...], why: str) -> None:
    report = await _ask(question, step, notes=notes)
    assert cannot(report)
    assert why in report.answer


@pytest.mark.parametrize(
    ("question", "step"),
    [
        ("Which way did the camera turn?", Step(yaw=20.0)),
        ("How did the camera pan?", Step(yaw=20.0, pitch=40.0)),
        ("How did the camera move?", Step(centre=None, yaw=20.0)),
        ("Describe the camera motion.", Step(centre=None, yaw=-20.0)),
    ],
)
async def test_an_answer_that_tells_nothing_is_none(question: str, step: Step) -> None:
    note = "the rotation between picture 1 and picture 2 is uncertain by about 29 degrees"
    report = await _ask(question, step, notes=(note,))
    assert cannot(report)
    assert "less than 29°, which is not certain" in report.answer
    told = await _ask(question, step, attrs.evolve(step, centre=(1, 0, 0), yaw=35.0), notes=(note,))
    assert told.answer.startswith("Against input_image_1:")


async def test_metres_are_told_where_they_are_known() -> None:
    report = await _ask("How did the camera move?", Step(centre=(0, 0, 2.5)), is_metric=True)
    assert report.answer.startswith("The camera moved forward by 2.50 m;")
    report = await _ask("How did the camera move?", Step(centre=(0.3, 0, 0)), is_metric=True)
    assert report.answer.startswith("The camera moved right by 0.30 m;")


async def test_several_pictures_are_told_against_the_first_and_a_choice_is_from_first_to_last() -> None:
    steps = (Step(centre=(1, 0, 0)), Step(centre=(-1, 0, 0), yaw=30.0))
    report = await _ask("How did the camera move?", *steps)
    assert "input_image_2: The camera moved right" in report.answer
    assert "input_image_3: The camera moved left" in report.answer
    assert (await _ask("Did the camera move left or right?", *steps)).answer.startswith("Left.")
    between = "Did the camera move left or right between the first and the second image?"
    assert (await _ask(between, *steps)).answer.startswith("Right.")


async def test_one_picture_shows_no_motion() -> None:
    assert "two pictures or more" in (await _ask("How did the camera move?")).answer


async def test_random_movements_are_told_right_or_not_at_all() -> None:
    rng = random.Random(3)
    told = 0
    for _ in range(150):
        centre = None if rng.random() < 0.2 else tuple(rng.gauss(0, 1) for _ in range(3))
        step = Step(centre=centre, yaw=rng.uniform(-25, 25), pitch=rng.uniform(-10, 10))
        axis = rng.randrange(3)
        ways = (("right", "left"), ("down", "up"), ("forward", "backward"))[axis]
        verb = rng.choice(["move", "turn"]) if axis < 2 else "move"
        first, second = rng.sample(ways, 2)
        report = await _ask(f"Did the camera {verb} {first} or {second}?", step)
        if cannot(report):
            continue
        told += 1
        assert verb == "turn" or centre is not None
        value = centre[axis] if verb == "move" else (step.yaw, step.pitch)[axis]
        assert report.answer.casefold().startswith(ways[value < 0]), (step, report.answer)
    assert told > 75


QUESTIONS = (
    "How did the camera move between the two images?",
    "Did the camera move left or right?",
    "Which way did the camera turn?",
    "Describe the camera motion from the first image to the last.",
)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("qualifier", ["slowly", "red", "not", "second", "twice"])
def test_a_qualifier_too_many_is_not_understood(question: str, qualifier: str) -> None:
    words, plain = question.split(), understand(question)
    for at in range(len(words) + 1):
        try:
            changed = understand(" ".join([*words[:at], qualifier, *words[at:]]))
        except NotUnderstood:
            continue
        raise AssertionError((at, plain, changed))
