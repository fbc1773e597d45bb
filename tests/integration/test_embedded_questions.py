"""The embedded preset, opened as the command line opens it: real tools, and questions of each kind that it answers."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import attrs
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from openvlharness_app import SyncAgent, open_agent_sync
from openvlharness_app.presets import preset_text
from openvlharness_core import ImageInput, Question, Report
from tests.support.scenes import Camera, some_scene, turn
from tests.unit.adapters.planner.desk import calls, cannot

Ask = Callable[..., Report]
PAGES = {
    "kestrel.md": "# Kestrel bridge\n\nThe Kestrel bridge crosses the Ane. The Kestrel bridge was opened in 1931 by Ida Moll.\n\n"
    "It is 412 m long.\n",
    "ferries.md": "# Ferries\n\nThe last ferry on the Ane was closed in 1930.\n",
}


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyncAgent]:
    pytest.importorskip("rapidocr", reason="needs the extra: pip install 'openvlharness[embedded]'")
    pytest.importorskip("cv2", reason="needs the extra: pip install 'openvlharness[embedded]'")
    shelf = tmp_path_factory.mktemp("documents")
    for name, text in PAGES.items():
        (shelf / name).write_text(text, encoding="utf-8")
    config = yaml.safe_load(preset_text("embedded"))
    for entry in config["services"]["tools"].values():
        if "corpus" in entry:
            entry["corpus"] = str(shelf)
    with open_agent_sync(config) as agent:
        yield agent


@pytest.fixture
def ask(agent: SyncAgent) -> Ask:
    def answered(question: str, *pictures: NDArray[np.uint8] | Image.Image) -> Report:
        return agent.answer(Question(question, [ImageInput.from_bytes(_png(picture)) for picture in pictures]))

    return answered


def _png(picture: NDArray[np.uint8] | Image.Image) -> bytes:
    buffer = io.BytesIO()
    (picture if isinstance(picture, Image.Image) else Image.fromarray(picture)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def shapes() -> Image.Image:
    """Two red circles and a green one, a blue square, an orange triangle; far from each other, on white."""
    picture = Image.new("RGB", (480, 360), "white")
    draw = ImageDraw.Draw(picture)
    draw.ellipse((30, 30, 110, 110), (220, 30, 35))
    draw.ellipse((200, 240, 260, 300), (220, 30, 35))
    draw.ellipse((380, 20, 450, 90), (30, 150, 50))
    draw.rectangle((30, 220, 130, 320), (30, 70, 215))
    draw.polygon([(340, 320), (400, 200), (460, 320)], (250, 140, 20))
    return picture


@pytest.fixture(scope="module")
def slip() -> Image.Image:
    """Numbers in the upper half, a word in a corner below."""
    picture = Image.new("RGB", (640, 480), "white")
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(size=34)
    for row, text in enumerate(("apples 12", "pears 30", "plums 8")):
        draw.text((40, 30 + 60 * row), text, "black", font)
    draw.text((430, 400), "Harbour", "black", ImageFont.load_default(size=26))
    return picture


def test_shapes_are_counted_placed_and_compared(ask: Ask, shapes: Image.Image) -> None:
    for question, answer in {
        "How many red circles are there?": "2",
        "How many circles are not red?": "1",
        "Which is left of the orange triangle: the blue square or the green circle?": "The blue square.",
        "Which is left of the orange triangle: the blue square or the blue circle?": None,
        "Is the blue square left of the orange triangle?": "Yes.",
        "Is the blue square larger than the green circle?": "Yes.",
        "Which shape is the largest?": "Square.",
    }.items():
        report = ask(question, shapes)
        assert "OCR_Tool" not in calls(report)
        if answer is None:
            assert cannot(report), question
        else:
            assert report.answer == answer, question
    report = ask("Which is further left, the blue square or the orange triangle?", shapes)
    assert report.answer == "The blue square."


def test_text_of_a_corner_is_cut_out_and_read(ask: Ask, slip: Image.Image) -> None:
    report = ask("Read the text in the bottom right corner.", slip)
    assert report.answer == "Harbour"
    assert calls(report)[:2] == ["Zoom_In_Tool", "OCR_Tool"]


def test_numbers_are_added_up_by_a_program(ask: Ask, slip: Image.Image) -> None:
    report = ask("What is the sum of the numbers?", slip)
    assert report.answer == "50"
    assert calls(report) == ["OCR_Tool", "Python_Coding_Agent_Tool"]


@pytest.mark.parametrize(("shift", "way"), [(0.6, "Right"), (-0.6, "Left")])
def test_the_camera_moved_to_the_side_that_the_scene_was_seen_from(ask: Ask, shift: float, way: str) -> None:
    scene = some_scene(4)
    first = Camera()
    second = attrs.evolve(first, centre=np.array([shift, 0.02, 0.05]), rotation=turn(yaw=-3 * np.sign(shift)))
    report = ask("Did the camera move left or right?", scene.view(first), scene.view(second))
    assert report.answer.startswith(f"{way}. "), report.answer
    assert "scale unknown" in report.answer
    assert calls(report) == ["Camera_Trajectory_Tool"]


def test_a_fact_is_quoted_from_its_page(ask: Ask) -> None:
    report = ask("According to the documents, when was the Kestrel bridge opened?")
    assert report.answer.startswith(
        "“The Kestrel bridge was opened in 1931 by Ida Moll.” (Kestrel bridge, webpage_url_"
    )
    assert calls(report) == ["Text_Search_Tool", "Webpage_Visit_Tool"]
    assert cannot(ask("When was the Kestrel bridge painted?"))


def test_what_is_outside_is_said(ask: Ask, shapes: Image.Image) -> None:
    report = ask("How many dogs are chasing the red circle?", shapes)
    assert cannot(report)
    assert "“dogs”" in report.answer
    assert report.stop_reason == "answered"
    assert not calls(report)
