"""What a backend handed back, checked once: a backend is a port, and somebody's own may return anything."""

from __future__ import annotations

from typing import Any, TypeVar

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.results import Answered

T = TypeVar("T")


def value_of(answered: Answered[Any], kind: type[T], tool: str) -> T:
    """The value inside an answer.

    Raises:
        MalformedResultError: no `Answered`, or one whose value is of another type than `kind`.
    """
    if not isinstance(answered, Answered):
        raise MalformedResultError(f"{tool} backend", f"an Answered value, got {type(answered).__name__}")
    if not isinstance(answered.value, kind):
        expected = f"{kind.__name__}, got {type(answered.value).__name__}"
        raise MalformedResultError(f"{tool} value", expected, usage=answered.usage)
    return answered.value
