"""What shapes a question names: a closed grammar of noun phrases, and the query for the grounding tool.

::

    things := article* word* noun? (negation things)?     "the largest dark red circles", "shapes that are not red"
    word   := colour | "dark" | "light" | size | side     size as in "biggest", side as in "leftmost"
    noun   := circle | ... | "shape" | "one"              plural or not; left out only behind a colour

A phrase with a word too many is no phrase: `None`, never the phrase without that word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import attrs

from openvlharness_adapters.backends.embedded.vision.queries import COLOURS, SHAPES, TONES, Colour, Shape, Tone

Size = Literal["largest", "smallest"]
Side = Literal["leftmost", "rightmost", "topmost", "bottommost"]

_COLOURS: dict[str, Colour] = {**{colour: colour for colour in COLOURS}, "gray": "grey"}
_TONES: dict[str, Tone] = {tone: tone for tone in TONES}
_SIZES: dict[str, Size] = {"largest": "largest", "biggest": "largest", "smallest": "smallest"}
_SIDES: dict[str, Side] = {
    "leftmost": "leftmost",
    "rightmost": "rightmost",
    **dict.fromkeys(("topmost", "uppermost", "highest"), "topmost"),
    **dict.fromkeys(("bottommost", "lowest"), "bottommost"),
}
_NOUNS: dict[str, Shape | None] = {"shape": None, "one": None, "oval": "ellipse", **{shape: shape for shape in SHAPES}}
_REACHES = frozenset(["nearest", "closest", "farthest", "furthest"])
NARROWER: dict[Shape, Shape] = {"ellipse": "circle", "rectangle": "square"}
"""Kinds that include another one."""

_ARTICLE = re.compile(r"(?:all |any )?(?:of )?(?:the |a |an |these |those )?")
_NEGATION = re.compile(
    r"(?P<kind>.+?)(?: (?:that|which) (?:are|is) not| (?:except|excluding|without|other than|but not))(?: for)? (?P<out>.+)"
)
_BEFORE = re.compile(r"^(?P<start>.*?)\b(?:non|not) (?P<out>\w+) (?P<rest>.+)$")

VOCABULARY = frozenset(
    f"{' '.join((*_COLOURS, *_TONES, *_SIZES, *_SIDES))} all any of the a an these those that which are is not except "
    "excluding without other than but for non".split()
) | {form for noun in _NOUNS for form in (noun, f"{noun}s")}


@attrs.frozen(kw_only=True)
class Things:
    """Coloured shapes, as a question names them.

    Attributes:
        shape: which; `None` for any.
        colour: which; `None` for any.
        tone: dark or light; `None` for either.
        size: only the largest or smallest of those.
        side: only the one that stands furthest to that side.
        but_not: of those, all but these, which are a part of them.
    """

    shape: Shape | None = None
    colour: Colour | None = None
    tone: Tone | None = None
    size: Size | None = None
    side: Side | None = None
    but_not: Things | None = None

    @property
    def query(self) -> str:
        """For the grounding tool; `side` and `but_not` are beyond it."""
        return " ".join(filter(None, (self.size, self.tone, self.colour, self.shape or "shape")))

    @property
    def name(self) -> str:
        """In words, singular."""
        side = f"{self.side} " if self.side else ""
        return f"{side}{self.query}" + (f" that is not a {self.but_not.query}" if self.but_not else "")

    @property
    def names(self) -> str:
        """In words, plural."""
        return f"{attrs.evolve(self, but_not=None).name}s" + (
            f" that are not {self.but_not.query}s" if self.but_not else ""
        )

    @property
    def is_plain(self) -> bool:
        """Whether it says only what a thing looks like by itself."""
        return self.size is None and self.side is None and self.but_not is None


def things_of(words: str) -> Things | None:
    """What a phrase names, or `None` if any word of it has no place in one."""
    words = " ".join(words.replace("-", " ").split())
    behind = _NEGATION.fullmatch(words)
    if behind:
        kind, out = _plain_things(behind["kind"]), _plain_things(behind["out"], bare=True)
        return _without(kind, out)
    before = _BEFORE.fullmatch(words)
    if before:
        kind, out = _plain_things(before["start"] + before["rest"]), _plain_things(before["out"], bare=True)
        return _without(kind, out)
    return _plain_things(words)


def description_of(words: str) -> Things | None:
    """What a predicate says: `red`, `dark blue`, `circles`, `red circles`."""
    return _plain_things(words.replace("-", " "), bare=True)


def narrowed(kind: Things, further: Things) -> Things | None:
    """The things that are both, or `None` where the two contradict or repeat each other."""
    if not (kind.is_plain and further.is_plain):
        return None
    shape = further.shape or kind.shape
    if kind.shape and further.shape and NARROWER.get(kind.shape) != further.shape:
        return None
    if (kind.colour and further.colour) or (kind.tone and further.tone):
        return None
    return Things(shape=shape, colour=kind.colour or further.colour, tone=kind.tone or further.tone)


def kinds_of(words: str) -> list[Things] | None:
    """Several phrases joined by `and`, `or`, `plus`; `red and blue circles` are red circles and blue circles."""
    parts = re.split(" and | or | plus ", words)
    last = things_of(parts[-1])
    if last is None:
        return None
    kinds: list[Things] = []
    for part in parts[:-1]:
        kind, colour = things_of(part), description_of(part)
        if kind is None and colour is not None and last.is_plain and last.colour is not None:
            kind = attrs.evolve(colour, shape=last.shape)
        if kind is None:
            return None
        kinds.append(kind)
    return [*kinds, last]


def speaks_of_shapes(words: Sequence[str]) -> bool:
    """Whether words name a shape and a second thing that only shapes are asked about, so that no label is meant."""
    nouns = [word for word in words if word in _NOUNS or word.removesuffix("s") in _NOUNS]
    traits = [word for word in words if word in {*_COLOURS, *_TONES, *_SIZES, *_SIDES, *_REACHES}]
    return len(nouns) > 1 or bool(nouns and traits) or bool(nouns and nouns[0].startswith("shape"))


def may_overlap(one: Things, other: Things) -> bool:
    """Whether one thing could be both."""
    if one.colour and other.colour and one.colour != other.colour:
        return False
    if one.tone and other.tone and one.tone != other.tone:
        return False
    shapes = (one.shape, other.shape)
    return None in shapes or shapes[0] == shapes[1] or any(NARROWER.get(a) == b for a, b in (shapes, shapes[::-1]) if a)


def _without(kind: Things | None, out: Things | None) -> Things | None:
    """`kind` without `out`, as far as `out` is a part of it."""
    if kind is None or out is None or not kind.is_plain or not out.is_plain:
        return None
    part = narrowed(kind, attrs.evolve(out, shape=None if out.shape == kind.shape else out.shape))
    return attrs.evolve(kind, but_not=part) if part is not None and part != kind else None


def _plain_things(words: str, *, bare: bool = False) -> Things | None:
    """A phrase without negation; `bare` allows a colour or tone alone."""
    found: dict[str, object] = {}
    tokens = words[_ARTICLE.match(words + " ").end() :].split()  # type: ignore[union-attr]
    for position, token in enumerate(tokens):
        noun = token if token in _NOUNS else token.removesuffix("s")
        if noun in _NOUNS:
            if position + 1 < len(tokens) or (noun == "one" and not found):
                return None
            return Things(shape=_NOUNS[noun], **found)  # type: ignore[arg-type]
        for name, known in (("colour", _COLOURS), ("tone", _TONES), ("size", _SIZES), ("side", _SIDES)):
            if token in known:
                if name in found:
                    return None
                found[name] = known[token]
                break
        else:
            return None
    return Things(**found) if bare and {"colour", "tone"} & found.keys() else None  # type: ignore[arg-type]
