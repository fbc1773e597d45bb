"""Single looks at a picture, and what every plan is made of.

A plan yields calls, is sent what came of each, and returns its answer. Plans are finite: whatever comes back, each makes
a bounded number of calls and then answers or raises `Cannot`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeVar

import attrs

from openvlharness_adapters.models.planner.evidence import Failed, Reading, Seen, reading_of
from openvlharness_core.geometry import GRID, Box

T = TypeVar("T")

OCR, ZOOM, CODING = "OCR_Tool", "Zoom_In_Tool", "Python_Coding_Agent_Tool"

_PASSING = ("backend_unavailable", "backend_timeout")


class Cannot(Exception):
    """There is no answer; the message says why, for whoever asked."""


@attrs.frozen(kw_only=True)
class Call:
    """A tool call that a plan wants made, and why, in a sentence."""

    tool: str
    arguments: Mapping[str, object] = attrs.field(hash=False)
    reason: str


@attrs.frozen(kw_only=True)
class Answer:
    """An answer and what it rests on."""

    text: str
    grounds: str


Plan = Generator[Call, Seen | Failed, T]


def made(call: Call) -> Plan[Seen]:
    """The call, once more if it failed in passing. Raises Cannot if it does not succeed."""
    result = yield call
    if isinstance(result, Failed) and result.code in _PASSING:
        result = yield call
    if isinstance(result, Failed):
        raise Cannot(_why(call, result))
    return result


def _why(call: Call, failed: Failed) -> str:
    match failed.code:
        case "not_offered":
            return f"this needs {call.tool}, which is not offered"
        case "budget_spent":
            return f"no call is left, and {call.tool} would still be needed"
    return f"{call.tool} failed: {failed.message}"


def look(picture: str) -> Plan[Reading]:
    """The text of a picture."""
    call = Call(tool=OCR, arguments={"image_id": picture}, reason=f"Reading the text of {picture}.")
    return reading_of((yield from made(call)), picture)


def look_closer(picture: str, box: Box, reason: str) -> Plan[Reading]:
    """The text of a part of a picture, cut out first."""
    coords = [round(min(max(value, 0.0), GRID)) for value in box]
    crop = (yield from made(Call(tool=ZOOM, arguments={"image_id": picture, "coords": coords}, reason=reason))).picture
    if crop is None:
        raise Cannot(f"{ZOOM} showed no picture")
    return (yield from look(crop))


def whole(reading: Reading, picture: str) -> Reading:
    if reading.is_cut:
        raise Cannot(f"there is more text in {picture} than I am shown, so I could miss some of it")
    return reading


def each_for_itself(pictures: Sequence[str], plan: Callable[[str], Plan[Answer]]) -> Plan[Answer]:
    """One answer for each picture, together."""
    found: dict[str, Answer] = {}
    for picture in pictures:
        found[picture] = yield from plan(picture)
    text = "; ".join(f"{picture}: {answer.text}" for picture, answer in found.items())
    return Answer(text=text, grounds=" ".join(answer.grounds for answer in found.values()))


def in_one_picture(which: object, pictures: Sequence[str], plan: Callable[[str], Plan[Answer]]) -> Plan[Answer]:
    """The answer for the picture that is meant, or for each of them. Raises Cannot if the question leaves open which."""
    if len(pictures) == 1:
        return (yield from plan(pictures[0]))
    if which == "each":
        return (yield from each_for_itself(pictures, plan))
    if which == "all":
        raise Cannot("I can do this for one picture, or for each by itself, but not across several")
    raise Cannot(f"the question does not say which of the pictures it means: {', '.join(pictures)}")
