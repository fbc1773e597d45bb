"""Server-sent events, as servers really send them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from openvlharness_adapters.models.wire_json import read_json

_LINE_END = re.compile(r"\r\n|\n|\r")
_DONE = "[DONE]"


def is_event_stream(content_type: str, body: bytes) -> bool:
    """Whether a body holds events: by how it begins, since no JSON begins like that; else by its declared type."""
    beginning = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    if beginning.startswith((b"data:", b"event:", b"id:", b"retry:", b":")):
        return True
    declared = content_type.partition(";")[0].strip().lower() == "text/event-stream"
    return declared and not beginning.startswith((b"{", b"["))


def stream_events(body: bytes) -> Iterator[object]:
    """The JSON value of every event, and `None` for the closing `[DONE]`.

    Comments and other fields are skipped. Data of several lines is one value, or, where the server forgot the empty
    line between events, one value a line.

    Raises:
        ValueError: data that is no JSON.
    """
    data: list[str] = []
    for line in (*_LINE_END.split(body.decode("utf-8", "replace").removeprefix("\ufeff")), ""):
        if not line:
            yield from _values(data)
            data = []
            continue
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))


def _values(data: list[str]) -> Iterator[object]:
    try:
        whole = [_value("\n".join(data))] if data else []
    except ValueError:
        whole = [_value(line) for line in data if line.strip()]
    yield from whole


def _value(text: str) -> object:
    return None if text.strip() == _DONE else read_json(text.encode("utf-8", "replace"))
