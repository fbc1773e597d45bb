"""What strict stateless Responses services refuse; the scripted server checks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.chat_rules import picture_fault

_REASONING = {"type", "id", "summary", "content", "encrypted_content", "status"}
_MESSAGE = {"type", "id", "role", "status", "content", "phase"}
_CALL = {"type", "id", "call_id", "name", "arguments", "status"}
_OUTPUT = {"type", "call_id", "output"}


def faults_of(body: dict[str, Any], *, alternate: bool = False) -> Iterator[str]:
    """Everything in a request that some real service would refuse.

    Args:
        body: the request.
        alternate: whether users must take turns with others.
    """
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: expected a name"
    if body.get("store") is not False:
        yield "store: expected false, or the service would keep the conversation"
    if unknown := body.keys() & {"messages", "seed", "max_tokens", "reasoning_effort", "stream_options"}:
        yield f"unknown parameters {sorted(unknown)}"
    items = body.get("input")
    if not isinstance(items, list) or not items:
        yield "input: expected a list with an item"
        return
    yield from _order_faults(items, alternate=alternate)
    for number, item in enumerate(items):
        for fault in _item_faults(item):
            yield f"input[{number}]: {fault}"
    ids = [item["id"] for item in items if "id" in item]
    if len(set(ids)) < len(ids):
        yield f"input: item ids must differ, got {ids}"
    yield from _tool_faults(body)


def _order_faults(items: list[dict[str, Any]], *, alternate: bool) -> Iterator[str]:
    owed: list[str] = []
    answering = False
    before: dict[str, Any] = {}
    for number, item in enumerate(items):
        kind = item.get("type")
        place = f"input[{number}]"
        if kind == "function_call":
            if answering and owed:
                yield f"{place}: a call between answers, open are {owed}"
            answering = False
            owed.append(item.get("call_id", ""))
        elif kind == "function_call_output":
            answering = True
            if not owed or item.get("call_id") != owed[0]:
                yield f"{place}: answers {item.get('call_id')!r}, open are {owed}"
            owed = owed[1:]
        elif owed and (answering or item.get("role") != "assistant"):  # a message may stand between two calls
            yield f"{place}: stands between a call and its answer, open are {owed}"
            owed = []
        if len(set(owed)) < len(owed):
            yield f"{place}: two open calls of one id, {owed}"
        if before.get("type") == "reasoning" and kind not in ("reasoning", "function_call") and not _said(item):
            yield f"{place}: a reasoning item without the item that must follow it"
        if alternate and before.get("role") == item.get("role") == "user":
            yield f"{place}: a user message behind a user message"
        before = item
    if owed:
        yield f"input: ends with open calls {owed}"
    if before.get("type") == "reasoning":
        yield "input: ends with a reasoning item, without the item that must follow it"


def _said(item: dict[str, Any]) -> bool:
    """Whether it is an item of a reply, with its id, not one that only repeats what was said."""
    return item.get("type") == "message" and item.get("role") == "assistant" and "id" in item


def _item_faults(item: dict[str, Any]) -> Iterator[str]:
    match item.get("type"):
        case "message":
            yield from _unknown(item, _MESSAGE)
            yield from _message_faults(item)
        case "function_call":
            yield from _unknown(item, _CALL)
            yield from _call_faults(item)
        case "function_call_output":
            yield from _unknown(item, _OUTPUT)
            yield from _content_faults(item.get("output"), empty=True)
        case "reasoning":
            yield from _unknown(item, _REASONING)
            if not isinstance(item.get("id"), str) or not isinstance(item.get("summary"), list):
                yield "reasoning needs id and summary"
            if not (item.get("encrypted_content") or item.get("content")):
                yield f"reasoning {item.get('id')!r} not found: nothing is stored when store is false"
        case kind:
            yield f"unknown type {kind!r}"


def _unknown(item: dict[str, Any], known: set[str]) -> Iterator[str]:
    if unknown := item.keys() - known:
        yield f"unknown parameters {sorted(unknown)}"


def _call_faults(item: dict[str, Any]) -> Iterator[str]:
    if not item.get("call_id") or not item.get("name"):
        yield "a call needs call_id and name"
    try:
        parsed = json.loads(item["arguments"])
    except (ValueError, TypeError, KeyError):
        parsed = None
    if not isinstance(parsed, dict):
        yield "arguments are no JSON object"


def _message_faults(item: dict[str, Any]) -> Iterator[str]:
    role, content = item.get("role"), item.get("content")
    if role == "assistant" and not isinstance(content, str):
        if "id" not in item or item.get("status") not in ("completed", "incomplete", "in_progress"):
            yield "an assistant message needs id and status, or a plain string"
        for part in content or [{}]:
            match part:
                case {"type": "output_text", "text": str(), "annotations": list()}:
                    pass
                case {"type": "refusal", "refusal": str()}:
                    pass
                case _:
                    yield f"neither text nor refusal: {part}"
    elif role not in ("system", "user", "assistant"):
        yield f"unknown role {role!r}"
    elif role == "user":
        yield from _content_faults(content, empty=True)
    elif not isinstance(content, str) or (role == "assistant" and not content):
        yield f"expected text, got {content!r}"


def _content_faults(content: object, *, empty: bool) -> Iterator[str]:
    if isinstance(content, str) and (content or empty):
        return
    if not isinstance(content, list) or not content:
        yield "expected text or parts"
        return
    for part in content:
        match part:
            case {"type": "input_text", "text": str()}:
                pass
            case {"type": "input_image", "image_url": str(url), "detail": "auto"}:
                if (fault := picture_fault(url)) is not None:
                    yield fault
            case _:
                yield f"neither text nor picture: {str(part)[:80]}"


def _tool_faults(body: dict[str, Any]) -> Iterator[str]:
    tools = body.get("tools")
    if tools is None:
        if "tool_choice" in body:
            yield "tool_choice: without tools"
        return
    if not isinstance(tools, list) or not tools:
        yield "tools: expected none or at least one"
        return
    names = [tool.get("name") for tool in tools]
    if len(set(names)) < len(names):
        yield f"tools: names must differ, got {names}"
    for tool in tools:
        if tool.get("type") != "function" or tool.get("strict") is not False or "function" in tool:
            yield "tools: expected functions that are not strict"
        if not isinstance(tool.get("parameters"), dict):
            yield "tools: expected parameters"
