"""Counting shapes: how many there are, whether there are any, and which there are more of.

Sums and differences of counts are the coding tool's. A count is given only where nothing more may belong to it.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import Literal

import attrs

from openvlharness_adapters.models.planner.computing import count_of
from openvlharness_adapters.models.planner.looks import Answer, Cannot, Plan, in_one_picture
from openvlharness_adapters.models.planner.places import Place, Region
from openvlharness_adapters.models.planner.shapes_asked import (
    Things,
    description_of,
    kinds_of,
    may_overlap,
    narrowed,
    things_of,
)
from openvlharness_adapters.models.planner.shapes_seen import certain, find_all, look_for

How = Literal["more", "fewer", "equal", "difference", "which more", "which fewer"]

_SEEN = "(?: there| visible| shown)?"
_COUNT = re.compile(
    rf"how many (?P<many>.+?)(?: (?:are|is){_SEEN}| (?:can|do) you (?:see|find|count)| does it have)?"
    "|(?:count|(?:what is )?the (?:total )?number of) (?P<number>.+)"
)
_HOW_MANY_ARE = re.compile(r"how many (?P<kind>.+?) are (?P<negated>not )?(?P<what>.+)")
_EXISTS = re.compile("(?:is|are) there (?P<what>.+?)(?: visible| shown)?|(?:do|can) you see (?P<seen>.+)")
_MORE = re.compile(
    "are there (?P<how>more|fewer|less) (?P<one>.+?) than (?P<other>.+)"
    "|are there as many (?P<equal>.+?) as (?P<equal_other>.+)"
    "|how many more (?P<excess>.+?) than (?P<excess_other>.+?)(?: are(?: there)?)?"
    "|(?:what is )?the difference between the numbers? of (?P<number>.+?) and (?:the number of )?(?P<number_other>.+)"
    "|(?:which|what) are there (?P<which>more|fewer) of (?P<named>.+?) or (?P<named_other>.+)"
    "|are there more (?P<or_one>.+?) or(?: more)? (?P<or_other>.+)"
)
_ALL_ARE = re.compile(
    r"(?:are (?:all|all of) (?P<all>.+)|is (?:every|each) (?P<every>.+)|is (?P<only>the .+)) \| (?P<what>.+)"
)
_WHICH_PICTURE = re.compile(
    "(?:which|what) (?:picture|image|photo) (?:has|shows|contains) (?P<how>(?:the )?most|more|(?:the )?fewest|fewer) (?P<what>.+)"
)

VOCABULARY = frozenset(
    re.findall(
        "[a-z]+", " ".join(each.pattern for each in (_COUNT, _HOW_MANY_ARE, _EXISTS, _MORE, _ALL_ARE, _WHICH_PICTURE))
    )
) | {"and"}


@attrs.frozen(kw_only=True)
class CountThings:
    """How many there are of several kinds together."""

    kinds: tuple[Things, ...]
    place: Place


@attrs.frozen(kw_only=True)
class AnyThere:
    """Whether there is at least one of these."""

    things: Things
    place: Place


@attrs.frozen(kw_only=True)
class AllAre:
    """Whether all of these, or the only one, are what is said; `both` are those that are."""

    things: Things
    both: Things
    is_one: bool
    place: Place


@attrs.frozen(kw_only=True)
class CompareCounts:
    """Which of two kinds there are more of, or by how many."""

    one: Things
    other: Things
    how: How
    place: Place


@attrs.frozen(kw_only=True)
class WhichPicture:
    """Which picture shows most of these, or fewest."""

    things: Things
    most: bool
    place: Place


CountingAsk = CountThings | AnyThere | AllAre | CompareCounts | WhichPicture


def counting_of(words: str, place: Place) -> CountingAsk | None:
    """What a question about counts asks; `None` if it is another question."""
    for kind in (_compared, _which_picture, _counted_kinds, _any, _all_are):
        ask = kind(words, place)
        if ask is not None:
            return ask
    return None


def _counted_kinds(words: str, place: Place) -> CountingAsk | None:
    predicate = _HOW_MANY_ARE.fullmatch(words)
    if predicate and (kind := things_of(predicate["kind"])) and (what := description_of(predicate["what"])):
        both = narrowed(kind, what)
        if both is None:
            return None
        return CountThings(kinds=(attrs.evolve(kind, but_not=both) if predicate["negated"] else both,), place=place)
    found = _COUNT.fullmatch(words)
    if found is None:
        return None
    kinds = kinds_of(found["many"] or found["number"])
    if kinds is None or any(kind.side or kind.size for kind in kinds):
        return None
    return CountThings(kinds=tuple(kinds), place=place)


def _any(words: str, place: Place) -> CountingAsk | None:
    found = _EXISTS.fullmatch(words)
    things = things_of(found["what"] or found["seen"]) if found else None
    return AnyThere(things=things, place=place) if things and things.size is None and things.side is None else None


def _all_are(words: str, place: Place) -> CountingAsk | None:
    tokens = words.split()
    for cut in range(2, len(tokens)):  # wherever the two phrases meet
        found = _ALL_ARE.fullmatch(" ".join([*tokens[:cut], "|", *tokens[cut:]]))
        things = things_of(found["all"] or found["every"] or found["only"]) if found else None
        what = description_of(found["what"]) if found else None
        both = narrowed(things, what) if things and what else None
        if found and things and both:
            return AllAre(things=things, both=both, is_one=found["only"] is not None, place=place)
    return None


def _compared(words: str, place: Place) -> CountingAsk | None:
    found = _MORE.fullmatch(words)
    if found is None:
        return None
    pairs: tuple[tuple[str, str, How], ...] = (
        ("one", "other", "more" if found["how"] == "more" else "fewer"),
        ("equal", "equal_other", "equal"),
        ("excess", "excess_other", "difference"),
        ("number", "number_other", "difference"),
        ("named", "named_other", "which fewer" if found["which"] == "fewer" else "which more"),
        ("or_one", "or_other", "which more"),
    )
    first, second, how = next(pair for pair in pairs if found[pair[0]])
    one, other = things_of(found[first]), things_of(found[second])
    if one is None or other is None or one == other or {one.size, other.size, one.side, other.side} != {None}:
        return None
    return CompareCounts(one=one, other=other, how=how, place=place)


def _which_picture(words: str, place: Place) -> CountingAsk | None:
    found = _WHICH_PICTURE.fullmatch(words)
    things = things_of(found["what"]) if found else None
    if found is None or things is None or things.size or things.side:
        return None
    return WhichPicture(things=things, most=found["how"].removeprefix("the ") in ("most", "more"), place=place)


# --- plans ---------------------------------------------------------------------------------------------------------


def counting(ask: CountingAsk, pictures: tuple[str, ...]) -> Plan[Answer]:
    """The plan for a question about counts."""
    match ask:
        case CountThings():
            return _counts(ask, pictures)
        case AnyThere():
            return in_one_picture(ask.place.which, pictures, lambda picture: _is_there(ask, picture))
        case AllAre():
            return in_one_picture(ask.place.which, pictures, lambda picture: _are_all(ask, picture))
        case CompareCounts():
            return in_one_picture(ask.place.which, pictures, lambda picture: _compare(ask, picture))
        case WhichPicture():
            return _fullest(ask, pictures)


def _counts(ask: CountThings, pictures: tuple[str, ...]) -> Plan[Answer]:
    if ask.place.which != "all":
        return (yield from in_one_picture(ask.place.which, pictures, lambda picture: _total(ask, (picture,))))
    return (yield from _total(ask, pictures))


def _total(ask: CountThings, pictures: tuple[str, ...]) -> Plan[Answer]:
    """All kinds in all pictures, together and, where there are several, each."""
    for one, other in combinations(ask.kinds, 2):
        if one.but_not or other.but_not or may_overlap(one, other):
            raise Cannot(f"something could be a {one.name} and a {other.name}, so it is not plain how to count it")
    counts: list[tuple[str, int]] = []
    for picture in pictures:
        for kind in ask.kinds:
            count = yield from how_many(picture, kind, ask.place.region)
            counts.append((f"{count} {_named(kind, count)}" + (f" in {picture}" if len(pictures) > 1 else ""), count))
    where = f"the {ask.place.region.name} of {', '.join(pictures)}" if ask.place.region else ", ".join(pictures)
    if len(counts) == 1:
        return Answer(text=str(counts[0][1]), grounds=f"I looked for {counts[0][0]} in {where} and found so many.")
    parts = ", ".join(part for part, _ in counts)
    total = yield from count_of("sum", tuple(count for _, count in counts), f"the counts {parts}")
    return Answer(text=f"{total}: {parts}", grounds=f"I counted each kind in {where}; a program added them up.")


def how_many(picture: str, things: Things, region: Region | None = None) -> Plan[int]:
    """How many there are, for sure."""
    if region is not None:
        return len((yield from find_all(picture, things, region)))
    count = certain((yield from look_for(picture, things.query))).count
    if things.but_not is None:
        return count
    others = certain((yield from look_for(picture, things.but_not.query))).count
    if others > count:
        raise Cannot(f"more {things.but_not.query}s than {things.query}s were found, so one of the counts is wrong")
    return (yield from count_of("difference", (count, others), f"{count} {things.query}s, {others} of them left out"))


def _named(things: Things, count: int) -> str:
    return things.name if count == 1 else things.names


def _is_there(ask: AnyThere, picture: str) -> Plan[Answer]:
    """Yes if one is plainly there, whatever else there may be; no only if nothing else may be one."""
    if ask.place.region is None and ask.things.but_not is None:
        shapes = yield from look_for(picture, ask.things.query)
        count = shapes.count or certain(shapes).count
    else:
        count = yield from how_many(picture, ask.things, ask.place.region)
    if count == 0:
        return Answer(text="No.", grounds=f"I looked for each {ask.things.name} in {picture} and found none.")
    return Answer(text="Yes.", grounds=f"I found {count} {_named(ask.things, count)} in {picture}.")


def _are_all(ask: AllAre, picture: str) -> Plan[Answer]:
    count = yield from how_many(picture, ask.things, ask.place.region)
    if count == 0 or (ask.is_one and count > 1):
        raise Cannot(f"there {'is' if count == 1 else 'are'} {count} {_named(ask.things, count)} in {picture}")
    both = yield from how_many(picture, ask.both, ask.place.region)
    return Answer(
        text="Yes." if both == count else "No.",
        grounds=f"Of {count} {_named(ask.things, count)}, {both} are {ask.both.names}.",
    )


def _compare(ask: CompareCounts, picture: str) -> Plan[Answer]:
    region = ask.place.region
    one = yield from how_many(picture, ask.one, region)
    other = yield from how_many(picture, ask.other, region)
    both = f"{one} {_named(ask.one, one)} and {other} {_named(ask.other, other)}"
    grounds = f"I counted {both} in {picture}."
    match ask.how:
        case "difference":
            number = yield from count_of("difference", (max(one, other), min(one, other)), both)
            return Answer(text=f"{number}{' fewer' if one < other else ''}: {both}", grounds=grounds)
        case "which more" | "which fewer":
            if one == other:
                return Answer(text=f"Equally many: {both}.", grounds=grounds)
            first = (one > other) == (ask.how == "which more")
            return Answer(text=f"{(ask.one if first else ask.other).names}: {both}.", grounds=grounds)
        case "more":
            is_so = one > other
        case "fewer":
            is_so = one < other
        case "equal":
            is_so = one == other
    return Answer(text=f"{'Yes' if is_so else 'No'}: {both}.", grounds=grounds)


def _fullest(ask: WhichPicture, pictures: tuple[str, ...]) -> Plan[Answer]:
    if len(pictures) < 2:
        raise Cannot("there is one picture only, so none can be compared with it")
    counts: dict[str, int] = {}
    for picture in pictures:
        counts[picture] = yield from how_many(picture, ask.things, ask.place.region)
    told = ", ".join(f"{count} in {picture}" for picture, count in counts.items())
    wanted = max(counts.values()) if ask.most else min(counts.values())
    first = [picture for picture, count in counts.items() if count == wanted]
    grounds = f"I counted the {ask.things.names}: {told}."
    if len(first) == len(pictures):
        return Answer(text=f"They have equally many: {told}.", grounds=grounds)
    return Answer(text=f"{' and '.join(first)}: {told}.", grounds=grounds)
