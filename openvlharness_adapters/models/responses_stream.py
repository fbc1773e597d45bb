"""Puts the events of a streamed response together, so that one reader serves both ways of sending.

The last event carries the whole response by the reference, and every finished item comes in an event of its own. Some
services leave the items out of the former, some send no more than pieces; each is used for what the others lack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from openvlharness_adapters.models.reply_values import StreamCutError
from openvlharness_adapters.models.responses_reply import response_error

_LAST = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_LATEST = 16  # items among which one of an unknown name is looked for
_PIECES = {
    "response.output_text.delta": ("message", "content", "output_text"),
    "response.refusal.delta": ("message", "content", "refusal"),
    "response.reasoning_text.delta": ("reasoning", "content", "reasoning_text"),
    "response.reasoning_summary_text.delta": ("reasoning", "summary", "summary_text"),
}


@attrs.define
class _Item:
    """One item: as it was announced, its pieces, and as it was finished."""

    announced: Mapping[str, object] = attrs.field(factory=dict)
    kind: str = ""
    parts: dict[tuple[str, str, object], list[str]] = attrs.field(factory=dict)
    arguments: list[str] = attrs.field(factory=list)
    finished: Mapping[str, object] | None = None
    renamed: bool = False

    def is_open_for(self, kind: str, item: object) -> bool:
        """Whether an event about this kind of item may mean this one: a piece, or `item` as it was finished."""
        if self.finished is not None or self.announced.get("type") != kind:
            return False
        if not isinstance(item, Mapping):
            return not self.renamed  # one foreign name for the pieces of an item, not several
        own, other = self.announced.get("call_id"), item.get("call_id")
        return own is None or other is None or own == other

    def to_wire(self) -> Mapping[str, object]:
        if self.finished is not None:
            return self.finished
        made: dict[str, object] = {"type": self.kind, **self.announced}
        if self.arguments:
            made["arguments"] = "".join(self.arguments)
        fields: dict[str, list[object]] = {}
        for (field, kind, _), texts in self.parts.items():
            text_field = "refusal" if kind == "refusal" else "text"
            fields.setdefault(field, []).append({"type": kind, text_field: "".join(texts)})
        return made | fields


@attrs.define
class _Gathered:
    items: list[_Item] = attrs.field(factory=list)
    by_name: dict[object, _Item] = attrs.field(factory=dict)
    response: Mapping[str, object] = attrs.field(factory=dict)
    ended: bool = False
    events: int = 0

    def add(self, event: Mapping[str, object]) -> None:
        self.events += 1
        kind = event.get("type")
        kind = kind if isinstance(kind, str) else ""
        if isinstance(response := event.get("response"), Mapping):
            self.response = response
        item = event.get("item")
        if kind in _LAST:
            self.ended = True
            if kind != "response.completed" and not self.response.get("status"):
                self.response = {**self.response, "status": kind.removeprefix("response.")}
        elif kind == "response.output_item.added" and isinstance(item, Mapping):
            self._item(event, begins=True).announced = item
        elif kind == "response.output_item.done" and isinstance(item, Mapping):
            self._item(event).finished = item
        else:
            self._add_piece(kind, event)

    def _add_piece(self, kind: str, event: Mapping[str, object]) -> None:
        delta = event.get("delta")
        if kind == "response.function_call_arguments.done" and isinstance(whole := event.get("arguments"), str):
            self._item(event, "function_call").arguments = [whole]
        elif kind == "response.function_call_arguments.delta" and isinstance(delta, str):
            self._item(event, "function_call").arguments.append(delta)
        elif kind in _PIECES and isinstance(delta, str):
            of, field, part = _PIECES[kind]
            place = event.get("content_index", event.get("summary_index"))
            place = place if isinstance(place, int | float | str) else None
            self._item(event, of).parts.setdefault((field, part, place), []).append(delta)

    def _item(self, event: Mapping[str, object], kind: str = "", *, begins: bool = False) -> _Item:
        """The item that an event is about: by its place, else by its id, else the latest.

        Some servers name an item otherwise when they announce it than later on. A name that nobody knows, of an event
        that does not begin an item, is that of the latest open one of its kind.
        """
        item = event.get("item")
        own_id = item.get("id") if isinstance(item, Mapping) else None
        names = (event.get("output_index"), event.get("item_id"), own_id)
        known = [name for name in names if isinstance(name, int | str) and name != ""]
        found = self.by_name.get(known[0]) if known else (self.items[-1] if self.items else None)
        if found is None and not begins and not isinstance(event.get("output_index"), int):
            own_kind = item.get("type") if isinstance(item, Mapping) else None
            meant = kind or (own_kind if isinstance(own_kind, str) else "")
            found = next((it for it in reversed(self.items[-_LATEST:]) if it.is_open_for(meant, item)), None)
            if found is not None:
                found.renamed = True
        if found is None:
            found = _Item()
            self.items.append(found)
        self.by_name |= dict.fromkeys(known, found)
        found.kind = found.kind or kind
        return found

    def to_wire(self) -> dict[str, object]:
        """The response, with the items of the events where it has fewer."""
        whole = dict(self.response)
        output = whole.get("output")
        if not isinstance(output, list) or len(output) < len(self.items):
            whole["output"] = [item.to_wire() for item in self.items]
        if not self.ended:  # it closed in good order, and every item is whole
            whole["status"] = "completed"
        return whole

    @property
    def all_finished(self) -> bool:
        return bool(self.items) and all(item.finished is not None for item in self.items)


def gathered(events: Iterable[object]) -> object:
    """The response that the events of a stream make up, or the payload of an error among them.

    Args:
        events: JSON values, `None` for the mark that closes a stream.

    Raises:
        StreamCutError: neither the last event came, nor the closing mark behind items that are whole.
    """
    whole = _Gathered()
    closed = False
    for event in events:
        if event is None:
            closed = True
        elif isinstance(event, Mapping):
            if (error := response_error(event)) is not None:
                return {"error": error}
            whole.add(event)
    if closed and not whole.events:
        return {}
    if not whole.ended and not (closed and whole.all_finished):
        raise StreamCutError(f"the stream ended after {whole.events} events, before the reply did")
    return whole.to_wire()


def is_last(event: object) -> bool:
    """Whether nothing counts that comes behind this event: the one that holds the response, or an error."""
    if isinstance(event, Mapping) and event.get("type") in _LAST:
        return True
    return response_error(event) is not None
