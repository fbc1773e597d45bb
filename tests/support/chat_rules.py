"""What strict Chat Completions services refuse, and what a prompt cache asks for; the scripted server checks it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

_SIGNATURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/webp": b"RIFF"}
_ROLES = ("system", "user", "assistant", "tool")


def faults_of(body: dict[str, Any], *, alternate: bool = False) -> Iterator[str]:
    """Everything in a request that some real service would refuse.

    Args:
        body: the request.
        alternate: whether users must take turns with others.
    """
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: expected a name"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: expected a list with a message"
        return
    owed: list[str] = []
    for position, message in enumerate(messages):
        place = f"messages[{position}]"
        role = message.get("role")
        if role not in _ROLES:
            yield f"{place}.role: unknown {role!r}"
        if alternate and position and role == "user" == messages[position - 1].get("role"):
            yield f"{place}: a user message behind a user message"
        if role == "tool":
            if not owed or message.get("tool_call_id") != owed[0]:
                yield f"{place}: answers {message.get('tool_call_id')!r}, open are {owed}"
            owed = owed[1:]
        elif owed:
            yield f"{place}: stands between a call and its answer, open are {owed}"
            owed = []
        if role == "assistant":
            owed = [call.get("id") for call in message.get("tool_calls", [])]
            yield from _call_faults(message, place)
        else:
            yield from _content_faults(message.get("content"), place, pictures=role == "user")
    if owed:
        yield f"messages: end with open calls {owed}"
    yield from _tool_faults(body)


def _call_faults(message: dict[str, Any], place: str) -> Iterator[str]:
    calls = message.get("tool_calls")
    if calls is None:
        if not isinstance(message.get("content"), str) or not message["content"]:
            yield f"{place}: an assistant message without calls needs content"
        return
    if calls == []:
        yield f"{place}.tool_calls: expected none or at least one"
    ids = [call.get("id") for call in calls]
    if len(set(ids)) < len(ids) or not all(isinstance(call_id, str) and call_id for call_id in ids):
        yield f"{place}.tool_calls: ids must differ and not be empty, got {ids}"
    for number, call in enumerate(calls):
        try:
            parsed = json.loads(call["function"]["arguments"])
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            yield f"{place}.tool_calls[{number}]: arguments are no JSON object"
        if call.get("type") != "function":
            yield f"{place}.tool_calls[{number}].type: expected function"


def _content_faults(content: object, place: str, *, pictures: bool) -> Iterator[str]:
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content or not pictures:
        yield f"{place}.content: expected text{' or parts' if pictures else ''}"
        return
    for number, part in enumerate(content):
        match part:
            case {"type": "text", "text": str()}:
                pass
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                if (fault := picture_fault(url)) is not None:
                    yield f"{place}.content[{number}]: {fault}"
            case _:
                yield f"{place}.content[{number}]: neither text nor picture"


def picture_fault(url: str) -> str | None:
    """Why a picture's URL would be refused; `None` if it would not."""
    if url.startswith(("http://", "https://")):
        return None
    head, _, data = url.partition(";base64,")
    media_type = head.removeprefix("data:")
    try:
        raw = base64.b64decode(data, validate=True)
    except binascii.Error as problem:
        return f"no base64: {problem}"
    if not raw.startswith(_SIGNATURES.get(media_type, b"\0none")):
        return f"bytes are not {media_type}"
    return None


def _tool_faults(body: dict[str, Any]) -> Iterator[str]:
    tools = body.get("tools")
    if tools is None:
        if "tool_choice" in body:
            yield "tool_choice: without tools"
        return
    if not isinstance(tools, list) or not tools:
        yield "tools: expected none or at least one"
        return
    names = [tool.get("function", {}).get("name") for tool in tools]
    if len(set(names)) < len(names):
        yield f"tools: names must differ, got {names}"
    for tool in tools:
        if tool.get("type") != "function" or not isinstance(tool["function"].get("parameters"), dict):
            yield "tools: expected functions with parameters"


def through_messages(raw: bytes, field: str = "messages") -> bytes:
    """A body up to the end of its last message."""
    text = raw.decode()
    start = text.index(f'"{field}":') + len(f'"{field}":')
    _, end = json.JSONDecoder().raw_decode(text, start)
    return text[: end - 1].encode()


def prefix_fault(last: bytes, now: bytes, field: str = "messages") -> str | None:
    """Why `now` does not begin with all that `last` said, although it has more messages; `None` if it does."""
    before, after = json.loads(last)[field], json.loads(now)[field]
    if len(after) <= len(before) or after[: min(2, len(before))] != before[:2]:
        return None  # another conversation, or the same one again
    kept = through_messages(last, field)
    if now.startswith(kept):
        return None
    same = next(n for n, (a, b) in enumerate(zip(kept, now, strict=False)) if a != b)
    return f"the prompt differs from the last one at byte {same} of {len(kept)}: {now[max(0, same - 40) : same + 40]!r}"
