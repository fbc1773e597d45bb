"""JSON at the boundaries: what is to be recorded can be recorded, and what a model wrote is read strictly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.texts import clean_text, excerpt

DEEPEST = 64
"""Levels of lists and objects that are taken; more would end in a RecursionError somewhere, and nobody means it."""


def json_ready(value: object, place: str, deepest: int = DEEPEST) -> Any:
    """A copy of `value` in plain dicts, lists, texts without lone surrogates, finite numbers, booleans and None.

    Raises:
        MalformedResultError: anything else, naming the place in it, or more than `deepest` levels.
    """
    if nested_too_deeply(value, deepest):
        raise MalformedResultError(place, f"at most {deepest} levels of lists and objects, got more")
    return _plain(value, place)


def _plain(value: object, place: str) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):  # numpy's float64 among them
        if not math.isfinite(value):
            raise MalformedResultError(place, f"a finite number, got {value}")
        return float(value)
    if isinstance(value, Mapping):
        return {_key(key, place): _plain(item, f"{place}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{position}]") for position, item in enumerate(value)]
    raise MalformedResultError(place, f"text, number, list, object or null, got {type(value).__name__}")


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise MalformedResultError(place, f"text keys, got {type(key).__name__}")
    return clean_text(key)


def nested_too_deeply(value: object, deepest: int = DEEPEST) -> bool:
    """Whether `value` has more than `deepest` levels; a value that holds itself has."""
    ahead = [(value, 0)]
    while ahead:
        each, depth = ahead.pop()
        if isinstance(each, Mapping | list | tuple):
            if depth == deepest:
                return True
            items = each.values() if isinstance(each, Mapping) else each
            ahead.extend((item, depth + 1) for item in items)
    return False


def read_json(text: str) -> object:
    """The one value that `text` is, with finite numbers only.

    Raises:
        ValueError: no JSON (a `json.JSONDecodeError`, with the position), NaN, a number out of range, or too deep.
    """
    try:
        value: object = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if nested_too_deeply(value):
        raise ValueError(f"nested too deeply: more than {DEEPEST} levels of lists and objects")
    return value


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{excerpt(digits, 40)} is out of range")
    return number
