"""Comparing shapes by what a program measures: areas, distances in the picture, and depths.

Sizes are areas of masks where there are any. What differs by no more than `NEAR` is about equal, and of things about
equally near none is the nearest. Where a rim of `RIM_PX` around one of them would turn the verdict, or a region that was
seen may be a border of one, none is given.
"""

from __future__ import annotations

import math
import re
from typing import Literal

import attrs

from openvlharness_adapters.models.planner.computing import run_measure
from openvlharness_adapters.models.planner.locating import place_of, told_thing
from openvlharness_adapters.models.planner.locating_asked import start_and_option
from openvlharness_adapters.models.planner.looks import Answer, Call, Cannot, Plan, in_one_picture, made
from openvlharness_adapters.models.planner.measures import Measure, Objects, Quantity
from openvlharness_adapters.models.planner.places import Place
from openvlharness_adapters.models.planner.shapes_asked import Things, things_of
from openvlharness_adapters.models.planner.shapes_seen import One, certain, find_all, find_one, is_same, look_for

Than = Literal["larger", "smaller", "equal"]
Reach = Literal["nearest", "farthest"]

DEPTH = "Depth_Estimation_Tool"
NEAR = 0.05
RIM_PX = 2.0

_THAN: dict[str, Than] = {"larger": "larger", "bigger": "larger", "greater": "larger", "smaller": "smaller"}
_SUPERLATIVE: dict[str, Reach] = {
    **dict.fromkeys(("nearest", "closest", "nearer", "closer"), "nearest"),
    **dict.fromkeys(("farthest", "furthest", "farther", "further"), "farthest"),
}
_CAMERA = "(?:the )?(?:camera|viewer)"
_REACH = "|".join(_SUPERLATIVE)

_IS_LARGER = re.compile(f"is (?P<one>.+?) (?P<than>{'|'.join(_THAN)})(?: in size)? than (?P<other>.+)")
_SAME = re.compile("(?:are|is) (?P<one>.+?) and (?P<other>.+?) (?:of )?(?:the same size|equally (?:large|big))"
                   "|is (?P<as_one>.+?) as (?:large|big) as (?P<as_other>.+)")  # fmt: skip
_WHICH_LARGER = re.compile(
    f"(?:which|what)(?: one| shape)? is (?P<than>{'|'.join(_THAN)}) (?P<one>.+?) or (?P<other>.+)"
)
_NEAREST_OF = re.compile(
    f"(?:which|what)(?: one| shape)? is (?P<reach>{_REACH}) (?:away )?(?:to|from) (?P<rest>.+?) or (?P<other>.+)"
)
_NEAREST = re.compile(
    f"(?:which|what)(?: (?P<kind>.+?))? is (?:the )?(?P<reach>{_REACH}) (?:away )?(?:to|from) (?P<start>.+)"
    f"|(?:which|what) is the (?P<first_reach>{_REACH}) (?P<first_kind>.+?) to (?P<first_start>.+)"
    f"|(?:which|what) is the (?P<then_kind>.+?) (?P<then_reach>{_REACH}) (?:away )?(?:to|from) (?P<then_start>.+)"
)
_DISTANCE = re.compile(
    "(?:what is )?the distance (?:between (?P<one>.+?) and|from (?P<from>.+?) to) (?P<other>.+)"
    "|how far is (?P<far>.+?) (?:away )?from (?P<far_other>.+)"
)

VOCABULARY = frozenset(
    re.findall(
        "[a-z]+",
        " ".join(each.pattern for each in (_IS_LARGER, _SAME, _WHICH_LARGER, _NEAREST_OF, _NEAREST, _DISTANCE)),
    )
) | {"camera", "viewer"}


@attrs.frozen(kw_only=True)
class CompareSizes:
    """How two things compare in size; `than` is `None` where the question asks which of them is larger or smaller."""

    one: Things
    other: Things
    than: Than
    which: bool
    place: Place


@attrs.frozen(kw_only=True)
class Nearest:
    """Which of some things is nearest to, or farthest from, another; or the camera, where `start` is `None`."""

    options: tuple[Things, ...]
    reach: Reach
    start: Things | None
    place: Place


@attrs.frozen(kw_only=True)
class Distance:
    """How far two things are from each other."""

    one: Things
    other: Things
    place: Place


ComparingAsk = CompareSizes | Nearest | Distance


def comparing_of(words: str, place: Place) -> ComparingAsk | None:
    """What a question that compares asks; `None` if it is another question, or speaks of a part of a picture."""
    if place.region is not None:
        return None
    return _sizes(words, place) or _nearest(words, place) or _distance(words, place)


def _sizes(words: str, place: Place) -> ComparingAsk | None:
    words = words.replace("¶ ", "")
    for pattern, which in ((_IS_LARGER, False), (_SAME, False), (_WHICH_LARGER, True)):
        found = pattern.fullmatch(words)
        if found is None:
            continue
        groups = [group for name, group in found.groupdict().items() if group is not None and name != "than"]
        one, other = things_of(groups[0]), things_of(groups[1])
        than: Than = "equal" if pattern is _SAME else _THAN[found["than"]]
        if one and other:
            return CompareSizes(one=one, other=other, than=than, which=which, place=place)
    return None


def _nearest(words: str, place: Place) -> ComparingAsk | None:
    found = _NEAREST_OF.fullmatch(words)
    if found and (other := things_of(found["other"])):
        reach = _SUPERLATIVE[found["reach"]]
        camera = re.fullmatch(rf"{_CAMERA} (?:¶ )?(?P<one>.+)", found["rest"])
        if camera and (option := things_of(camera["one"])):
            return Nearest(options=(option, other), reach=reach, start=None, place=place)
        for start, one in start_and_option(found["rest"]):
            if start is not None:
                return Nearest(options=(one, other), reach=reach, start=start, place=place)
    found = _NEAREST.fullmatch(words)
    if found is None:
        return None
    before = next(each for each in ("", "first_", "then_") if found[f"{each}reach"])
    kind, reached = things_of(found[f"{before}kind"] or "shape"), _SUPERLATIVE[found[f"{before}reach"]]
    to_camera = re.fullmatch(_CAMERA, found[f"{before}start"]) is not None
    start = None if to_camera else things_of(found[f"{before}start"])
    if kind is None or not kind.is_plain or (start is None and not to_camera):
        return None
    return Nearest(options=(kind,), reach=reached, start=start, place=place)


def _distance(words: str, place: Place) -> ComparingAsk | None:
    found = _DISTANCE.fullmatch(words)
    groups = [group for group in found.groups() if group is not None] if found else []
    one, other = (things_of(groups[0]), things_of(groups[1])) if groups else (None, None)
    return Distance(one=one, other=other, place=place) if one and other else None


# --- plans ---------------------------------------------------------------------------------------------------------


def comparing(ask: ComparingAsk, pictures: tuple[str, ...]) -> Plan[Answer]:
    """The plan for a question that compares."""

    def in_picture(picture: str) -> Plan[Answer]:
        match ask:
            case CompareSizes():
                return _told_sizes(ask, picture)
            case Nearest():
                return _told_nearest(ask, picture)
            case Distance():
                return _told_distance(ask, picture)

    return in_one_picture(ask.place.which, pictures, in_picture)


def _told_sizes(ask: CompareSizes, picture: str) -> Plan[Answer]:
    one, other = (yield from find_one(picture, ask.one)), (yield from find_one(picture, ask.other))
    _apart(one, other, ask.one, ask.other)
    masks = one.shapes.has_masks and other.shapes.has_masks
    areas = yield from measured("areas", [one, other], masks=masks)
    first, second = areas
    outline = "masks" if masks else "boxes only, since there are no masks"
    grounds = f"The {ask.one.name} has {first:.0f} and the {ask.other.name} {second:.0f} square pixels, by {outline}."
    by_boxes = "" if masks else " by their boxes"
    if nearly(first, second):
        if ask.than == "equal":
            return Answer(text=f"Yes, about equal{by_boxes}.", grounds=grounds)
        return Answer(text=f"They are about equal in size{by_boxes}.", grounds=grounds)
    if abs(math.sqrt(first) - math.sqrt(second)) <= RIM_PX:
        raise Cannot(f"the {ask.one.name} and the {ask.other.name} differ by no more than a thin border would")
    certain((yield from look_for(picture, "shape")))
    if ask.which:
        chosen = ask.one if (first > second) == (ask.than == "larger") else ask.other
        return Answer(text=f"The {chosen.name}{by_boxes}.", grounds=grounds)
    is_so = ask.than != "equal" and (first > second) == (ask.than == "larger")
    return Answer(text=f"{'Yes' if is_so else 'No'}{by_boxes and ', ' + by_boxes.strip()}.", grounds=grounds)


def _told_nearest(ask: Nearest, picture: str) -> Plan[Answer]:
    start = (yield from find_one(picture, ask.start)) if ask.start is not None else None
    options: list[tuple[One, Things]] = []
    if len(ask.options) == 1:
        options = [(one, ask.options[0]) for one in (yield from find_all(picture, ask.options[0]))]
        options = [each for each in options if start is None or not is_same(each[0].box_grid, start.box_grid)]
    else:
        for option in ask.options:
            options.append(((yield from find_one(picture, option)), option))
            if start is not None and ask.start is not None:
                _apart(start, options[-1][0], ask.start, option)
        _apart(options[0][0], options[1][0], *ask.options)
    if not options:
        raise Cannot(f"there is no {'other ' if ask.start else ''}{ask.options[0].name} in {picture}")
    ones = [one for one, _ in options]
    if start is None:
        depths = yield from _depths(ones, picture)
        position = _first(depths, ask.reach)
        grounds = f"Their depths are {', '.join(f'{depth:.3g}' for depth in depths)}."
    else:
        distances = yield from measured("distances", ones, start)
        position = _first(distances, ask.reach)
        if len(ones) > 1 and _first((yield from measured("gaps", ones, start)), ask.reach) != position:
            raise Cannot("which is nearer depends on whether middles or edges count")
        grounds = f"Its middle is {distances[position]:.0f} pixels away, the others' {_others(distances, position)}."
    one, option = options[position]
    if len(ask.options) > 1:
        return Answer(text=f"The {option.name}.", grounds=grounds)
    return (yield from told_thing(one, option, grounds))


def _others(values: list[float], position: int) -> str:
    return ", ".join(f"{value:.0f}" for at, value in enumerate(values) if at != position) or "none"


def _told_distance(ask: Distance, picture: str) -> Plan[Answer]:
    one, other = (yield from find_one(picture, ask.one)), (yield from find_one(picture, ask.other))
    _apart(one, other, ask.one, ask.other)
    (distance,) = yield from measured("distances", [other], one)
    grounds = f"The {ask.one.name} is {place_of(one)}; the {ask.other.name} is {place_of(other)}."
    return Answer(text=f"{distance:.0f} pixels between their middles.", grounds=grounds)


def _depths(ones: list[One], picture: str) -> Plan[list[float]]:
    """How far each is from the camera."""
    seen = yield from made(Call(tool=DEPTH, arguments={"image_id": picture}, reason=f"Measuring depth in {picture}."))
    names = [name for name, handle in seen.bindings.items() if handle == picture and name.startswith("depth_result")]
    if not names:
        raise Cannot(f"no data binding with the depth of {picture} is listed")
    masks = all(one.shapes.has_masks for one in ones)
    return (yield from measured("depths", ones, masks=masks, depth=names[-1]))


def measured(
    what: Quantity, ones: list[One], start: One | None = None, *, masks: bool = False, depth: str | None = None
) -> Plan[list[float]]:
    """A quantity of each thing, by a program over their bindings."""
    outline: Literal["masks", "boxes"] = "masks" if masks else "boxes"

    def objects(one: One) -> Objects:
        if one.shapes.binding is None:
            raise Cannot(f"no data binding with each {one.shapes.query} of {one.shapes.picture} is listed")
        return Objects(binding=one.shapes.binding, rows=(one.row + 1,), outline=outline)

    parts = tuple(objects(one) for one in ones)
    if len({part.binding for part in parts}) == 1:
        rows = tuple(row for part in parts for row in part.rows)
        parts = (attrs.evolve(parts[0], rows=rows),)
    measure = Measure(what=what, objects=parts, start=objects(start) if start else None, depth=depth)
    return (yield from run_measure(measure, f"{what} in {ones[0].shapes.picture}"))


def _first(values: list[float], reach: Reach) -> int:
    """Which is first. Raises Cannot if another one is about as near or far."""
    position = values.index(min(values) if reach == "nearest" else max(values))
    if any(nearly(value, values[position]) for at, value in enumerate(values) if at != position):
        raise Cannot("several of them are about equally near or far")
    return position


def nearly(one: float, other: float) -> bool:
    """Whether two quantities are about equal."""
    return abs(one - other) <= NEAR * max(abs(one), abs(other))


def _apart(one: One, other: One, first: Things, second: Things) -> None:
    if is_same(one.box_grid, other.box_grid):
        raise Cannot(f"the {first.name} and the {second.name} stand in one place, or are one thing")
