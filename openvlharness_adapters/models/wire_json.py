"""JSON at the edge: always encodable on the way out, forgiving on the way in."""

from __future__ import annotations

import json
from collections.abc import Mapping

import orjson

from openvlharness_core.jsonable import DEEPEST, nested_too_deeply
from openvlharness_core.texts import clean_text

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_INTEGER = 18


def json_bytes(value: object) -> bytes:
    """Compact UTF-8 JSON; lone surrogates become U+FFFD.

    Raises:
        TypeError: a value that JSON does not have.
        RecursionError: nested deeper than anything that is meant.
    """
    try:
        return orjson.dumps(value, default=_plain)
    except TypeError:  # orjson refuses lone surrogates; only then is it worth looking at every string
        clean = cleaned(value)
    try:
        return orjson.dumps(clean, default=_plain)
    except TypeError:  # deep nesting and long integers are JSON too
        return json.dumps(clean, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def json_text(value: object) -> str:
    """The JSON of a value that came from elsewhere, however deep it is nested.

    Below the first level that `jsonable.DEEPEST` does not allow everything is null: still too deep for whoever reads
    it with that limit, and never too deep to be written.
    """
    return json_bytes(bounded_depth(value)).decode()


def read_json(body: bytes) -> object:
    """The value that a body holds; a byte order mark, lone surrogates and stray bytes do not spoil it.

    Raises:
        ValueError: it is not JSON.
    """
    body = body.removeprefix(_BYTE_ORDER_MARK)
    try:
        return orjson.loads(body)
    except ValueError:
        return _read_leniently(body.decode("utf-8", "replace"))


def bounded_depth(value: object) -> object:
    """`value` with null for what lies below level `DEEPEST + 1`; itself where nothing does."""
    return _cut(value, DEEPEST + 1) if nested_too_deeply(value) else value


def _cut(value: object, levels: int) -> object:
    if isinstance(value, Mapping):
        return {key: _cut(item, levels - 1) for key, item in value.items()} if levels else None
    if isinstance(value, list | tuple):
        return [_cut(item, levels - 1) for item in value] if levels else None
    return value


def cleaned(value: object) -> object:
    """A JSON value with lone surrogates replaced in every string."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in value]
    return value


def _read_leniently(text: str) -> object:
    try:
        return cleaned(json.loads(text, parse_int=_number))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _number(digits: str) -> int | float:
    # No count that a service reports needs more, and nothing behind this has to bear a longer one.
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"expected a JSON value, got {type(value).__name__}")
