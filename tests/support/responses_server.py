"""A Responses server that plays a script on loopback, as strict as the strictest real one; see `chat_server`.

Steps that answer: `says`, `calls`, `response` (items by hand). The rules are those of `responses_rules`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs

from openvlharness_core.messages import ModelReply
from tests.support.chat_server import ChatServer, Completion
from tests.support.responses_rules import faults_of

PATH = "/v1/responses"
USAGE = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


def response(*items: Mapping[str, Any], status: str = "completed", **fields: Any) -> Completion:
    """A response of these items; `fields` go to the top level."""
    return Completion(
        {"id": "resp_1", "object": "response", "status": status, "output": items, "usage": USAGE, **fields}
    )


def message(text: str, item_id: str = "msg_1", **fields: Any) -> dict[str, Any]:
    """A message item."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part], **fields}


def call(name: str, arguments: Any, call_id: str = "call_0", **fields: Any) -> dict[str, Any]:
    """A call item; `arguments` are an object, or the raw text."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text, **fields}


def reasoning(item_id: str = "rs_1", sealed: str | None = "gAAAA", **fields: Any) -> dict[str, Any]:
    """A reasoning item, sealed as only the service can read it."""
    return {"type": "reasoning", "id": item_id, "summary": [], "encrypted_content": sealed, **fields}


def says(text: str, *before: Mapping[str, Any]) -> Completion:
    """A response of text, after other items."""
    return response(*before, message(text))


def calls(
    *wanted: tuple[str, Any],
    text: str | None = None,
    ids: Sequence[str] | None = None,
    before: Sequence[Mapping[str, Any]] = (),
) -> Completion:
    """A response with calls: pairs of tool name and arguments (an object, or the raw text)."""
    made = [call(name, given, ids[n] if ids is not None else f"call_{n}") for n, (name, given) in enumerate(wanted)]
    return response(*before, *([message(text)] if text else []), *made)


def reply_to_payload(said: ModelReply) -> dict[str, Any]:
    """The payload of which an adapter should make this reply."""
    kept = [dict(item) for item in json.loads(said.extras).get("output", ())]
    items: list[dict[str, Any]] = []
    if not kept:
        if said.reasoning is not None:
            items.append({"type": "reasoning", "summary": [{"type": "summary_text", "text": said.reasoning}]})
        if said.text is not None:
            items.append({"type": "message", "role": "assistant", "content": said.text})
    waiting = [
        call(made.tool, made.arguments, made.id, **({"status": "incomplete"} if made.truncated else {}))
        for made in said.calls
    ]
    items += [waiting.pop(0) | item if item["type"] == "function_call" else item for item in kept]
    usage: dict[str, Any] = {}
    for dotted, number in said.usage.items():
        *path, last = dotted.split(".")
        inner = usage
        for key in path:
            inner = inner.setdefault(key, {})
        inner[last] = number
    payload: dict[str, Any] = {"object": "response", "output": items + waiting}
    if said.finish_reason in REASONS:
        payload |= {"status": "incomplete", "incomplete_details": {"reason": REASONS[said.finish_reason]}}
    elif said.finish_reason in ("stop", "tool_calls"):
        payload["status"] = "completed"
    elif said.finish_reason is not None:
        payload["status"] = said.finish_reason
    return payload | ({"usage": usage} if usage else {}) | ({"model": said.model} if said.model else {})


def as_events(payload: Mapping[str, Any], letters: int = 5) -> bytes:
    """The same response as an event stream: every item announced, in pieces, and finished; at last the whole."""
    bare = {**payload, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": bare}]
    for index, item in enumerate(payload["output"]):
        events += _item_events(index, item, letters)
    kind = payload.get("status") if payload.get("status") in ("completed", "incomplete", "failed") else "completed"
    events.append({"type": f"response.{kind}", "response": payload})
    return in_lines(events)


def in_lines(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Events as they travel, numbered, each under its name."""
    return b"".join(
        f"event: {event.get('type')}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n".encode()
        for number, event in enumerate(events)
    )


def _item_events(index: int, item: Mapping[str, Any], letters: int) -> Iterator[dict[str, Any]]:
    place = {"output_index": index, "item_id": item.get("id", "")}
    begun = {**item, "status": "in_progress"}
    if "arguments" in begun:
        begun["arguments"] = ""
    if item["type"] == "message":
        begun["content"] = []
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    if item["type"] == "function_call":
        text = item["arguments"] if isinstance(item["arguments"], str) else ""
        for piece in _pieces(text, letters):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        yield {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]}
    parts = item.get("content")
    for number, part in enumerate(parts if item["type"] == "message" and isinstance(parts, list) else []):
        at = {**place, "content_index": number}
        for piece in _pieces(part.get("text", ""), letters):
            yield {"type": "response.output_text.delta", **at, "delta": piece}
        for piece in _pieces(part.get("refusal", ""), letters):
            yield {"type": "response.refusal.delta", **at, "delta": piece}
    for number, part in enumerate(item.get("summary", ()) if item["type"] == "reasoning" else ()):
        for piece in _pieces(part["text"], letters):
            yield {"type": "response.reasoning_summary_text.delta", **place, "summary_index": number, "delta": piece}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _pieces(text: str, letters: int) -> list[str]:
    return [text[n : n + letters] for n in range(0, len(text), letters)]


@attrs.define(eq=False)
class ResponsesServer(ChatServer):
    """See the module. Everything else is the chat server's."""

    path: ClassVar[str] = PATH
    conversation: ClassVar[str] = "input"

    def _rules(self, body: dict[str, Any]) -> Iterator[str]:
        return faults_of(body, alternate=self.alternate)

    def _events(self, payload: Mapping[str, Any]) -> bytes:
        return as_events(payload)
