"""What a program's variables look like, in at most 400 characters each.

Containers and arrays are written here, piece by piece until the room is used up, so a list of a million entries costs
as much as one of fifty. Anything else writes itself, which may raise, take forever or be huge; a timer interrupts it.
"""

from __future__ import annotations

import itertools
import re
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType

import numpy as np

from openvlharness_adapters.executor.wire import MAX_NAME_CHARACTERS, MAX_PREVIEW_CHARACTERS, MAX_VARIABLES
from openvlharness_core.texts import clean_text

_SECONDS_EACH = 0.25
_SECONDS_IN_ALL = 1.0
_REPEAT_SECONDS = 0.05  # an interruption that the object's own code swallowed comes again
_MAX_DEPTH = 6
_MAX_CORNERS = 8
_SHOWN_INTEGER_BITS = 2000
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+(?=>)")  # says nothing to a reader, and differs from run to run
_NOT_VALUES = (ModuleType, FunctionType, BuiltinFunctionType, type)


class _TooSlowError(BaseException):
    """Raised by the timer inside an object's own code; no Exception, so that ordinary handlers there let it pass."""


class _Full(Exception):
    """No room is left in this preview."""


def previews(namespace: Mapping[str, object], before: Mapping[str, tuple[object, str]], until: float) -> dict[str, str]:
    """Name to preview of what a program made or changed, at most the 40 that were named last.

    Args:
        namespace: the program's variables, oldest first.
        before: name to object and preview of what was there from the start; left out where both are the same still.
        until: when there must be a result, on the monotonic clock.
    """
    shown: dict[str, str] = {}
    end = min(until, time.monotonic() + _SECONDS_IN_ALL)
    for name, value in reversed(list(namespace.items())):
        if len(shown) == MAX_VARIABLES:
            break
        if not _is_variable(name, value):
            continue
        text = preview(value, end)
        if name in before and before[name][0] is value and before[name][1] == text:
            continue
        shown[name] = text
    return dict(reversed(shown.items()))


def _is_variable(name: object, value: object) -> bool:
    return (
        type(name) is str
        and name.isidentifier()
        and len(name) <= MAX_NAME_CHARACTERS
        and not name.startswith("_")
        and not isinstance(value, _NOT_VALUES)
    )


def preview(value: object, until: float) -> str:
    """At most 400 characters of `value`, made before `until` or given up."""
    seconds = min(_SECONDS_EACH, until - time.monotonic())
    if seconds <= 0:
        return f"<{_type_name(value)}, no time left to show it>"
    try:
        text = interrupted(lambda: _written(value), seconds)
    except _TooSlowError:
        text = f"<{_type_name(value)}, too slow to show>"
    except BaseException as fault:  # noqa: BLE001  the object's own code; whatever it raises is no reason to lose the rest
        text = f"<{_type_name(value)}, showing it raised {_type_name(fault)}>"
    return cut(_ADDRESS.sub("", clean_text(text)), MAX_PREVIEW_CHARACTERS)


def interrupted(call: Callable[[], str], seconds: float) -> str:
    """`call()`, interrupted by `_TooSlowError` after `seconds`; main thread only."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise _TooSlowError

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT_SECONDS)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _type_name(value: object) -> str:
    return cut(str(type(value).__name__), 80)


def cut(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters with an ellipsis for the last."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _written(value: object) -> str:
    writer = _Writer()
    try:
        writer.write(value, 0)
    except _Full:
        return "".join(writer.parts)[: MAX_PREVIEW_CHARACTERS - 1] + "…"
    return "".join(writer.parts)


class _Writer:
    """Collects pieces until there is no room; exact types only, since a subclass may write itself differently."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._room = MAX_PREVIEW_CHARACTERS

    def _add(self, text: str) -> None:
        self.parts.append(text[: self._room + 1])
        self._room -= len(text)
        if self._room < 0:
            raise _Full

    def write(self, value: object, depth: int) -> None:
        kind = type(value)
        if kind is str or kind is bytes:
            piece = value[: self._room + 1]  # type: ignore[index]  # by exact type, which mypy does not follow
            self._add(repr(piece))
        elif kind is int and value.bit_length() > _SHOWN_INTEGER_BITS:  # type: ignore[attr-defined]  # as above
            self._add(f"<int of {value.bit_length()} bits>")  # type: ignore[attr-defined]
        elif isinstance(value, np.ndarray):
            self._add(described(value))
        elif kind in {list, tuple, dict, set, frozenset} and depth == _MAX_DEPTH:
            self._add("…")
        elif kind is list:
            self._series("[", value, "]", depth)  # type: ignore[arg-type]
        elif kind is tuple:
            self._series("(", value, ",)" if len(value) == 1 else ")", depth)  # type: ignore[arg-type]
        elif kind is set or kind is frozenset:
            self._series(f"{kind.__name__}(", value, ")", depth)  # type: ignore[arg-type]
        elif kind is dict:
            self._entries(value, depth)  # type: ignore[arg-type]
        else:
            self._add(str(repr(value)))

    def _series(self, start: str, items: Iterable[object], end: str, depth: int) -> None:
        self._add(start)
        for i, item in enumerate(items):
            self._add(", " if i else "")
            self.write(item, depth + 1)
        self._add(end)

    def _entries(self, items: dict[object, object], depth: int) -> None:
        self._add("{")
        for i, (key, item) in enumerate(items.items()):
            self._add(", " if i else "")
            self.write(key, depth + 1)
            self._add(": ")
            self.write(item, depth + 1)
        self._add("}")


def described(array: np.ndarray) -> str:
    """An array by dtype, shape, least, greatest and mean value, and the entries in its corners."""
    head = f"ndarray {array.dtype}, shape {array.shape}"
    if array.size == 0:
        return head
    parts = [head]
    if array.dtype.kind in "biuf":
        parts += _statistics(array)
    corners = [_entry(array[index]) for index in _corner_indices(array.shape)]
    parts.append(f"corners [{', '.join(corners)}]")
    return "; ".join(parts)


def _statistics(array: np.ndarray) -> list[str]:
    with np.errstate(all="ignore"):
        low, high = array.min(), array.max()  # either is not finite if any entry is
        finite = array if np.isfinite(low) and np.isfinite(high) else array[np.isfinite(array)]
        parts = []
        if finite.size:
            mean = finite.mean(dtype=np.float64)
            parts.append(f"min {_entry(finite.min())}, max {_entry(finite.max())}, mean {_entry(mean)}")
        if finite.size < array.size:
            parts.append(f"{array.size - finite.size} not finite")
        return parts


def _corner_indices(shape: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """First and last of each axis, the last axis running fastest, as far as they are shown."""
    ends = [(0,) if side == 1 else (0, side - 1) for side in shape]
    return itertools.islice(itertools.product(*ends), _MAX_CORNERS)


def _entry(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    return cut(str(value), 60)
