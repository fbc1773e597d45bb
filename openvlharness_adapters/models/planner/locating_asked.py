"""What questions about the places of shapes ask: where, on which side of each other, which is furthest, what it is there."""

from __future__ import annotations

import re
from typing import Literal

import attrs

from openvlharness_adapters.models.planner.naming import Trait
from openvlharness_adapters.models.planner.places import Place
from openvlharness_adapters.models.planner.shapes_asked import Things, things_of

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
_RELATION = "|".join(sorted(_RELATIONS, key=len, reverse=True))
_COLOUR = "colou?r"

_WHERE = re.compile(
    "(?:where|at which place)(?: in (?:the|this) (?:picture|image|photo))? (?:is|are|can i find) (?P<what>.+)|(?:find|locate|point to) (?P<told>.+)"
)
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
) | {"color", "colour"}


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
