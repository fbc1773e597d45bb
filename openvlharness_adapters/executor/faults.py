"""Why a program failed, in a few lines: where in the program, and what was raised."""

from __future__ import annotations

import traceback

from openvlharness_adapters.executor.wire import MAX_ERROR_CHARACTERS
from openvlharness_core.texts import clean_text

PROGRAM_FILE = "<program>"
_FRAMES = 4
_MESSAGE_CHARACTERS = 1500
_FRAME_CHARACTERS = 400


def described(fault: BaseException) -> str:
    """The last frames of the traceback, one of them in the program, and the last lines of the message; bounded.

    `fault` is the program's own object: making a text of it may raise, and then its type has to do.
    """
    try:
        text = _frames(fault) + _message(fault)
    except BaseException as second:  # noqa: BLE001  __str__ of a class that the program wrote
        text = f"{_frames_or_nothing(fault)}{type(fault).__name__} (its message raised {type(second).__name__})"
    return clean_text(text.strip())[:MAX_ERROR_CHARACTERS]


def _frames_or_nothing(fault: BaseException) -> str:
    try:
        return _frames(fault)
    except BaseException:  # noqa: BLE001  no memory left, for one; the type alone is told then
        return ""


def _frames(fault: BaseException) -> str:
    """The last frames in a traceback's usual form; our own, above the program's, are left out."""
    stack = traceback.extract_tb(fault.__traceback__)
    places = [i for i, frame in enumerate(stack) if frame.filename == PROGRAM_FILE]
    if not places:
        return ""
    shown = list(stack)[max(places[0], len(stack) - _FRAMES) :]
    if len(stack) - len(shown) > places[-1]:  # the fault lies deep in a library
        shown.insert(0, stack[places[-1]])
    lines = (text[:_FRAME_CHARACTERS] for text in traceback.format_list(shown))
    return "Traceback (most recent call last):\n" + "".join(lines)


def _message(fault: BaseException) -> str:
    text = "".join(traceback.format_exception_only(fault))
    if len(text) <= _MESSAGE_CHARACTERS:
        return text
    half = _MESSAGE_CHARACTERS // 2
    return f"{text[:half]} … {text[-half:]}"
