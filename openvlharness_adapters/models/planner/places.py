"""Which picture and which part of it a question means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import attrs

from openvlharness_core.geometry import GRID, Box

Which = Literal["any", "all", "each"]

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_CARRIERS = (
    "picture",
    "image",
    "photo",
    "photograph",
    "screenshot",
    "scan",
    "page",
    "document",
    "receipt",
    "invoice",
    "bill",
)
"""What may follow `of the` without being a thing that the picture shows."""
_THINGS = (
    "sign",
    "label",
    "ticket",
    "card",
    "note",
    "poster",
    "letter",
    "list",
    "menu",
    "screen",
    "form",
    "tag",
    "slip",
    "sheet",
)
_SIDES: dict[str, tuple[float, float]] = {
    "start": (0, 1 / 3),
    "end": (2 / 3, 1),
    "low": (0, 1 / 2),
    "high": (1 / 2, 1),
}
_WHOLE = (0.0, 1.0)


@attrs.frozen(kw_only=True)
class Region:
    """A named part of a picture.

    Attributes:
        name: in the words of the question.
        box_xyxy_grid: where it lies, on the 0-1000 grid.
    """

    name: str
    box_xyxy_grid: Box

    @property
    def is_exact(self) -> bool:
        """Whether its edges are meant: those of a half are, those of `the top` are not."""
        return self.name.endswith(("half", "third", "quarter"))

    @property
    def core_xyxy_grid(self) -> Box:
        """The part of it that everyone means: of a corner the outer third each way, since a quadrant reaches the middle."""
        x1, y1, x2, y2 = self.box_xyxy_grid
        if self.is_exact or (x2 - x1, y2 - y1) != (GRID / 2, GRID / 2) or {x1, x2}.isdisjoint({0, GRID}):
            return self.box_xyxy_grid
        third = round(GRID / 3)
        xs = (x1, third) if x1 == 0 else (GRID - third, x2)
        ys = (y1, third) if y1 == 0 else (GRID - third, y2)
        return xs[0], ys[0], xs[1], ys[1]


@attrs.frozen(kw_only=True)
class Place:
    """What a question is about.

    Attributes:
        which: `any` when it does not say, `all` taken together, `each` for itself; a position counts from 1, -1 is the
            last; a string is a handle.
        region: a part of it; `None` for the whole.
    """

    which: Which | int | str = "any"
    region: Region | None = None


def _regions() -> dict[str, Region]:
    """Every name of a region: halves, quarters, thirds; plain `top` and `bottom` are thirds, `left` and `right` halves."""
    rows = {"top": ("start", "low"), "upper": ("start", "low"), "bottom": ("end", "high"), "lower": ("end", "high")}
    columns = {"left": ("start", "low"), "right": ("end", "high")}
    found: dict[str, Region] = {}

    def add(name: str, x: tuple[float, float], y: tuple[float, float]) -> None:
        box = (round(x[0] * GRID), round(y[0] * GRID), round(x[1] * GRID), round(y[1] * GRID))
        found[name] = Region(name=name, box_xyxy_grid=box)

    for row, (third, half) in rows.items():
        for noun in ("", " part", " third"):
            add(row + noun, _WHOLE, _SIDES[third])
        add(f"{row} half", _WHOLE, _SIDES[half])
        for column, (_, column_half) in columns.items():
            for noun in ("", " corner", " quarter", " part"):
                add(f"{row} {column}{noun}", _SIDES[column_half], _SIDES[half])
    for column, (third, half) in columns.items():
        add(f"{column} third", _SIDES[third], _WHOLE)
        for noun in ("", " side", " part", " half"):
            add(column + noun, _SIDES[half], _WHOLE)
    for name in ("middle", "center", "centre"):
        add(name, (0.25, 0.75), (0.25, 0.75))
    return found


REGIONS = _regions()

_NOUN = f"(?:{'|'.join(_CARRIERS + _THINGS)})"
_CARRIER = f"(?:{'|'.join(_CARRIERS)})"
_ORDINAL = f"(?:{'|'.join(_ORDINALS)}|last|1st|2nd|3rd|[4-9]th|10th)"
_REGION = "|".join(sorted(REGIONS, key=len, reverse=True))
_PICTURE = (
    rf"(?P<handle>(?:the )?(?:image )?input_image_\d+)"
    rf"|(?:the )?(?P<ordinal>{_ORDINAL}) (?:one|{_NOUN})"
    rf"|(?:the )?{_CARRIER} (?:number |no |#)?(?P<cardinal>\d+|{'|'.join(_CARDINALS)})"
    rf"|(?P<all>(?:all|both)(?: of)?(?: the| these| those)? {_NOUN}s)"
    rf"|(?P<each>(?:each|every)(?: one)?(?: of the| of these)? {_NOUN}s?)"
    rf"|(?P<plain>(?:the|this|that) {_NOUN}|here|it|this|these (?:images|pictures|photos))"
)
_IN = "(?:in|on|from|inside|within|according to|at)"
_OF_PLAIN = rf"of (?:the|this|that) {_CARRIER}"
_BEHIND_PICTURE = re.compile(rf"(?P<rest>.*?)(?:^| )(?:(?:{_IN}|of) (?:{_PICTURE})|here)")
_BEHIND_REGION = re.compile(rf"(?P<rest>.*?)(?:^| )(?:{_IN}|of) the (?P<region>{_REGION})")
_WHOLE_OBJECT = re.compile(rf"(?:read|transcribe|what does) (?:the (?P<region>{_REGION})|{_PICTURE})(?P<say> say)?")
_ZOOM = re.compile(
    rf"(?:zoom(?: in)?(?: to| into| on| at)?|crop(?: out)?|cut out|enlarge|magnify|look (?:closer|closely) at) the (?P<region>{_REGION})"
    rf"(?: (?:{_IN}|of) (?P<picture>{_PICTURE}))?(?: ¶)?(?: and)?(?: then)? (?P<rest>.+)"
)
"""What to look at, then what is asked of it; `¶` stands between two sentences."""
_SHOWN = re.compile(r"(?P<rest>.+) (?:shown|printed|written|given|stated|listed|visible|displayed)")


def split_place(words: str) -> tuple[str, Place]:
    """`words` without the place that they end or begin with, and that place.

    Words are lower case, one space apart, without punctuation.
    """
    zoom = _ZOOM.fullmatch(words)
    if zoom:
        rest, place = _split_end(zoom["rest"])
        which = _which(zoom) if zoom["picture"] else "any"
        return (rest, Place(which=which, region=REGIONS[zoom["region"]])) if place == Place() else (words, Place())
    front = re.fullmatch(
        r"(?P<place>(?:in|on|from|at|according to) .+?) (?P<rest>(?:what|how|read|which|add|is|are|where|count|did) .+)",
        words,
    )
    if front:
        rest, place = _split_end(front["place"])
        if not rest and place != Place():
            further, second = split_place(front["rest"])
            return (further, place) if second == Place() else (words, Place())
        if not rest:
            return front["rest"], place
    return _split_end(words)


def _split_end(words: str) -> tuple[str, Place]:
    which: Which | int | str = "any"
    region: Region | None = None
    found = _BEHIND_PICTURE.fullmatch(words)
    if found and not _is_thing(words, found):
        words, which = found["rest"], _which(found)
    thing = _WHOLE_OBJECT.fullmatch(words)
    if thing and words.startswith("what") == bool(thing["say"]):  # `read the bottom half`, `what does the sign say`
        if thing["region"]:
            return "read the text", Place(which=which, region=REGIONS[thing["region"]])
        return ("read the text", Place(which=_which(thing))) if not found else (words, Place(which=which))
    behind = _BEHIND_REGION.fullmatch(words)
    if behind:
        words, region = behind["rest"], REGIONS[behind["region"]]
    shown = _SHOWN.fullmatch(words) if found or behind else None
    if shown and not re.fullmatch(r".*\b(?:is|are|was|text|that)", shown["rest"]):
        words = shown["rest"]
    return words, Place(which=which, region=region)


def _is_thing(words: str, found: re.Match[str]) -> bool:
    """Whether the picture word may be a thing that the picture shows, as in `price of the ticket`."""
    behind = words[len(found["rest"]) :].strip()
    return found["plain"] is not None and behind.startswith("of ") and re.fullmatch(_OF_PLAIN, behind) is None


def _which(found: re.Match[str]) -> Which | int | str:
    if found["handle"]:
        return found["handle"].split(" ")[-1]
    if found["ordinal"]:
        word = found["ordinal"]
        if word == "last":
            return -1
        return _ORDINALS.index(word) + 1 if word in _ORDINALS else int(re.sub(r"\D", "", word))
    if found["cardinal"]:
        word = found["cardinal"]
        return _CARDINALS.index(word) + 1 if word in _CARDINALS else int(word)
    return "all" if found["all"] else "each" if found["each"] else "any"


def pictures_of(place: Place, handles: Sequence[str]) -> tuple[str, ...]:
    """The handles that a place means.

    Raises:
        ValueError: no such picture, in words for whoever asked.
    """
    if not handles:
        raise ValueError("no picture came with the question")
    if isinstance(place.which, int):
        if place.which == 0 or place.which > len(handles):
            counted = f"there {'is 1 picture' if len(handles) == 1 else f'are {len(handles)} pictures'}"
            raise ValueError(f"the question asks for picture {place.which}, but {counted}")
        return (handles[place.which - 1 if place.which > 0 else -1],)
    if place.which in ("any", "all", "each"):
        return tuple(handles)
    if place.which not in handles:
        raise ValueError(f"the question asks for {place.which}, but the pictures are {', '.join(handles)}")
    return (place.which,)


PLACE_WORDS = frozenset(
    f"{' '.join((*_CARRIERS, *_THINGS, *_ORDINALS, *_CARDINALS, *REGIONS))} in on from inside within according to at of the "
    "this that these those here it all both each every last zoom crop cut out enlarge magnify look closer".split()
)
