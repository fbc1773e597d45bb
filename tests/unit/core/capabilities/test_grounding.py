"""Grounding: one order for rows, list and numbers; what is bounded; what nothing found looks like; crops and the way back."""

from __future__ import annotations

import asyncio
import json
import keyword
import re
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openvlharness_core.capabilities.grounding import BOXES_LIMIT, GroundingCapability, in_reading_order, stem_of
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.code_helpers import decode_masks, map_boxes
from openvlharness_core.detections import Detections
from openvlharness_core.errors import BackendTimeoutError, MalformedResultError, ToolFailure, UnsupportedQueryError
from openvlharness_core.masks import encode_mask
from openvlharness_core.testing import FakeClock, FakeCodec, FakeZoom
from tests.unit.core.capabilities.stage import IMAGE, Backend, Renderer, Stage

SIZE = (40, 60)
BOXES = [[30.0, 4.0, 36.0, 12.0], [6.0, 20.0, 12.0, 30.0], [6.0, 4.0, 18.5, 10.0]]  # the last comes first
SCORES = [0.25, 0.5, 0.987654]


def block(box: list[float]) -> dict[str, object]:
    mask = np.zeros(SIZE, bool)
    mask[int(box[1]) : int(box[3]), int(box[0]) : int(box[2])] = True
    return encode_mask(mask)


def found(boxes: Any = BOXES, scores: Any = SCORES, masks: bool = True, unnamed: int | None = None) -> Detections:
    rles = [block(box) for box in boxes] if masks else None
    return Detections(boxes_xyxy_px=boxes, scores=scores, masks=rles, size_hw=SIZE, unnamed=unnamed)


def grounding(value: Any, **fields: Any) -> GroundingCapability:
    make = value if callable(value) else lambda image, query: value
    return GroundingCapability(backend=Backend(make), **({"renderer": Renderer()} | fields))


async def test_what_is_found_is_told_in_one_order_everywhere() -> None:
    stage, renderer = Stage(), Renderer()
    shown = await stage.use(grounding(found(), renderer=renderer), query="red cup", image_id="Input_Image_1.png")
    assert shown.data == {
        "image_id": "input_image_1",
        "query": "red cup",
        "num_objects": 3,
        "objects": [
            {"bbox_2d": [100, 100, 308, 250], "box_grid": [100.0, 100.0, 308.33, 250.0], "score": 0.9877},
            {"bbox_2d": [100, 500, 200, 750], "box_grid": [100.0, 500.0, 200.0, 750.0], "score": 0.5},
            {"bbox_2d": [500, 100, 600, 300], "box_grid": [500.0, 100.0, 600.0, 300.0], "score": 0.25},
        ],
        "num_masks": 3,
        "unnamed": None,
        "binding": "segment_red_cup",
    }
    expected = [BOXES[2], BOXES[1], BOXES[0]]
    assert renderer.drawn[0].boxes_xyxy_px.tolist() == expected
    binding = stage.binding("segment_red_cup")
    assert binding["pred_boxes"].tolist() == expected
    assert binding["pred_scores"].tolist() == pytest.approx([0.987654, 0.5, 0.25])
    for mask, box in zip(decode_masks(binding), expected, strict=True):
        rows, columns = np.nonzero(mask)
        assert [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1] == [int(v) for v in box]
    assert shown.parts[0].text == (  # type: ignore[union-attr]
        "grounding found count=3 query=red cup image=input_image_1 boxes=[\n"
        '{"bbox_2d": [100, 100, 308, 250], "label": "red cup"},\n'
        '{"bbox_2d": [100, 500, 200, 750], "label": "red cup"},\n'
        '{"bbox_2d": [500, 100, 600, 300], "label": "red cup"}\n]'
    )
    assert shown.text.endswith("grounding masks handle=tool_generated_image_1\n<tool_generated_image_1>")


async def test_the_binding_has_every_field_with_its_type() -> None:
    stage = Stage()
    await stage.use(grounding(found()), query="cup", **IMAGE)
    binding = stage.binding("segment_cup")
    assert list(binding) == [
        "pred_boxes", "pred_scores", "pred_masks", "num_masks", "orig_img_h", "orig_img_w", "label", "image_id",
    ]  # fmt: skip
    assert (binding["pred_boxes"].dtype, binding["pred_boxes"].shape) == (np.float32, (3, 4))
    assert (binding["pred_scores"].dtype, binding["pred_scores"].shape) == (np.float32, (3,))
    assert [sorted(mask) for mask in binding["pred_masks"]] == [["counts", "size"]] * 3
    assert {k: binding[k] for k in ("num_masks", "orig_img_h", "orig_img_w", "label", "image_id")} == {
        "num_masks": 3, "orig_img_h": 40, "orig_img_w": 60, "label": "cup", "image_id": "input_image_1",
    }  # fmt: skip
    for name in ("pred_boxes", "pred_scores"):
        with pytest.raises(ValueError, match="read-only"):
            binding[name][0] = 1


async def test_the_descriptor_says_what_a_program_gets_wrong() -> None:
    stage = Stage()
    await stage.use(grounding(found()), query="cup", **IMAGE)
    assert stage.workspace.descriptors()["segment_cup"]["image_id"] == "input_image_1"
    fields = stage.fields("segment_cup")
    assert (fields["pred_boxes"]["type"], fields["pred_boxes"]["shape"]) == ("ndarray float32", [3, 4])
    assert "x1, y1, x2, y2" in fields["pred_boxes"]["note"]
    assert "pixels of image_id" in fields["pred_boxes"]["note"]
    assert (fields["pred_masks"]["type"], fields["pred_masks"]["keys"]) == ("list", ["size", "counts"])
    assert "COCO RLE, column-major; decode with decode_masks(binding)" in fields["pred_masks"]["note"]
    assert "to_source" not in fields


@pytest.mark.parametrize("masks", [True, False], ids=["masks", "boxes only"])
async def test_nothing_found_is_one_sentence_and_a_binding_without_rows(masks: bool) -> None:
    stage, renderer = Stage(), Renderer()
    shown = await stage.use(grounding(found([], [], masks), renderer=renderer), query="cat", **IMAGE)
    assert [part.text for part in shown.parts] == ["grounding none query=cat image=input_image_1"]  # type: ignore[union-attr]
    assert (shown.data["num_objects"], shown.data["objects"]) == (0, [])
    assert shown.data["num_masks"] == (0 if masks else None)
    assert renderer.drawn == []
    assert shown.registered.images == ()
    binding = stage.binding("segment_cat")
    assert (binding["pred_boxes"].shape, binding["pred_boxes"].dtype) == ((0, 4), np.float32)
    assert (binding["pred_scores"].shape, binding["pred_scores"].dtype) == ((0,), np.float32)
    assert binding["pred_masks"] == ([] if masks else None)
    assert binding["num_masks"] == (0 if masks else None)


async def test_boxes_alone_are_called_that() -> None:
    stage = Stage()
    shown = await stage.use(grounding(found(masks=False)), query="cup", **IMAGE)
    assert "grounding boxes handle=" in shown.text
    assert "grounding masks" not in shown.text
    assert (stage.binding("segment_cup")["pred_masks"], stage.binding("segment_cup")["num_masks"]) == (None, None)
    assert stage.fields("segment_cup")["pred_masks"]["type"] == "None"


@pytest.mark.parametrize("boxes", [BOXES, []], ids=["with", "without"])
@pytest.mark.parametrize(("unnamed", "said"), [(None, False), (0, False), (4, True)])
async def test_regions_that_could_not_be_named_are_counted(boxes: Any, unnamed: int | None, said: bool) -> None:
    shown = await Stage().use(grounding(found(boxes, SCORES[: len(boxes)], unnamed=unnamed)), query="cup", **IMAGE)
    assert shown.data["unnamed"] == unnamed
    assert ("grounding unnamed count=4" in shown.text) is said


async def test_the_other_style_of_boxes_has_two_decimals_and_numbers() -> None:
    shown = await Stage().use(grounding(found(), boxes="object_map"), query="cup", **IMAGE)
    listed = shown.parts[0].text.partition("boxes=")[2]  # type: ignore[union-attr]
    assert json.loads(listed) == {
        "object 1": [100, 100, 308.33, 250],
        "object 2": [100, 500, 200, 750],
        "object 3": [500, 100, 600, 300],
    }
    assert '"object 1": [100.00, 100.00, 308.33, 250.00]' in listed


@pytest.mark.parametrize("style", ["bbox_2d", "object_map"])
@pytest.mark.parametrize("count", [BOXES_LIMIT, BOXES_LIMIT + 1, 333])
async def test_two_hundred_boxes_are_listed_and_the_rest_is_counted(style: str, count: int) -> None:
    dice = np.random.default_rng(0)
    corners = dice.uniform(0, 30, (count, 2))
    boxes = np.concatenate([corners, corners + dice.uniform(1, 9, (count, 2))], axis=1)
    value = Detections(boxes_xyxy_px=boxes, scores=np.ones(count), size_hw=SIZE)
    stage = Stage()
    shown = await stage.use(grounding(value, boxes=style), query="ant", **IMAGE)
    assert len(re.findall(r'"bbox_2d"|"object \d+"', shown.parts[0].text)) == BOXES_LIMIT  # type: ignore[union-attr]
    rest = f"grounding rest count={count - BOXES_LIMIT} kept in binding binding=segment_ant"
    assert (rest in shown.text) is (count > BOXES_LIMIT)
    assert (f"grounding found count={count}" in shown.text, len(shown.data["objects"])) == (True, count)
    assert stage.binding("segment_ant")["pred_boxes"].shape == (count, 4)


async def test_each_axis_has_its_own_scale() -> None:
    value = Detections(boxes_xyxy_px=[[200, 0, 400, 100]], scores=[1], size_hw=(100, 2000))
    shown = await Stage(sizes=((100, 2000),)).use(grounding(value), query="cup", **IMAGE)
    assert shown.data["objects"][0]["bbox_2d"] == [100, 0, 200, 1000]


async def test_without_bindings_nothing_points_to_one() -> None:
    stage = Stage(modules=("image",))
    value = Detections(boxes_xyxy_px=[[1, 1, 5, 5]] * 201, scores=[1] * 201, size_hw=SIZE)
    shown = await stage.use(grounding(value), query="ant", **IMAGE)
    assert shown.data["binding"] is None
    assert "grounding rest count=1\n" in shown.text
    assert "None" not in shown.text


async def test_a_very_long_query_is_not_repeated_with_every_box() -> None:
    query = "cup " * 1000
    shown = await Stage().use(grounding(found()), query=query, **IMAGE)
    assert shown.data["query"] == query
    assert all(len(row) < 300 for row in re.findall(r"\{.*\}", shown.text))


async def test_a_query_in_quotes_keeps_the_list_readable() -> None:
    shown = await Stage().use(grounding(found()), query='the "big"\ncup', **IMAGE)
    listed = json.loads(shown.parts[0].text.partition("boxes=")[2])  # type: ignore[union-attr]
    assert {row["label"] for row in listed} == {'the "big" cup'}


@given(
    st.lists(st.tuples(*[st.floats(-1, 61, width=32)] * 2, *[st.floats(-1, 41, width=32)] * 2), max_size=12).map(
        lambda rows: np.array([(min(a, b), min(c, d), max(a, b), max(c, d)) for a, b, c, d in rows]).reshape(-1, 4)
    )
)
def test_sorting_keeps_rows_together_and_rounds_boxes_to_the_grid(boxes: np.ndarray) -> None:
    scores = np.arange(len(boxes)) / 100
    value = Detections(boxes_xyxy_px=boxes, scores=scores, size_hw=SIZE)
    ordered, grid = in_reading_order(value)
    assert grid == sorted(grid)
    assert sorted(ordered.scores.tolist()) == sorted(value.scores.tolist())
    for row, score, box in zip(ordered.boxes_xyxy_px, ordered.scores, grid, strict=True):
        original = value.boxes_xyxy_px[int(np.flatnonzero(value.scores == score)[0])]
        assert row.tolist() == original.tolist()
        x1, y1, x2, y2 = box
        assert 0 <= x1 < x2 <= 1000
        assert 0 <= y1 < y2 <= 1000
        for corner, exact, side in zip(box, row.tolist(), (60, 40, 60, 40), strict=True):
            assert abs(corner - min(1000, max(0, exact * 1000 / side))) <= 1.5, "rounded, and widened by one at most"
    again, _ = in_reading_order(ordered)
    assert again is ordered


def crop_tool() -> ZoomCapability:
    return ZoomCapability(backend=FakeZoom(FakeCodec()))


async def test_what_is_found_on_a_crop_can_be_carried_to_the_picture_it_was_cut_from() -> None:
    stage = Stage()
    await stage.use(crop_tool(), image_id="input_image_1", coords=[500, 250, 1000, 1000])
    value = Detections(boxes_xyxy_px=[[3, 6, 9, 12]], scores=[1], size_hw=(30, 30))
    shown = await stage.use(grounding(value), query="cup", image_id="tool_generated_image_1")
    assert (
        "region of image handle=tool_generated_image_1 region=[500, 250, 1000, 1000] source=input_image_1" in shown.text
    )
    assert shown.data["objects"][0]["bbox_2d"] == [100, 200, 300, 400], "boxes are those of the crop"
    binding = stage.binding("segment_cup")
    assert (binding["orig_img_h"], binding["orig_img_w"], binding["image_id"]) == (30, 30, "tool_generated_image_1")
    assert map_boxes(binding["pred_boxes"], binding["to_source"]).tolist() == [[33, 16, 39, 22]]
    assert "map_boxes" in stage.fields("segment_cup")["to_source"]["note"]
    drawing = stage.workspace.images.resolve("tool_generated_image_2")
    assert stage.workspace.images.origin(drawing.handle) == ("input_image_1", ((1, 0, 30), (0, 1, 10)))


async def test_crops_of_crops_and_enlarged_drawings_lead_all_the_way_back() -> None:
    stage = Stage(sizes=((100, 200),))
    await stage.use(crop_tool(), image_id="input_image_1", coords=[500, 0, 1000, 1000])
    await stage.use(crop_tool(), image_id="tool_generated_image_1", coords=[0, 500, 500, 1000])
    tool = grounding(
        lambda image, query: Detections(boxes_xyxy_px=[[0, 0, 5, 5]], scores=[1], size_hw=image.size_hw),
        renderer=Renderer(to_source=((0.5, 0, 0), (0, 0.5, 0))),
    )
    await stage.use(tool, query="cup", image_id="tool_generated_image_2")
    shown = await stage.use(tool, query="cup", image_id="tool_generated_image_3")  # the drawing itself
    first, second = stage.binding("segment_cup"), stage.binding("segment_cup_2")
    assert map_boxes(first["pred_boxes"], first["to_source"]).tolist() == [[100, 50, 105, 55]]
    assert map_boxes(second["pred_boxes"], second["to_source"]).tolist() == [[100, 50, 102.5, 52.5]]
    assert "source=input_image_1" in shown.text


async def test_names_are_used_again_only_for_the_same_data_of_the_same_picture() -> None:
    stage = Stage(sizes=(SIZE, SIZE))
    same, other = grounding(found()), grounding(found(BOXES[:1], SCORES[:1]))
    names = [
        (await stage.use(tool, query=query, image_id=f"input_image_{image}")).data["binding"]
        for tool, query, image in [
            (same, "cup", 1),
            (same, "cup", 1),
            (other, "Cup", 1),
            (same, "cup", 2),
            (same, "cup", 1),
        ]
    ]
    assert names == ["segment_cup", "segment_cup", "segment_cup_2", "segment_cup_3", "segment_cup"]


@pytest.mark.parametrize(
    ("query", "stem"),
    [
        ("red cup", "segment_red_cup"),
        ("  Red--CUP!! ", "segment_red_cup"),
        ("class", "segment_class"),
        ("Größe 2", "segment_größe_2"),
        ("杯子", "segment_杯子"),
        ("①②", "segment_12"),
        ("ﬁsh", "segment_fish"),
        ("3 cats", "segment_3_cats"),
        ("!!!", "segment_objects"),
        ("_", "segment_objects"),
        ("🐈", "segment_objects"),
        ("a" * 60, "segment_" + "a" * 40),
        ("a" * 39 + " b", "segment_" + "a" * 39),
        ("...person", "segment_person"),
    ],
)
def test_names_of_bindings(query: str, stem: str) -> None:
    assert stem_of(query) == stem


@given(st.text(max_size=60))
@example("İİİ")
@example("e\u0301" * 30)
@example("\u0345\u0301x")
@example("ﷺ" * 10)
def test_any_query_gives_a_name_that_a_program_can_write(query: str) -> None:
    stem = stem_of(query)
    assert stem.isidentifier()
    assert not keyword.iskeyword(stem)
    assert unicodedata.normalize("NFKC", stem) == stem, "Python would read another name"
    assert len(stem) <= len("segment_") + 40
    assert "__" not in stem
    assert not stem.endswith("_")
    space: dict[str, object] = {}
    exec(f"{stem} = 1", space)
    assert space[stem] == 1


async def test_another_pictures_answer_is_refused() -> None:
    wrong = Detections(boxes_xyxy_px=[], scores=[], size_hw=(60, 40))
    with pytest.raises(MalformedResultError, match=r"size: expected \[40, 60\] like input_image_1, got \[60, 40\]"):
        await Stage().use(grounding(wrong), query="cup", **IMAGE)


async def test_failures_of_the_backend_reach_the_runner_as_they_are() -> None:
    def unsupported(image: object, query: str) -> Detections:
        raise UnsupportedQueryError("stage", f"{query} is no shape")

    with pytest.raises(UnsupportedQueryError, match="cup is no shape"):
        await Stage().use(grounding(unsupported), query="cup", **IMAGE)


async def test_a_backend_that_does_not_answer_is_given_up() -> None:
    class Slow(Backend):
        async def ground(self, *asked: Any, timeout_seconds: float) -> Any:
            assert timeout_seconds == 7
            await asyncio.Event().wait()

    tool = GroundingCapability(backend=Slow(lambda: None), renderer=Renderer(), timeout_seconds=7)
    with pytest.raises(BackendTimeoutError, match="no answer within 7 s"):
        await Stage(clock=FakeClock(auto=True)).use(tool, query="cup", **IMAGE)


@pytest.mark.parametrize(
    "arguments", [{"query": "", **IMAGE}, {"query": " ", **IMAGE}, {"query": 3, **IMAGE}, IMAGE, {"query": "x"}]
)
async def test_arguments_are_checked(arguments: dict[str, object]) -> None:
    with pytest.raises(ToolFailure) as raised:
        await Stage().use(grounding(found()), **arguments)
    assert raised.value.code == "invalid_tool_arguments"
