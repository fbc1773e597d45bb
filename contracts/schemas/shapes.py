"""Short words for JSON Schema, strict by default: every key is required and no other is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
ANY_OBJECT: Schema = {"type": "object"}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
SIZE_HW: Schema = {
    "description": "[height, width] in pixels",
    "type": "array",
    "items": {"type": "integer", "minimum": 1},
    "minItems": 2,
    "maxItems": 2,
}
AFFINE: Schema = {
    "description": "2x3 map of pixels (x, y) to pixels of the first parent",
    "type": "array",
    "items": {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3},
    "minItems": 2,
    "maxItems": 2,
}


def record(properties: Mapping[str, Schema], optional: Iterable[str] = (), **more: Any) -> Schema:
    """An object with these keys."""
    left_out = set(optional)
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in left_out],
        "additionalProperties": False,
    } | more


def entries(value: Schema, key: str | None = None) -> Schema:
    """An object of any keys, all of them matching `key` if it is given."""
    if key is None:
        return {"type": "object", "additionalProperties": value}
    return {"type": "object", "patternProperties": {key: value}, "additionalProperties": False}


def items(value: Schema, **more: Any) -> Schema:
    """A list."""
    return {"type": "array", "items": value} | more


def or_null(value: Schema) -> Schema:
    """The same, or null."""
    return {"anyOf": [value, {"type": "null"}]}


def exactly(value: object) -> Schema:
    """This value alone."""
    return {"const": value}


def one_of(values: Iterable[object]) -> Schema:
    """One of these values."""
    return {"enum": list(values)}


def either(*schemas: Schema) -> Schema:
    """One of these shapes, and no two at once."""
    return {"oneOf": list(schemas)}
