"""Where shapes are: in which part of the picture, on which side of each other, and which is the furthest to a side."""

from __future__ import annotations

from openvlharness_adapters.models.planner.locating_asked import (
    IsBeside,
    IsIn,
    LocatingAsk,
    Relation,
    WhatTrait,
    Where,
    WhichBeside,
)
from openvlharness_adapters.models.planner.looks import Answer, Cannot, Plan, in_one_picture
from openvlharness_adapters.models.planner.naming import Trait, trait_of
from openvlharness_adapters.models.planner.parts import lies_in, part_of
from openvlharness_adapters.models.planner.shapes_asked import Things
from openvlharness_adapters.models.planner.shapes_seen import One, find_all, find_one, is_same
from openvlharness_core.geometry import Box

_NEARLY = 3.0  # on the grid: middles this close may be the other way round


def locating(ask: LocatingAsk, pictures: tuple[str, ...]) -> Plan[Answer]:
    """The plan for a question about places."""

    def in_picture(picture: str) -> Plan[Answer]:
        match ask:
            case Where():
                return _told_where(ask, picture)
            case IsBeside():
                return _told_beside(ask, picture)
            case IsIn():
                return _told_in(ask, picture)
            case WhichBeside():
                return _told_which(ask, picture)
            case WhatTrait():
                return _told_trait(ask, picture)

    return in_one_picture(ask.place.which, pictures, in_picture)


def _told_where(ask: Where, picture: str) -> Plan[Answer]:
    found = yield from find_all(picture, ask.things)
    if not found:
        raise Cannot(f"there is no {ask.things.name} in {picture}")
    grounds = f"I found {len(found)} {ask.things.name if len(found) == 1 else ask.things.names} in {picture}."
    return Answer(text="; ".join(place_of(one) for one in found), grounds=grounds)


def place_of(one: One) -> str:
    """Where a thing is, in words and on the grid."""
    box = [round(value) for value in one.box_grid]
    part = part_of(one.box_grid)
    side = {"left": "on the left", "right": "on the right", "centre": "in the centre"}.get(part, f"at the {part}")
    return f"{side}, box {box} on the 0-1000 grid"


def _told_beside(ask: IsBeside, picture: str) -> Plan[Answer]:
    one = yield from find_one(picture, ask.one)
    other = yield from find_one(picture, ask.other)
    is_so = _is_beside(one, ask.relation, other, ask.one.name, ask.other.name)
    grounds = f"The {ask.one.name} is {place_of(one)}; the {ask.other.name} is {place_of(other)}."
    return Answer(text="Yes." if is_so else "No.", grounds=grounds)


def _is_beside(one: One, relation: Relation, other: One, name: str, other_name: str) -> bool:
    if one.shapes.picture == other.shapes.picture and is_same(one.box_grid, other.box_grid):
        raise Cannot(f"the {name} and the {other_name} stand in one place, or are one thing")
    verdict = is_beside(one.box_grid, relation, other.box_grid)
    if verdict is None:
        raise Cannot(f"the {name} is not plainly {relation} the {other_name}, nor plainly not")
    return verdict


def is_beside(one: Box, relation: Relation, other: Box) -> bool | None:
    """Whether a box is on a side of another; `None` where people would not agree.

    It is if neither's middle lies within the other's span; it is not if its middle is no further to that side.
    """
    axis = 0 if relation in ("left of", "right of") else 1
    if relation in ("right of", "below"):
        one, other = other, one
    (low, high), (other_low, other_high) = ((box[axis], box[axis + 2]) for box in (one, other))
    middle, other_middle = (low + high) / 2, (other_low + other_high) / 2
    if middle < other_low and high < other_middle:
        return True
    return False if middle > other_middle + _NEARLY else None


def _told_in(ask: IsIn, picture: str) -> Plan[Answer]:
    region = ask.place.region
    assert region is not None
    one = yield from find_one(picture, ask.things)
    is_so = lies_in(one.box_grid, region)
    return Answer(text="Yes." if is_so else "No.", grounds=f"The {ask.things.name} is {place_of(one)}.")


def _told_which(ask: WhichBeside, picture: str) -> Plan[Answer]:
    if ask.start is None:
        return (yield from _told_further(ask, picture))
    start = yield from find_one(picture, ask.start)
    if len(ask.options) == 1:
        return (yield from _told_open(ask, start, picture))
    beside: list[str] = []
    for option in ask.options:
        one = yield from find_one(picture, option)
        if _is_beside(one, ask.relation, start, option.name, ask.start.name):
            beside.append(f"the {option.name}")
    grounds = f"The {ask.start.name} is {place_of(start)}."
    text = {0: "neither", 1: "".join(beside), 2: "both"}[len(beside)]
    return Answer(text=f"{text[0].upper()}{text[1:]}.", grounds=grounds)


def _told_further(ask: WhichBeside, picture: str) -> Plan[Answer]:
    first, second = ask.options
    one, other = (yield from find_one(picture, first)), (yield from find_one(picture, second))
    grounds = f"They are {place_of(one)}, and {place_of(other)}."
    if _is_beside(one, ask.relation, other, first.name, second.name):
        return Answer(text=f"The {first.name}.", grounds=grounds)
    if _is_beside(other, ask.relation, one, second.name, first.name):
        return Answer(text=f"The {second.name}.", grounds=grounds)
    raise Cannot(f"neither of the {first.name} and the {second.name} is plainly {ask.relation} the other")


def _told_open(ask: WhichBeside, start: One, picture: str) -> Plan[Answer]:
    """The only one of a kind on a side of something, by its most telling trait."""
    assert ask.start is not None
    kind = ask.options[0]
    beside: list[One] = []
    for one in (yield from find_all(picture, kind)):
        if is_same(one.box_grid, start.box_grid):
            continue
        if _is_beside(one, ask.relation, start, kind.name, ask.start.name):
            beside.append(one)
    grounds = f"The {ask.start.name} is {place_of(start)}."
    if not beside:
        return Answer(text=f"No {kind.name}.", grounds=grounds)
    if len(beside) > 1:
        raise Cannot(f"{len(beside)} {kind.names} are {ask.relation} the {ask.start.name}")
    return (yield from told_thing(beside[0], kind, grounds))


def told_thing(one: One, kind: Things, grounds: str) -> Plan[Answer]:
    """A thing by what tells it from the others of its kind, and its place."""
    if kind.shape is not None and kind.colour is not None:
        return Answer(text=f"The one {place_of(one)}.", grounds=grounds)
    trait: Trait = "kind" if kind.shape is None else "colour"
    name = yield from trait_of(one, kind, trait)
    words = (kind.tone, kind.colour, name) if trait == "kind" else (kind.tone, name, kind.shape)
    return Answer(text=f"The {' '.join(filter(None, words))}, {place_of(one)}.", grounds=grounds)


def _told_trait(ask: WhatTrait, picture: str) -> Plan[Answer]:
    one = yield from find_one(picture, ask.things, ask.place.region)
    name = yield from trait_of(one, ask.things, ask.trait)
    return Answer(text=f"{name[0].upper()}{name[1:]}.", grounds=f"The {ask.things.name} is {place_of(one)}.")
