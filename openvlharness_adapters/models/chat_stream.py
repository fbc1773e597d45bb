"""Puts the chunks of a streamed chat completion together, so that one reader serves both ways of sending.

Chunks of calls carry an index by the reference. Where it is missing or always 0, an id that was not there before begins
the next call and a chunk without one belongs to the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from openvlharness_adapters.models.chat_wire import REASONING_FIELDS
from openvlharness_adapters.models.provider_errors import error_of
from openvlharness_adapters.models.reply_values import (
    MOST_CALLS,
    NotAReplyError,
    StreamCutError,
    argument_text,
    id_text,
)
from openvlharness_core.jsonable import nested_too_deeply

_JOINED = ("content", "refusal", *REASONING_FIELDS)
_LEVELS_JOINED = 4
_LONGEST_NAME = 1024


@attrs.define
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = attrs.field(factory=list)

    def add_name(self, piece: str) -> None:
        """A piece of the name, or all of it: some servers repeat what there is so far in every chunk."""
        if piece.startswith(self.name):
            self.name = piece
        elif len(self.name) < _LONGEST_NAME and not any(self.arguments):
            self.name += piece  # what comes behind arguments is no piece of the name before them

    def to_wire(self) -> dict[str, object]:
        function = {"name": self.name, "arguments": "".join(self.arguments)}
        return {"id": self.id, "type": "function", "function": function}


@attrs.define
class _Gathered:
    texts: dict[str, list[str]] = attrs.field(factory=dict)
    calls: list[_Call] = attrs.field(factory=list)
    by_index: dict[object, _Call] = attrs.field(factory=dict)
    extras: dict[str, list[object]] = attrs.field(factory=dict)
    finish_reason: str | None = None
    usage: object = None
    model: object = None
    chunks: int = 0
    done: bool = False

    def add(self, chunk: Mapping[str, object]) -> None:
        self.chunks += 1
        self.usage = chunk.get("usage") or self.usage
        self.model = self.model or chunk.get("model")
        match chunk.get("choices"):
            case [choice, *_] if isinstance(choice, Mapping) and choice.get("index") in (None, 0):
                self._add_choice(choice)

    def _add_choice(self, choice: Mapping[str, object]) -> None:
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.finish_reason = reason
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, Mapping):
            return
        for name, value in delta.items():
            if name in _JOINED and isinstance(value, str):
                self.texts.setdefault(name, []).append(value)
            elif name == "content" and isinstance(value, list):
                self.texts.setdefault(name, []).extend(
                    part["text"] for part in value if isinstance(part, Mapping) and isinstance(part.get("text"), str)
                )
            elif name == "tool_calls" and isinstance(value, list):
                for piece in value:
                    if isinstance(piece, Mapping):
                        self._add_call(piece)
            elif name != "role" and value is not None:
                self.extras.setdefault(name, []).append(value)

    def _add_call(self, piece: Mapping[str, object]) -> None:
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        call_id = id_text(piece.get("id"))
        call = self._call_for(piece.get("index"), call_id)
        call.id = call.id or call_id
        if isinstance(name := function.get("name"), str):
            call.add_name(name)
        arguments = function.get("arguments")
        if arguments is not None:
            call.arguments.append(argument_text(arguments))

    def _call_for(self, index: object, call_id: str) -> _Call:
        if not isinstance(index, int | float | str):  # none, or nothing that could be one
            found = self.calls[-1] if self.calls else None
        else:
            found = self.by_index.get(index)
        if found is None or (call_id and found.id and call_id != found.id):
            if len(self.calls) == MOST_CALLS:
                raise NotAReplyError(f"choices[0].delta.tool_calls: expected at most {MOST_CALLS} calls, got more")
            found = _Call()
            self.calls.append(found)
            if isinstance(index, int | float | str):
                self.by_index[index] = found
        return found

    def to_wire(self) -> dict[str, object]:
        message: dict[str, object] = {"role": "assistant", "content": None}
        message |= {name: "".join(texts) for name, texts in self.texts.items()}
        message |= {name: _joined(pieces) for name, pieces in self.extras.items()}
        if self.calls:
            message["tool_calls"] = [call.to_wire() for call in self.calls]
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        return {"model": self.model, "choices": [choice], "usage": self.usage}


def _joined(pieces: list[object], levels: int = _LEVELS_JOINED) -> object:
    """One value of the pieces that came for it.

    Texts are joined, lists are extended, objects field by field; of anything else the last counts. What comes the same
    in every chunk is no piece but repeated.
    """
    if len(pieces) == 1 or not levels or any(map(nested_too_deeply, pieces)):
        return pieces[-1]
    if all(piece == pieces[0] for piece in pieces):
        return pieces[0]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) == len(pieces):
        return "".join(texts)
    lists = [piece for piece in pieces if isinstance(piece, list)]
    if len(lists) == len(pieces):
        return [item for piece in lists for item in piece]
    objects = [piece for piece in pieces if isinstance(piece, Mapping)]
    if len(objects) < len(pieces):
        return pieces[-1]
    fields: dict[str, list[object]] = {}
    for piece in objects:
        for name, value in piece.items():
            if value is not None:
                fields.setdefault(name, []).append(value)
    return {name: _joined(values, levels - 1) for name, values in fields.items()}


def gathered(events: Iterable[object]) -> object:
    """The chat completion that the events of a stream make up, or the payload of an error among them.

    Args:
        events: JSON values, `None` for the mark that closes a stream.

    Raises:
        StreamCutError: neither a finish reason nor the closing mark came.
        NotAReplyError: more calls than a reply may have.
    """
    whole = _Gathered()
    for event in events:
        if event is None:
            whole.done = True
        elif isinstance(event, Mapping):
            if error_of(event) is not None:
                return event
            whole.add(event)
    if whole.chunks == 0 and whole.done:
        return {"choices": []}
    if not whole.done and whole.finish_reason is None:
        raise StreamCutError(f"the stream ended after {whole.chunks} chunks, before the reply did")
    return whole.to_wire()


def is_last(event: object) -> bool:
    """Whether nothing counts that comes behind this event: an error. A finish reason is no end; usage follows it."""
    return error_of(event) is not None
