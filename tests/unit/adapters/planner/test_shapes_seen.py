"""What the planner takes from the evidence of a grounding call, in every form that the capability gives it."""

from __future__ import annotations

import pytest

from openvlharness_adapters.backends.embedded.vision.queries import COLOURS, SHAPES
from openvlharness_adapters.models.planner.evidence import Seen
from openvlharness_adapters.models.planner.looks import Cannot
from openvlharness_adapters.models.planner.naming import COLOURS_TO_ASK, KINDS
from openvlharness_adapters.models.planner.parts import lies_in, part_of
from openvlharness_adapters.models.planner.places import REGIONS
from openvlharness_adapters.models.planner.shapes_asked import NARROWER
from openvlharness_adapters.models.planner.shapes_seen import certain, is_same, listed, shapes_of
from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_core.messages import TextPart
from tests.unit.adapters.planner.board import Board, Put
from tests.unit.adapters.planner.desk import cannot

PROMPTS = load_prompt_bundle("openai_v1")
QUERY, PICTURE = "red circle", "input_image_1"


def _seen(*texts: str, **bindings: str) -> Seen:
    return Seen(parts=tuple(TextPart(text=text) for text in texts), bindings=bindings)


def _found(count: int, boxes: str) -> str:
    return PROMPTS.text("grounding_found", count=count, query=QUERY, image=PICTURE, boxes=boxes)


@pytest.mark.parametrize(
    "boxes",
    [
        '[\n{"bbox_2d": [1, 2, 30, 40], "label": "red circle"},\n{"bbox_2d": [5, 6, 70, 80], "label": "red circle"}\n]',
        '{\n"object 1": [1.00, 2.00, 30.00, 40.00],\n"object 2": [5.00, 6.00, 70.00, 80.00]\n}',
    ],
)
def test_boxes_in_either_style(boxes: str) -> None:
    masks = PROMPTS.text("grounding_masks", handle="tool_generated_image_1")
    names = {"segment_red": PICTURE, "segment_red_circle": PICTURE, "segment_red_circle_2": "input_image_2"}
    shapes = shapes_of(_seen(_found(2, boxes), masks, **names), PICTURE, QUERY)
    assert shapes.boxes_grid == ((1, 2, 30, 40), (5, 6, 70, 80))
    assert (shapes.count, shapes.unnamed, shapes.binding, shapes.has_masks) == (2, 0, "segment_red_circle", True)
    names["segment_red_circle_3"] = PICTURE
    boxes_only = PROMPTS.text("grounding_boxes", handle="tool_generated_image_1")
    shapes = shapes_of(_seen(_found(2, boxes), boxes_only, **names), PICTURE, QUERY)
    assert (shapes.binding, shapes.has_masks) == ("segment_red_circle_3", False)


def test_nothing_found_and_regions_without_a_name() -> None:
    nothing = PROMPTS.text("grounding_none", query=QUERY, image=PICTURE)
    assert shapes_of(_seen(nothing), PICTURE, QUERY).count == 0
    shapes = shapes_of(_seen(nothing, PROMPTS.text("grounding_unnamed", count=3)), PICTURE, QUERY)
    assert shapes.unnamed == 3
    with pytest.raises(Cannot, match="3 more regions of input_image_1 may or may not be a red circle"):
        certain(shapes)


def test_more_than_is_listed_can_be_counted_but_not_placed() -> None:
    text = _found(201, '[\n{"bbox_2d": [1, 2, 30, 40], "label": "red circle"}\n]')
    shapes = shapes_of(_seen(f"{text}\n{PROMPTS.text('grounding_rest', count=200)}"), PICTURE, QUERY)
    assert certain(shapes).count == 201
    with pytest.raises(Cannot, match="the places of 1 of 201"):
        listed(shapes)


async def test_a_crowd_is_counted_but_not_told_apart() -> None:
    crowd = [
        Put(colour="red", kind="square", box=(4 * x, 4 * y, 4 * x + 3, 4 * y + 3)) for x in range(20) for y in range(12)
    ]
    assert (await Board([crowd]).ask("How many red squares are there?")).answer == "240"
    assert cannot(await Board([crowd]).ask("How many red squares are in the top half?"))
    assert cannot(await Board([crowd]).ask("Which shape is leftmost?"))


@pytest.mark.parametrize(
    "texts",
    [(), ("",), ("2 found in input_image_1",), ("I see two of them.",), (_found(1, "[]"),), (_found(1, "[1, 2]"),),
     (_found(1, '[{"bbox_2d": [1, 2, 3, 4], "label": ""}, {"bbox_2d": [1, 2, 3, 4], "label": ""}]'),)],
)  # fmt: skip
def test_other_evidence_says_nothing(texts: tuple[str, ...]) -> None:
    with pytest.raises(Cannot):
        shapes_of(_seen(*texts), PICTURE, QUERY)


def test_boxes_are_one_thing_where_they_share_most_of_their_area() -> None:
    assert is_same((0, 0, 100, 100), (5, 5, 105, 105))
    assert not is_same((0, 0, 100, 100), (30, 30, 130, 130))
    assert not is_same((0, 0, 100, 100), (200, 0, 300, 100))


def test_every_colour_and_kind_is_asked_once_and_narrow_kinds_before_wide_ones() -> None:
    assert sorted(COLOURS_TO_ASK) == sorted(COLOURS)
    assert sorted(KINDS) == sorted(SHAPES)
    assert all(KINDS.index(narrow) < KINDS.index(wide) for wide, narrow in NARROWER.items())


@pytest.mark.parametrize(
    ("region", "box", "inside"),
    [
        ("top half", (0, 0, 1000, 500), True),
        ("top half", (0, 500, 10, 600), False),
        ("top half", (0, 400, 10, 501), None),
        ("left", (0, 0, 500, 1000), True),
        ("left side", (500, 0, 600, 10), False),
        ("top", (400, 100, 500, 400), True),
        ("top", (400, 300, 500, 450), None),
        ("top", (400, 500, 500, 600), False),
        ("top left corner", (10, 10, 300, 300), True),
        ("top left corner", (300, 300, 490, 490), None),
        ("top left corner", (10, 510, 100, 600), False),
        ("middle", (400, 400, 600, 600), True),
        ("centre", (260, 260, 330, 330), None),
        ("center", (0, 0, 250, 250), False),
    ],
)
def test_a_box_is_in_a_part_out_of_it_or_neither_is_sure(
    region: str, box: tuple[int, int, int, int], inside: bool | None
) -> None:
    if inside is None:
        with pytest.raises(Cannot, match="not plainly in"):
            lies_in(box, REGIONS[region])
    else:
        assert lies_in(box, REGIONS[region]) is inside


def test_parts_are_thirds() -> None:
    assert part_of((0, 0, 100, 100)) == "top left"
    assert part_of((450, 450, 550, 550)) == "centre"
    assert part_of((450, 800, 550, 900)) == "bottom"
    assert part_of((900, 450, 1000, 550)) == "right"
