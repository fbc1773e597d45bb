"""What the readers of both protocols make of single values, and where they stop.

Servers leave out what a reference promises and add what it does not know. A value that can be understood is taken as it
came, ids and argument texts included; mending is the engine's work.
"""

from __future__ import annotations

from collections.abc import Mapping

from openvlharness_adapters.models.wire_json import json_text, read_json

MOST_CALLS = 256
"""Calls in one reply; nobody means more."""

LONGEST_TEXT = 8 * 1024 * 1024
"""Characters of text, reasoning and arguments together; no model writes as many, and all of them are looked through."""


class NotAReplyError(ValueError):
    """A body that holds no message; says where, what was expected and what came."""


class StreamCutError(ValueError):
    """The stream ended before the reply did."""


def text_of(content: object, place: str) -> str | None:
    """Text of a content field: a string, null, or parts of which those that hold text are joined."""
    if content is None or isinstance(content, str):
        return content or None
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        raise NotAReplyError(f"{place}: expected text, null or parts, got {kind_of(content)}")
    texts = [part if isinstance(part, str) else _part_text(part) for part in content]
    return "".join(texts) or None


def _part_text(part: object) -> str:
    match part:
        case {"type": "thinking" | "reasoning"}:
            return ""
        case {"text": str(text)} | {"refusal": str(text)} | {"text": {"value": str(text)}}:
            return text
    return ""


def argument_text(arguments: object) -> str:
    """Arguments as the text they should have come as."""
    return arguments if isinstance(arguments, str) else json_text(arguments)


def id_text(call_id: object) -> str:
    """A call id, which may have come as a number; empty when none came."""
    return call_id if isinstance(call_id, str) else "" if call_id is None else json_text(call_id)


def is_json_object(text: str) -> bool:
    """Whether a text is one JSON object, read leniently."""
    try:
        return isinstance(read_json(text.encode("utf-8", "replace")), Mapping)
    except ValueError:
        return False


def mapping(value: object, place: str) -> Mapping[str, object]:
    """`value`, which must be an object. Raises NotAReplyError."""
    if not isinstance(value, Mapping):
        raise NotAReplyError(f"{place}: expected an object, got {kind_of(value)}")
    return value


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null or nothing"
    if isinstance(value, list):
        return "an empty list" if not value else "a list"
    return {str: "text", bool: "a boolean", int: "a number", float: "a number"}.get(type(value), "an object")
