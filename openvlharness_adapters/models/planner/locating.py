"""Where shapes are: in which part of the picture, on which side of each other, and which is the furthest to a side."""

from __future__ import annotations

import re
from typing import Literal

import attrs

from openvlharness_adapters.models.planner.looks import Answer, Cannot, Plan, in_one_picture
from openvlharness_adapters.models.planner.naming import Trait, trait_of
from openvlharness_adapters.models.planner.parts import lies_in, part_of
from openvlharness_adapters.models.planner.places import Place
from openvlharness_adapters.models.planner.shapes_asked import Things, things_of
from openvlharness_adapters.models.planner.shapes_seen import One, find_all, find_one, is_same
from openvlharness_core.geometry import Box

Relation = Literal["left of", "right of", "above", "below"]

_RELATIONS: dict[str, Relation] = {
    **dict.fromkeys(("left of", "to the left of", "on the left of", "further left than"), "left of"),
    **dict.fromkeys(("right of", "to the right of", "on the right of", "further right than"), "right of"),
    **dict.fromkeys(("above", "higher than", "higher up than"), "above"),
    **dict.fromkeys(("below", "beneath", "under", "underneath", "lower than"), "below"),
}
_FURTHER: dict[str, Relation] = {
    "further left": "left of",
    "further right": "right of",
    "higher": "above",
    "higher up": "above",
    "lower": "below",
    "lower down": "below",
}
_NEARLY = 3.0  # on the grid: middles this close may be the other way round
_RELATION = "|".join(sorted(_RELATIONS, key=len, reverse=True))
_COLOUR = "colou?r"

_WHERE = re.compile("(?:where|at which place) (?:is|are|can i find) (?P<what>.+)|(?:find|locate|point to) (?P<told>.+)")
_IS = re.compile(rf"(?:is|are) (?P<one>.+?) (?P<relation>{_RELATION}) (?P<other>.+)")
_WHICH_OF = re.compile(
    rf"(?:which|what)(?: one| shape)? is (?P<side>{_RELATION}|{'|'.join(sorted(_FURTHER, key=len, reverse=True))}) "
    "(?P<rest>.+?) or (?P<other>.+)"
)
_OPEN = re.compile(rf"(?:what|which (?P<kind>.+?)) (?:is|stands) (?P<relation>{_RELATION}) (?P<start>.+)")
_IN = re.compile("(?:is|are) (?P<what>.+)")
_COLOUR_OF = re.compile(rf"(?:what|which) {_COLOUR} (?:is|has) (?P<what>.+)|(?:what is )?the {_COLOUR} of (?P<of>.+)")
_KIND_OF = re.compile(
    "(?:what|which) (?:kind of |type of )?shape is (?P<what>.+)"
    "|what (?:kind|type) of shape (?:is|does) (?P<kind_of>.+?)(?: have)?"
    "|what is (?P<plain>the (?:largest|biggest|smallest|leftmost|rightmost|topmost|bottommost|lowest|highest)(?: .+)?)"
)
_WHICH_IS = re.compile(r"(?:which|what) (?P<kind>.+?) is(?: the)? (?P<extreme>\w+)(?: one)?")
_FURTHEST = re.compile("(?:furthest|farthest)(?: to the)? (left|right)")

VOCABULARY = frozenset(
    re.findall(
        "[a-z]+",
        " ".join(each.pattern for each in (_WHERE, _IS, _WHICH_OF, _OPEN, _COLOUR_OF, _KIND_OF, _WHICH_IS, _FURTHEST)),
    )
) | {"color"}


@attrs.frozen(kw_only=True)
class Where:
    """Where these things are."""

    things: Things
    place: Place


@attrs.frozen(kw_only=True)
class IsBeside:
    """Whether one thing is on a side of another."""

    one: Things
    relation: Relation
    other: Things
    place: Place


@attrs.frozen(kw_only=True)
class IsIn:
    """Whether a thing is in a part of the picture."""

    things: Things
    place: Place


@attrs.frozen(kw_only=True)
class WhichBeside:
    """Which of some things is on a side of another, or furthest to a side.

    Attributes:
        options: two that are named, or one phrase for all that come into question.
        relation: the side.
        start: of what; `None` where the options are compared with each other.
    """

    options: tuple[Things, ...]
    relation: Relation
    start: Things | None
    place: Place


@attrs.frozen(kw_only=True)
class WhatTrait:
    """What colour, or what kind of shape, one thing is."""

    things: Things
    trait: Trait
    place: Place


LocatingAsk = Where | IsBeside | IsIn | WhichBeside | WhatTrait


def locating_of(words: str, place: Place) -> LocatingAsk | None:
    """What a question about places asks; `None` if it is another question."""
    return (
        _where(words, place)
        or _beside(words, place)
        or _which_beside(words, place)
        or _trait(words, place)
        or _is_in(words, place)
    )


def _where(words: str, place: Place) -> LocatingAsk | None:
    found = _WHERE.fullmatch(words)
    things = things_of(found["what"] or found["told"]) if found and place.region is None else None
    return Where(things=things, place=place) if things else None


def _beside(words: str, place: Place) -> LocatingAsk | None:
    found = _IS.fullmatch(words)
    one, other = (things_of(found["one"]), things_of(found["other"])) if found else (None, None)
    if found is None or one is None or other is None or place.region is not None:
        return None
    return IsBeside(one=one, relation=_RELATIONS[found["relation"]], other=other, place=place)


def _which_beside(words: str, place: Place) -> LocatingAsk | None:
    if place.region is not None:
        return None
    found = _WHICH_OF.fullmatch(words)
    if found and (other := things_of(found["other"])):
        for start, one in start_and_option(found["rest"]):
            if (found["side"] in _FURTHER) == (start is None):
                relation = _RELATIONS.get(found["side"]) or _FURTHER[found["side"]]
                return WhichBeside(options=(one, other), relation=relation, start=start, place=place)
    found = _OPEN.fullmatch(words)
    kind, start = (things_of(found["kind"] or "shape"), things_of(found["start"])) if found else (None, None)
    if found is None or kind is None or start is None or not kind.is_plain:
        return None
    return WhichBeside(options=(kind,), relation=_RELATIONS[found["relation"]], start=start, place=place)


def start_and_option(words: str) -> list[tuple[Things | None, Things]]:
    """Every way to read words as an option, perhaps with the thing that it is compared with before it."""
    tokens = words.replace("¶", " ").split()
    found: list[tuple[Things | None, Things]] = []
    for cut in range(len(tokens)):
        start, option = things_of(" ".join(tokens[:cut])), things_of(" ".join(tokens[cut:]))
        if option is not None and (start is not None) == (cut > 0):
            found.append((start, option))
    return found


def _is_in(words: str, place: Place) -> LocatingAsk | None:
    found = _IN.fullmatch(words) if place.region is not None else None
    things = things_of(found["what"]) if found else None
    return IsIn(things=things, place=place) if things else None


def _trait(words: str, place: Place) -> LocatingAsk | None:
    found = _COLOUR_OF.fullmatch(words)
    if found:
        things = things_of(found["what"] or found["of"])
        return WhatTrait(things=things, trait="colour", place=place) if things and things.colour is None else None
    found = _WHICH_IS.fullmatch(_FURTHEST.sub(r"\1most", words))
    ranked = things_of(f"{found['extreme']} {found['kind']}") if found else None
    if ranked and (ranked.size or ranked.side):
        return _most_telling(ranked, place)
    found = _KIND_OF.fullmatch(words)
    if found:
        things = things_of(found["what"] or found["kind_of"] or found["plain"])
        if found["plain"]:
            return _most_telling(things, place) if things else None
        return WhatTrait(things=things, trait="kind", place=place) if things and things.shape is None else None
    if place.region is not None and (which := re.fullmatch("(?:which|what) (?P<kind>.+) is", words)):
        things = things_of(which["kind"])
        return _most_telling(things, place) if things else None
    return None


def _most_telling(things: Things, place: Place) -> LocatingAsk | None:
    """What tells one thing from others that are alike in what the question says of them."""
    if things.shape is None:
        return WhatTrait(things=things, trait="kind", place=place)
    if things.colour is None:
        return WhatTrait(things=things, trait="colour", place=place)
    return Where(things=things, place=place) if place.region is None else None


# --- plans ---------------------------------------------------------------------------------------------------------


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
