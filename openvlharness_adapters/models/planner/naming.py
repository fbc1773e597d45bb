"""Telling which colour, or which kind of shape, one found thing has: by asking for each in turn until one is it.

A box is all that a thing can be known by from one call to the next, so a thing that shares its place with another one,
such as a circle within a square, is not named at all.
"""

from __future__ import annotations

from typing import Literal

import attrs

from openvlharness_adapters.backends.embedded.vision.queries import Colour, Shape
from openvlharness_adapters.models.planner.looks import Cannot, Plan
from openvlharness_adapters.models.planner.shapes_asked import NARROWER, Things
from openvlharness_adapters.models.planner.shapes_seen import One, is_same, look_for

Trait = Literal["colour", "kind"]

KINDS: tuple[Shape, ...] = ("circle", "square", "triangle", "rectangle", "star", "hexagon", "pentagon", "ellipse")
"""In the order of asking; a kind that includes another comes behind it."""
COLOURS_TO_ASK: tuple[Colour, ...] = (
    "red", "blue", "green", "yellow", "orange", "purple", "black", "pink", "brown", "grey", "white",
)  # fmt: skip
"""In the order of asking, the usual ones first: calls are limited."""


def trait_of(one: One, things: Things, trait: Trait) -> Plan[str]:
    """Its colour or its kind, where `things` says what it is known to be.

    Raises:
        Cannot: several things stand in its place, or no name is sure.
    """
    yield from alone(one)
    known = attrs.evolve(things, size=None, side=None, but_not=None)
    if trait == "colour":
        for colour in COLOURS_TO_ASK:
            if (yield from _is_among(one, attrs.evolve(known, colour=colour)))[0]:
                return colour
        raise Cannot(f"the colour of what stands at {_place(one)} has no name that is sure")
    open_kinds: set[Shape] = set()
    for kind in KINDS:
        found, may_be = yield from _is_among(one, attrs.evolve(known, shape=kind))
        narrower = NARROWER.get(kind)
        if found and narrower in open_kinds:
            raise Cannot(f"what stands at {_place(one)} may be a {narrower} or another {kind}")
        if found:
            return kind
        if may_be:
            open_kinds.add(kind)
    raise Cannot(f"what stands at {_place(one)} is no shape that I know for sure")


def alone(one: One) -> Plan[None]:
    """Raises Cannot if another shape stands in the same place."""
    shapes = one.shapes
    if shapes.query != "shape":
        shapes = yield from look_for(shapes.picture, "shape")
    if sum(is_same(one.box_grid, box) for box in shapes.boxes_grid) > 1 or len(shapes.boxes_grid) < shapes.count:
        raise Cannot(f"more than one shape stands at {_place(one)}, so it is not plain which is meant")


def _is_among(one: One, things: Things) -> Plan[tuple[bool, bool]]:
    """Whether a thing is one of these, and whether it may be."""
    shapes = yield from look_for(one.shapes.picture, things.query)
    return any(is_same(one.box_grid, box) for box in shapes.boxes_grid), shapes.unnamed > 0


def _place(one: One) -> str:
    return str([round(value) for value in one.box_grid])
