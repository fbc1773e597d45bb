"""Evidence stays bounded: every tool over a backend that answers with as much as its values hold."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.capabilities.base import Capability
from openvlharness_core.capabilities.bounds import EVIDENCE_LIMIT, NAMED_LIMIT, fitting
from openvlharness_core.capabilities.camera_pose import NOTES_LIMIT, CameraPoseCapability
from openvlharness_core.capabilities.coding import FIGURES_LIMIT, CodingCapability
from openvlharness_core.capabilities.depth import DepthCapability
from openvlharness_core.capabilities.grounding import GroundingCapability
from openvlharness_core.capabilities.image_search import ImageSearchCapability
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.text_search import TextSearchCapability
from openvlharness_core.capabilities.web_visit import WebVisitCapability
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.errors import ToolFailure
from openvlharness_core.geometry import grid_to_pixels
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Crop, Outcome, TextLine, Transcription
from openvlharness_core.seeking import SearchItem, SearchResults, VisitedPage
from openvlharness_core.testing import FakeCodeGenerator, fake_image
from tests.unit.core.capabilities.stage import IMAGE, Backend, Renderer, Stage

HEIGHT, WIDTH = 40, 60
SIGN = "\x01"
"""JSON writes it with six characters."""
LONG = "a word and a line\n" * 2000
URL = "https://example.com/" + "u" * 20_000


def _lines(text: str) -> Any:
    line = TextLine(text=text, box_xyxy_px=(1.0, 2.0, 5.0, 8.0), score=0.9)
    return lambda image: Transcription(text=text, lines=(line,) * 500)


def _found(*asked: Any) -> SearchResults:
    details = tuple((f"{number} {LONG}", LONG) for number in range(5))
    item = SearchItem(title=LONG, url=URL, source=LONG, snippet=LONG, thumbnail_url=URL + "/thumbnail", details=details)
    items = tuple(attrs.evolve(item, url=f"{URL}/{number}") for number in range(70))
    return SearchResults(items=items, summary=LONG, note=LONG)


def _cameras(images: Any) -> CameraTrajectory:
    count = len(images)
    away = np.hstack([np.eye(3), np.full((3, 1), -1e38)])
    return CameraTrajectory(
        intrinsics=[[[50.0, 0, 30], [0, 50, 20], [0, 0, 1]]] * count,
        extrinsics_w2c=[np.eye(4)[:3], *[away] * (count - 1)],
        sizes_hw=[(HEIGHT, WIDTH)] * count,
        is_metric=True,
        translation_known=[True] * count,
        notes=(LONG,) * 50,
    )


def _boxes(image: Any, query: str) -> Detections:
    return Detections(boxes_xyxy_px=[[1, 2, 30, 35]] * 2000, scores=[0.5] * 2000, size_hw=(HEIGHT, WIDTH))


def _crop(image: EncodedImage, box: Any, padding: int) -> Crop:
    x1, y1, x2, y2 = region = grid_to_pixels(box, image.size_hw, padding)
    size = (y2 - y1, x2 - x1)
    data = fake_image(*size, LONG)
    return Crop(image=EncodedImage(data=data, media_type="image/png", size_hw=size), region_xyxy_px=region)


def _pages(ok: bool) -> Any:
    def visit(urls: list[str], goal: str) -> tuple[VisitedPage, ...]:
        fields = {"title": LONG, "evidence": LONG, "summary": LONG} if ok else {"reason": LONG}
        return tuple(VisitedPage(url=url, ok=ok, **fields) for url in urls)  # type: ignore[arg-type]

    return visit


def _outcome(*asked: Any) -> Outcome:
    return Outcome(
        stdout=LONG,
        stderr=LONG,
        variables={f"{LONG}{number}": LONG for number in range(30)},
        images=tuple((f"{number} {LONG}", fake_image(8, 9, f"figure {number}")) for number in range(60)),
        error=LONG,
        seconds=1e300,
    )


MANY_URLS = [f"{URL}/{number}" for number in range(NAMED_LIMIT)]
BOXES = {"query": LONG, **IMAGE}
HUGE: dict[str, tuple[Capability, dict[str, Any]]] = {
    "ocr": (OcrCapability(backend=Backend(_lines(LONG))), IMAGE),
    "ocr with signs to escape": (OcrCapability(backend=Backend(_lines(SIGN * 20_000))), IMAGE),
    "zoom": (ZoomCapability(backend=Backend(_crop)), IMAGE | {"coords": [1 / 3, 0, 1000, 1000], "padding": 10**30}),
    "grounding": (GroundingCapability(backend=Backend(_boxes), renderer=Renderer()), BOXES),
    "grounding of signs to escape": (
        GroundingCapability(backend=Backend(_boxes), renderer=Renderer()),
        {"query": SIGN * 20_000, **IMAGE},
    ),
    "grounding as a map": (GroundingCapability(backend=Backend(_boxes), renderer=Renderer(), boxes="object_map"), BOXES),
    "grounding of nothing": (
        GroundingCapability(
            backend=Backend(
                lambda image, query: Detections(
                    boxes_xyxy_px=[], scores=[], size_hw=(HEIGHT, WIDTH), unnamed=10**30
                )
            ),
            renderer=Renderer(),
        ),
        BOXES,
    ),
    "depth": (
        DepthCapability(
            backend=Backend(lambda image: DepthMap(values=np.full((HEIGHT, WIDTH), 3e38), is_metric=True)),
            renderer=Renderer(),
        ),
        IMAGE,
    ),
    "camera_pose": (
        CameraPoseCapability(backend=Backend(_cameras), renderer=Renderer()),
        {"image_ids": [f"input_image_{number}" for number in range(1, NAMED_LIMIT + 1)]},
    ),
    "text_search": (TextSearchCapability(backend=Backend(_found)), {"query": LONG}),
    "text_search for nothing": (
        TextSearchCapability(
            backend=Backend(lambda *asked: SearchResults(items=(), nothing_relevant=LONG, note=LONG))
        ),
        {"query": LONG},
    ),
    "image_search": (ImageSearchCapability(backend=Backend(_found)), IMAGE),
    "web_visit": (WebVisitCapability(backend=Backend(_pages(True))), {"urls": MANY_URLS, "goal": LONG}),
    "web_visit in vain": (WebVisitCapability(backend=Backend(_pages(False))), {"urls": MANY_URLS, "goal": LONG}),
    "coding": (
        CodingCapability(generator=FakeCodeGenerator(LONG), executor=Backend(_outcome)), {"objective": LONG}
    ),
}  # fmt: skip


@pytest.mark.parametrize("modules", [("image", "tool_context", "url"), ("image",)], ids=["all memory", "images alone"])
@pytest.mark.parametrize("name", HUGE)
async def test_no_evidence_is_longer_than_the_limit(name: str, modules: Any) -> None:
    tool, arguments = HUGE[name]
    shown = await Stage(sizes=((HEIGHT, WIDTH),) * NAMED_LIMIT, modules=modules).use(tool, **arguments)
    assert 0 < len(shown.text) < EVIDENCE_LIMIT, len(shown.text)
    assert len(shown.pictures) <= FIGURES_LIMIT


def test_every_tool_is_held_to_it() -> None:
    assert {tool.key for tool, _ in HUGE.values()} == {
        "ocr", "zoom", "grounding", "depth", "camera_pose", "text_search", "image_search", "web_visit", "coding",
    }  # fmt: skip


async def test_long_lines_of_a_picture_keep_their_places_and_lose_their_ends() -> None:
    stage = Stage()
    shown = await stage.use(OcrCapability(backend=Backend(_lines("x" * 5000))), **IMAGE)
    assert shown.text.count("bbox_2d") == 164, "rows of 243 characters: so many are fewer than 40 000"
    assert "ocr rest count=336 binding=ocr_result" in shown.text
    assert '"label": "' + "x" * 199 + "…" in shown.text
    assert stage.binding("ocr_result")["lines"][499]["text"] == "x" * 5000, "the binding has all"


async def test_more_notes_than_can_be_told_are_counted() -> None:
    tool = CameraPoseCapability(backend=Backend(_cameras), renderer=Renderer())
    shown = await Stage(sizes=((HEIGHT, WIDTH),) * 2).use(tool, image_ids=["input_image_1", "input_image_2"])
    assert shown.text.count("camera note note=") == NOTES_LIMIT + 1
    assert f"camera note note={50 - NOTES_LIMIT} more notes are in the report of this call" in shown.text
    assert shown.data["notes"] == [LONG] * 50, "the record has all"


async def test_more_pictures_than_can_be_shown_are_noted() -> None:
    stage = Stage()
    tool = CodingCapability(generator=FakeCodeGenerator(), executor=Backend(_outcome))
    shown = await stage.use(tool, objective="plot")
    assert len(shown.pictures) == FIGURES_LIMIT
    assert [kind for kind, _ in stage.notes] == ["picture_refused"] * (60 - FIGURES_LIMIT)
    assert all(len(note) < 200 for _, note in stage.notes)


async def test_items_past_the_limit_are_counted() -> None:
    shown = await Stage(modules=("image",)).use(TextSearchCapability(backend=Backend(_found)), query="x")
    numbered = sum(f"\n[{number}] a word" in shown.text for number in range(1, 71))
    assert 30 < numbered < 50, "addresses instead of handles take the room"
    assert f"search rest count={70 - numbered}" in shown.text


@pytest.mark.parametrize(
    ("tool", "argument", "each"),
    [
        (CameraPoseCapability(backend=Backend(_cameras), renderer=Renderer()), "image_ids", "input_image_1"),
        (WebVisitCapability(backend=Backend(_pages(True))), "urls", "https://example.com/"),
    ],
)
async def test_only_so_many_may_be_named_in_one_call(tool: Capability, argument: str, each: str) -> None:
    rest = {"goal": "g"} if argument == "urls" else {}
    with pytest.raises(ToolFailure, match=f"{argument}: expected a list of at least . and at most {NAMED_LIMIT}"):
        await Stage().use(tool, **{argument: [each] * (NAMED_LIMIT + 1)}, **rest)


@given(st.lists(st.text(max_size=9), max_size=12), st.integers(0, 12), st.integers(0, 60))
def test_rows_are_the_first_that_fit(rows: list[str], most: int, characters: int) -> None:
    shown = fitting(iter(rows), most, characters)
    assert shown == rows[: len(shown)]
    assert len(shown) <= most
    assert sum(map(len, shown)) <= characters
    if len(shown) < min(most, len(rows)):
        assert sum(map(len, rows[: len(shown) + 1])) > characters, "one more would not have fitted"
