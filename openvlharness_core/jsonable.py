"""Making sure that what is to be recorded can be recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.texts import clean_text


def json_ready(value: object, place: str) -> Any:
    """A copy of `value` in plain dicts, lists, texts without lone surrogates, finite numbers, booleans and None.

    Raises:
        MalformedResultError: anything else, naming the place in it.
    """
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise MalformedResultError(place, f"a finite number, got {value}")
        return value
    if isinstance(value, Mapping):
        return {_key(key, place): json_ready(item, f"{place}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item, f"{place}[{position}]") for position, item in enumerate(value)]
    raise MalformedResultError(place, f"text, number, list, object or null, got {type(value).__name__}")


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise MalformedResultError(place, f"text keys, got {type(key).__name__}")
    return clean_text(key)
