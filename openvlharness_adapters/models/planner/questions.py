"""What a question asks, by a closed grammar.

Every word has its place: courtesy, picture and region, what is to be done, or a label that a row of the picture must
then have letter for letter. A question with a word too many is not understood; it is never answered without that word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import attrs

from openvlharness_adapters.models.planner import (
    camera_motion,
    comparing,
    counting,
    locating_asked,
    looking_up,
    shapes_asked,
)
from openvlharness_adapters.models.planner.objectives import Operation
from openvlharness_adapters.models.planner.places import PLACE_WORDS, Place, split_place

Domain = Literal["numbers", "prices", "lines", "words"]

_MOST_CHARACTERS = 300
_MOST_LABEL_WORDS = 6
_BREAK = "¶"  # stands between two sentences, so that no pattern and no label reaches across
_ABBREVIATED = frozenset({"no.", "nr.", "num.", "st."})
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]+)[\"“”«»]|(?<!\w)['‘]([^'’]+)['’](?!\w)")
_CORNER = re.compile(r"\b(top|upper|bottom|lower)-(left|right)\b")
_SHORT_FORMS = re.compile(r"\b(what|how|it|that|there)['’]s\b")
_SHORT_NOT = re.compile(r"\b(is|are|was|were|do|does|did)n['’]t\b")
_COURTESY_BEFORE = re.compile(
    r"^(?:(?:hello|hi|please|kindly|(?:can|could|would|will) you|i (?:want|would like|need) to know|let me know"
    r"|(?:tell|give|show) me) )+"
)
_COURTESY_BEHIND = re.compile(f"(?:(?: {_BREAK})? (?:please|thanks|thank you|for me))+$")

_OPERATIONS: dict[str, Operation] = {
    "sum": "sum",
    "total": "sum",
    "average": "average",
    "mean": "average",
    **dict.fromkeys(("largest", "biggest", "highest", "greatest", "maximum"), "largest"),
    **dict.fromkeys(("smallest", "lowest", "minimum"), "smallest"),
}
_COUNTED: dict[str, Domain] = {
    "lines of text": "lines",
    "lines": "lines",
    "words": "words",
    "numbers": "numbers",
    "prices": "prices",
}
_TEXT = "(?:text|words|writing|lettering)"
_WRITTEN = "(?:written|printed|shown|visible|displayed)"
_ALL = "(?:all |any )?(?:of )?(?:the )?"
_FIND_OUT = "(?:(?:what|how much) is|find|calculate|compute|work out)"
_OPERATION = "|".join(_OPERATIONS)
_KIND = "|".join(_COUNTED)

_READ = re.compile(
    f"(?:(?:read|transcribe|extract|copy|write down|what is) )?{_ALL}{_TEXT}(?:(?: that is)? {_WRITTEN})?"
    f"|(?:read|transcribe|extract) everything"
    f"|what is {_WRITTEN}"
    f"|(?:what|which) {_TEXT} (?:is|are)(?: there| {_WRITTEN})?"
    "|what does it say"
    f"|(?:what|which) {_TEXT} (?:can|do) you (?:see|read)"
    "|what (?:can|do) you read"
)
_COUNT = re.compile(
    f"how many (?P<many>{_KIND})(?: are(?: there| {_WRITTEN})?| (?:can|do) you see)?"
    f"|(?:count|what is the number of|the number of) {_ALL}(?P<number>{_KIND})"
)
_COMPUTE = re.compile(
    # `the total price` is what a receipt calls its total, not a sum that is to be made
    f"(?:{_FIND_OUT} )?(?:the )?(?P<named>{_OPERATION}) (?:of {_ALL}(?P<kind>numbers|prices)|(?P<one_of>numbers?|prices?))"
    f"|(?:which|what) (?P<which>number|price) is (?:the )?(?P<ranked>{_OPERATION})"
    f"|(?:add up|sum up|add) {_ALL}(?P<added>numbers|prices)"
)
_DIFFERENCE = re.compile(
    f"(?:{_FIND_OUT} )?(?:the )?difference between (?:the )?(?P<one>.+?) and (?:the )?(?P<other>.+)"
)
_AMOUNT = re.compile(
    "how much (?:is|was|are) (?:the )?(?P<is_>.+)"
    "|(?:how much|what) (?:does|did|do) (?:the |a |an )?(?P<costs>.+) cost"
    "|(?:what is )?the (?:price|cost) of (?:the |a |an )?(?P<price_of>.+)"
    "|how much (?:the )?(?P<told>.+) (?:is|was|costs?)"
)
_FIELD = re.compile(
    f"(?:what|who) (?:is|was|are) (?:{_WRITTEN} (?:next to|beside|behind) )?(?:the value (?:of|for) )?(?:the |its )?(?P<is_>.+)"
    "|(?:read |find )?(?:the value (?:of|for) )?the (?P<named>.+)"
    "|what (?:the )?(?P<told>.+) is"
)
_POINTERS = frozenset(
    [
        "this",
        "that",
        "it",
        "there",
        "these",
        "those",
        "here",
        "he",
        "she",
        "they",
        "what",
        "which",
        "who",
        "one",
        "ones",
    ]
)


@attrs.frozen(kw_only=True)
class ReadText:
    """All text of a place."""

    place: Place


@attrs.frozen(kw_only=True)
class FindValue:
    """The value with a label.

    Attributes:
        label: as asked.
        is_amount: whether only a number will do.
    """

    label: str
    place: Place
    is_amount: bool = False


@attrs.frozen(kw_only=True)
class Subtract:
    """The difference between the values with two labels."""

    labels: tuple[str, str]
    place: Place


@attrs.frozen(kw_only=True)
class Compute:
    """One operation over everything of a kind."""

    operation: Operation
    domain: Domain
    place: Place


ShapesAsk = counting.CountingAsk | locating_asked.LocatingAsk | comparing.ComparingAsk
Ask = ReadText | FindValue | Subtract | Compute | ShapesAsk | camera_motion.CameraMotion | looking_up.LookingUpAsk


class NotUnderstood(Exception):
    """A question outside the grammar; the message says which word, or that it is the kind of question."""


def understand(question: str, *, freely: bool = False) -> Ask:
    """What a question asks.

    Args:
        question: as it came.
        freely: whether any question is one for documents, since no picture came and they can be searched.

    Raises:
        NotUnderstood: it is outside the grammar.
    """
    if len(question) > _MOST_CHARACTERS:
        raise NotUnderstood(f"questions of more than {_MOST_CHARACTERS} characters are beyond me")
    words = _plain(question)
    if not words:
        raise NotUnderstood("there is no question")
    sought = looking_up.looking_up_of(words, freely=freely)
    if sought is not None:
        return sought
    words, place = split_place(words)
    for kind in _KINDS:
        ask = kind(words, place)
        if ask is not None:
            return ask
    if _BREAK in words:
        raise NotUnderstood("I take one question at a time")
    unknown = next((word for word in words.split() if word not in _VOCABULARY), None)
    if unknown is None:
        raise NotUnderstood("this kind of question is beyond me")
    raise NotUnderstood(f"“{unknown}” is outside the questions that I understand")


def _plain(question: str) -> str:
    """Lower case, one space apart, without courtesies and punctuation; a sign between sentences becomes a word."""
    text = _QUOTED.sub(lambda found: f" {found[1] or found[2]} ", question.casefold())
    tokens = _SHORT_NOT.sub(r"\1 not", _SHORT_FORMS.sub(r"\1 is", _CORNER.sub(r"\1 \2", text))).split()
    words: list[str] = []
    for position, token in enumerate(tokens):
        word = token.strip("?!.,;:")
        if word:
            words.append(word)
        ends = token[-1] in "?!.;" and token not in _ABBREVIATED
        if ends and position < len(tokens) - 1 and word not in {"hello", "hi", "please"}:
            words.append(_BREAK)
    asked = _COURTESY_BEFORE.sub("", " ".join(words) + " ", count=1) if words else ""
    return _COURTESY_BEHIND.sub("", asked.strip()).removesuffix(f" {_BREAK}")


def _read(words: str, place: Place) -> Ask | None:
    return ReadText(place=place) if _READ.fullmatch(words) else None


def _count(words: str, place: Place) -> Ask | None:
    found = _COUNT.fullmatch(words)
    return Compute(operation="count", domain=_COUNTED[_named(found)], place=place) if found else None


def _compute(words: str, place: Place) -> Ask | None:
    found = _COMPUTE.fullmatch(words)
    if found is None:
        return None
    operation = "sum" if found["added"] else _OPERATIONS[found["named"] or found["ranked"]]
    domain = found["kind"] or found["one_of"] or found["which"] or found["added"]
    if found["one_of"] and operation == "sum":
        return None
    return Compute(operation=operation, domain="prices" if domain.startswith("price") else "numbers", place=place)


def _difference(words: str, place: Place) -> Ask | None:
    found = _DIFFERENCE.fullmatch(words)
    if found is None or not (_is_label(found["one"]) and _is_label(found["other"])):
        return None
    return Subtract(labels=(found["one"], found["other"]), place=place)


def _value(words: str, place: Place) -> Ask | None:
    for pattern, is_amount in ((_AMOUNT, True), (_FIELD, False)):
        found = pattern.fullmatch(words)
        if found:
            label = _named(found)
            if not is_amount and shapes_asked.speaks_of_shapes(label.split()):
                return None
            return FindValue(label=label, place=place, is_amount=is_amount) if _is_label(label) else None
    return None


def _named(found: re.Match[str]) -> str:
    return next(group for group in found.groups() if group is not None)


def _is_label(label: str) -> bool:
    words = label.split()
    return len(words) <= _MOST_LABEL_WORDS and _BREAK not in words and not _POINTERS.issuperset(words)


_KINDS: tuple[Callable[[str, Place], Ask | None], ...] = (
    _read,
    _count,
    _compute,
    camera_motion.motion_of,
    counting.counting_of,
    locating_asked.locating_of,
    comparing.comparing_of,
    _difference,
    _value,
)
_OTHER_ROOMS = (shapes_asked, counting, locating_asked, comparing, camera_motion, looking_up)
_VOCABULARY = PLACE_WORDS.union(*(room.VOCABULARY for room in _OTHER_ROOMS)) | frozenset(
    re.findall("[a-z]+", " ".join(each.pattern for each in (_READ, _COUNT, _COMPUTE, _DIFFERENCE, _AMOUNT, _FIELD)))
)
