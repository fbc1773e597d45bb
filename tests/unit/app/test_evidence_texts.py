"""Evidence of the newer tools in the words that ship: what the model must be able to rely on is there, word for word."""

from __future__ import annotations

import json
import re

import pytest

from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_core.capabilities.camera_pose import CameraPoseCapability
from openvlharness_core.capabilities.depth import DepthCapability
from openvlharness_core.capabilities.grounding import GroundingCapability
from openvlharness_core.capabilities.text_search import TextSearchCapability
from openvlharness_core.capabilities.web_visit import WebVisitCapability
from openvlharness_core.detections import Detections
from openvlharness_core.prompts import PROMPT_FIELDS
from openvlharness_core.seeking import SearchItem, SearchResults, VisitedPage
from openvlharness_core.testing import FakeDepth
from tests.unit.core.capabilities.stage import IMAGE, Backend, Renderer, Stage
from tests.unit.core.capabilities.test_camera_pose import moved
from tests.unit.core.capabilities.test_motion import turned

BUNDLE = load_prompt_bundle("openai_v1")
SIZE = (40, 60)


def stage() -> Stage:
    return Stage(sizes=(SIZE, SIZE), prompts=BUNDLE)


def grounding(boxes: list[list[float]]) -> GroundingCapability:
    value = Detections(boxes_xyxy_px=boxes, scores=[0.5] * len(boxes), size_hw=SIZE)
    return GroundingCapability(backend=Backend(lambda image, query: value), renderer=Renderer())


@pytest.mark.parametrize(
    "key", [key for key in PROMPT_FIELDS if key.startswith(("grounding_", "depth_", "camera_", "search_", "image_search_", "page_", "kept_"))]
)  # fmt: skip
def test_every_field_of_the_evidence_is_said(key: str) -> None:
    said = BUNDLE.text(key, **{field: f"<{field}>" for field in PROMPT_FIELDS[key]})
    assert all(f"<{field}>" in said for field in PROMPT_FIELDS[key])


async def test_boxes_stand_in_a_fence_of_json() -> None:
    shown = await stage().use(grounding([[6, 4, 12, 10], [30, 20, 60, 40]]), query="cup", **IMAGE)
    (fenced,) = re.findall(r"```json\n(.*?)\n```", shown.text, re.DOTALL)
    assert json.loads(fenced) == [
        {"bbox_2d": [100, 100, 200, 250], "label": "cup"},
        {"bbox_2d": [500, 500, 1000, 1000], "label": "cup"},
    ]
    assert shown.text.startswith("2 found in input_image_1")
    assert "bounding boxes only" in shown.text
    assert "[tool_generated_image_1]\n<tool_generated_image_1>" in shown.text


async def test_nothing_found_names_the_query_without_a_fence() -> None:
    shown = await stage().use(grounding([]), query="cup", **IMAGE)
    assert '"cup"' in shown.text
    assert "`" not in shown.text
    assert shown.pictures == []


@pytest.mark.parametrize("is_metric", [True, False])
async def test_depth_says_whether_it_is_metric(is_metric: bool) -> None:
    tool = DepthCapability(backend=FakeDepth(is_metric=is_metric), renderer=Renderer())
    text = (await stage().use(tool, **IMAGE)).text
    assert ("in metres" in text) is is_metric
    assert ("not metric" in text) is not is_metric
    assert "shape [40, 60]" in text
    assert "nearest 1, median 3, farthest 5" in text
    assert "depth_result" in text
    assert "closer is brighter" in text


async def motion(**fields: object) -> str:
    value = moved(((0.4, 0, -0.2), turned(25, 0, 0)), **fields)  # type: ignore[arg-type]
    tool = CameraPoseCapability(backend=Backend(lambda images: value), renderer=Renderer())
    return (await stage().use(tool, image_ids=["input_image_1", "input_image_2"])).text


async def test_camera_motion_is_stated_with_signs_and_its_convention() -> None:
    text = await motion()
    assert "translation not salient, 0.45 m in all; in detail right (+0.40), down (+0.00), backward (-0.20)" in text
    assert "rotation salient, 25.00° in all, yaw +25.00°, pitch +0.00°, roll +0.00°" in text
    assert "+X right, +Y down, +Z forward. Positive yaw turns right, positive pitch looks down" in text
    assert "X-Z plane" in text


async def test_without_a_scale_no_translation_is_salient_or_not() -> None:
    text = await motion(is_metric=False)
    assert "mostly right (+0.40), scale unknown" in text
    assert "translation salient" not in text
    assert "translation not salient" not in text
    assert " m in all" not in text
    text = await motion(is_metric=False, known=[True, False])
    assert "translation not observable" in text


async def test_search_results_and_pages_are_told_apart() -> None:
    room = stage()
    found = SearchResults(items=(SearchItem(title="A", url="https://example.com/a"),), summary="It is [1].")
    text = (await room.use(TextSearchCapability(backend=Backend(lambda *_: found)), query="cup")).text
    assert 'Results for "cup" (search)' in text
    assert "[1] A — webpage_url_1" in text
    assert "It is [1]." in text
    pages = (VisitedPage(url="https://example.com/a", ok=False, reason="it is gone; try a search"),)
    text = (
        await room.use(WebVisitCapability(backend=Backend(lambda *_: pages)), urls=["webpage_url_1"], goal="date")
    ).text
    assert "webpage_url_1 could not be read (https://example.com/a): it is gone; try a search" in text


def test_the_description_of_the_text_search_promises_what_it_does() -> None:
    said = BUNDLE.text("tool_text_search")
    for word in (
        "search_type",
        "images, news, scholar, maps, places, shopping or patents",
        "summarised",
        "reranked",
        "links",
    ):
        assert word in said
