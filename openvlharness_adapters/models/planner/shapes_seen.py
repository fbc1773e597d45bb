"""Looking for shapes: grounding calls, what their evidence shows, and which of the shapes a phrase means.

What the tool saw and could not name is never passed over: any such region might be one more of what is asked for.
"""

from __future__ import annotations

import json
import re

import attrs

from openvlharness_adapters.models.planner.evidence import Seen
from openvlharness_adapters.models.planner.looks import Call, Cannot, Plan, made
from openvlharness_adapters.models.planner.parts import lies_in
from openvlharness_adapters.models.planner.places import Region
from openvlharness_adapters.models.planner.shapes_asked import Things
from openvlharness_core.capabilities.grounding import stem_of
from openvlharness_core.geometry import Box
from openvlharness_core.messages import TextPart

GROUNDING = "Visual_Grounding_Tool"

_FOUND = re.compile(r"(\d+) found in ")
_UNNAMED = re.compile(r"(\d+) further regions were seen")
_NOTHING = "Nothing in "
_MASKS = "with their masks"
_FENCE = "```json\n"
_APART = 5.0  # on the grid: what stands closer to a side than that stands about equally far
_SAME_PLACE = 0.7  # intersection over union from which two boxes may be one thing, or may be taken for each other


@attrs.frozen(kw_only=True)
class Shapes:
    """What a grounding call found.

    Attributes:
        picture: where it looked.
        query: for what.
        boxes_grid: the boxes it listed; row i is object i + 1 of the binding.
        count: how many it found, which may be more than it listed.
        unnamed: how many more regions may be what it looked for.
        binding: the binding that holds them, if the inventory lists one.
        has_masks: whether that holds masks.
    """

    picture: str
    query: str
    boxes_grid: tuple[Box, ...] = ()
    count: int = 0
    unnamed: int = 0
    binding: str | None = None
    has_masks: bool = False


@attrs.frozen(kw_only=True)
class One:
    """One of the shapes that a call found: row `row`, from 0."""

    shapes: Shapes
    row: int

    @property
    def box_grid(self) -> Box:
        """Where it stands, on the 0-1000 grid."""
        return self.shapes.boxes_grid[self.row]


def look_for(picture: str, query: str) -> Plan[Shapes]:
    """Everything that the tool finds for a query. Raises Cannot if the call fails or shows nothing that can be read."""
    arguments = {"query": query, "image_id": picture}
    seen = yield from made(Call(tool=GROUNDING, arguments=arguments, reason=f"Looking for each {query} in {picture}."))
    return shapes_of(seen, picture, query)


def shapes_of(seen: Seen, picture: str, query: str) -> Shapes:
    """What the evidence of a grounding call shows.

    Raises:
        Cannot: it is not of that form.
    """
    texts = [part.text for part in seen.parts if isinstance(part, TextPart)]
    unnamed = next((int(found[1]) for text in texts if (found := _UNNAMED.match(text))), 0)
    stem = re.compile(re.escape(stem_of(query)) + r"(?:_\d+)?")
    names = [name for name, handle in seen.bindings.items() if handle == picture and stem.fullmatch(name)]
    if texts and texts[0].startswith(_NOTHING):
        return Shapes(picture=picture, query=query, unnamed=unnamed)
    head = _FOUND.match(texts[0]) if texts else None
    if head is None:
        raise Cannot(f"{GROUNDING} said neither what it found nor that it found nothing")
    boxes = _boxes(texts[0])
    if len(boxes) > int(head[1]) or not boxes:
        raise Cannot(f"{GROUNDING} counted {head[1]} and listed {len(boxes)}")
    return Shapes(
        picture=picture,
        query=query,
        boxes_grid=boxes,
        count=int(head[1]),
        unnamed=unnamed,
        binding=names[-1] if names else None,
        has_masks=any(_MASKS in text for text in texts[1:]),
    )


def _boxes(text: str) -> tuple[Box, ...]:
    try:
        items, _ = json.JSONDecoder().raw_decode(text[text.index(_FENCE) + len(_FENCE) :])
        rows = items.values() if isinstance(items, dict) else [item["bbox_2d"] for item in items]
        return tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in rows)
    except (ValueError, TypeError, KeyError):  # not our evidence: then no box is known
        return ()


def certain(shapes: Shapes) -> Shapes:
    """The shapes, if there are no more. Raises Cannot if there may be."""
    if shapes.unnamed:
        more = "1 more region" if shapes.unnamed == 1 else f"{shapes.unnamed} more regions"
        article = "the" if shapes.query.startswith(("largest", "smallest")) else "a"
        raise Cannot(f"{more} of {shapes.picture} may or may not be {article} {shapes.query}, so I cannot tell")
    return shapes


def listed(shapes: Shapes) -> Shapes:
    """The shapes, if there are no more and each has its box. Raises Cannot otherwise."""
    if len(certain(shapes).boxes_grid) < shapes.count:
        raise Cannot(f"I am shown the places of {len(shapes.boxes_grid)} of {shapes.count} only")
    return shapes


def find_all(picture: str, things: Things, region: Region | None = None) -> Plan[list[One]]:
    """Every one of the things in a picture or a part of it, for sure. `things.side` keeps the one at that side.

    Raises:
        Cannot: some may be missing, or it is not plain whether one belongs.
    """
    shapes = listed((yield from look_for(picture, things.query)))
    rows = [One(shapes=shapes, row=row) for row in range(shapes.count)]
    if things.but_not is not None:
        others = listed((yield from look_for(picture, things.but_not.query)))
        rows = _left_over(rows, others)
    if region is not None:
        rows = [one for one in rows if lies_in(one.box_grid, region)]
    return [_at_side(rows, things)] if things.side is not None and rows else rows


def find_one(picture: str, things: Things, region: Region | None = None) -> Plan[One]:
    """The only one of these things. Raises Cannot if there is none, or if it is not plain which is meant."""
    found = yield from find_all(picture, things, region)
    where = picture if region is None else f"the {region.name} of {picture}"
    if not found:
        raise Cannot(f"there is no {things.name} in {where}")
    if len(found) > 1:
        raise Cannot(f"there are {len(found)} {things.names} in {where}, and it is not plain which is meant")
    return found[0]


def is_same(one: Box, other: Box) -> bool:
    """Whether two boxes may belong to one thing."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    inner = max(0.0, width) * max(0.0, height)
    return inner > _SAME_PLACE * (_area(one) + _area(other) - inner)


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _left_over(rows: list[One], others: Shapes) -> list[One]:
    """The rows that are not among the others. Raises Cannot unless each of those is one row and no more."""
    kept = list(rows)
    for box in others.boxes_grid:
        fitting = [one for one in kept if is_same(one.box_grid, box)]
        if len(fitting) != 1:
            raise Cannot(
                f"it is not plain which of the {rows[0].shapes.query if rows else 'shape'}s is a {others.query}"
            )
        kept.remove(fitting[0])
    return kept


def _at_side(rows: list[One], things: Things) -> One:
    """The one that stands furthest to a side, by its edge there and by its middle."""
    axis = 0 if things.side in ("leftmost", "rightmost") else 1
    sign = 1 if things.side in ("leftmost", "topmost") else -1
    near = axis if sign > 0 else axis + 2

    def middle(one: One) -> float:
        return sign * (one.box_grid[axis] + one.box_grid[axis + 2]) / 2

    def edge(one: One) -> float:
        return sign * one.box_grid[near]

    first = min(rows, key=middle)
    for other in rows:
        if other is not first and (middle(other) - middle(first) < _APART or edge(other) - edge(first) < _APART):
            raise Cannot(f"two {attrs.evolve(things, side=None).names} stand about equally far there")
    return first
