"""Server-sent events, as servers really send them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import attrs

from openvlharness_adapters.models.wire_json import read_json

_LINE_END = re.compile(r"\r\n|\n|\r")
_DONE = "[DONE]"
_MAY_END = re.compile(rb"\[DONE\]|error|response\.(?:completed|incomplete|failed|cancelled)")
"""What stands in every event that may be the last; the others are not parsed to find out."""

_BEGINNING_BYTES = 64


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


@attrs.define
class StreamEnd:
    """Whether a body that is still coming is an event stream whose last event has come.

    Servers leave connections open behind it, and whoever waits for the end of the body loses a reply that is whole.
    One object looks at one body as it grows, at every byte once. Lines that end in a bare carriage return are not told
    apart; such a stream is read to its end.

    Attributes:
        content_type: as declared.
        is_last: whether the JSON value of an event is the last of its protocol; the mark `[DONE]` always is.
    """

    content_type: str
    is_last: Callable[[object], bool]
    _events: bool = attrs.field(default=False, init=False)
    _line: int = attrs.field(default=0, init=False)
    _searched: int = attrs.field(default=0, init=False)
    _data: list[bytes] = attrs.field(factory=list, init=False)

    def __call__(self, body: bytearray) -> bool:
        """Given all of the body that has come so far."""
        self._events = self._events or is_event_stream(self.content_type, bytes(body[:_BEGINNING_BYTES]))
        if not self._events:
            return False
        while (end := body.find(b"\n", self._searched)) >= 0:
            line = bytes(body[self._line : end]).rstrip(b"\r")
            self._line = self._searched = end + 1
            if self._ends_with(line):
                return True
        self._searched = len(body)
        open_line = body[self._line : self._line + _BEGINNING_BYTES]
        return open_line.startswith(b"data:") and open_line[5:].strip() == _DONE.encode()

    def _ends_with(self, line: bytes) -> bool:
        if not line:
            data, self._data = self._data, []
            return len(data) > 1 and self._is_last(b"\n".join(data))
        if not line.startswith(b"data:"):
            return False
        self._data.append(line[5:])
        return self._is_last(line[5:])  # nearly always whole; an event of several lines is looked at behind them

    def _is_last(self, data: bytes) -> bool:
        if _MAY_END.search(data) is None:
            return False
        try:
            value = _value(data.decode("utf-8", "replace"))
        except ValueError:
            return False
        return value is None or self.is_last(value)


def _values(data: list[str]) -> Iterator[object]:
    try:
        whole = [_value("\n".join(data))] if data else []
    except ValueError:
        whole = [_value(line) for line in data if line.strip()]
    yield from whole


def _value(text: str) -> object:
    return None if text.strip() == _DONE else read_json(text.encode("utf-8", "replace"))
