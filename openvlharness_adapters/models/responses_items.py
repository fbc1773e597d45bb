"""What a reply of the Responses protocol leaves behind for the requests after it.

A stateless conversation carries the output items of every reply along: reasoning, which the service alone can read,
stands in front of the messages and calls that came of it, and services refuse the one without the other. They travel in
the extras of a message, so that whatever keeps messages keeps them too. Two rules hold:

- Known fields of known items only. Of a call nothing stays but its place and its item id: names, arguments and call ids
  are mended before they are sent back, and the message holds the mended ones.
- A set is sent complete or not at all. Where an item is of no known kind, a reasoning item cannot be read back by
  anybody, or the items no longer say what the message says, the message goes back in the plain form, without ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openvlharness_adapters.models.reply_values import LONGEST_TEXT
from openvlharness_adapters.models.wire_json import json_text, read_json
from openvlharness_core.jsonable import nested_too_deeply
from openvlharness_core.messages import AssistantMessage

Item = dict[str, object]

FIELD = "output"
"""Under which the items stand among the extras."""

_STATUSES = ("completed", "incomplete", "in_progress")
_PHASES = ("commentary", "final_answer")
_MOST_ITEMS = 1024


def items_to_extras(output: Sequence[object]) -> str:
    """The extras of a reply with these output items: an object with what is worth keeping of them, or an empty one."""
    items = kept_items(output)
    if all("id" not in item and "phase" not in item for item in items):  # the plain form says as much
        return "{}"
    extras = json_text({FIELD: items})
    return extras if len(extras) <= LONGEST_TEXT else "{}"


def items_of(message: AssistantMessage) -> list[Item] | None:
    """The items that `message` can be sent back as, calls filled in; `None` when it must go in the plain form."""
    if FIELD not in message.extras:
        return None
    try:
        extras = read_json(message.extras.encode("utf-8", "replace"))
    except ValueError:
        return None
    output = extras.get(FIELD) if isinstance(extras, Mapping) else None
    if not isinstance(output, list) or nested_too_deeply(output):
        return None
    items = kept_items(output)
    places = [item for item in items if item["type"] == "function_call"]
    if not items or len(places) != len(message.calls) or said_by(items) != (message.text or ""):
        return None
    for item, call in zip(places, message.calls, strict=True):
        item |= {"call_id": call.id, "name": call.tool, "arguments": call.arguments}
    return items


def said_by(items: Sequence[Mapping[str, object]]) -> str:
    """The text of all messages among kept items: a line each."""
    return "\n".join(_text(item["content"]) for item in items if item["type"] == "message")


def kept_items(output: Sequence[object]) -> list[Item]:
    """What can be kept of output items: all that the service would miss, or nothing. Keeping it again changes nothing."""
    if len(output) > _MOST_ITEMS:
        return []
    kept: list[Item] = []
    for item in output:
        known = _known(item)
        if known is None:
            return []
        if known:
            kept.append(known)
    ids = [item["id"] for item in kept if "id" in item]
    if len(set(ids)) < len(ids) or (kept and kept[-1]["type"] == "reasoning"):
        return []
    return kept


def _known(item: object) -> Item | None:
    """The known fields of an item; none if it says nothing, `None` if it cannot be kept."""
    if not isinstance(item, Mapping):
        return None
    match item.get("type"):
        case "reasoning":
            return _reasoning(item)
        case "message":
            return _message(item)
        case "function_call":
            return {"type": "function_call", **_id(item)}
    return None


def _reasoning(item: Mapping[str, object]) -> Item | None:
    """A reasoning item, if it can be read by a service that kept nothing: encrypted, or in plain words."""
    encrypted = item.get("encrypted_content")
    encrypted = encrypted if isinstance(encrypted, str) and encrypted else None
    words = _texts(item.get("content"), "reasoning_text")
    if "id" not in _id(item) or (encrypted is None and not words):
        return None
    known: Item = {"type": "reasoning", **_id(item), "summary": _texts(item.get("summary"), "summary_text")}
    if isinstance(item.get("content"), list):
        known["content"] = words
    if encrypted is not None:
        known["encrypted_content"] = encrypted
    if item.get("status") in _STATUSES:
        known["status"] = item["status"]
    return known


def _message(item: Mapping[str, object]) -> Item | None:
    """A message with id and status, or a plain string where it has no id."""
    if item.get("role", "assistant") != "assistant":
        return None
    content = _content(item.get("content"))
    if not content:
        return {}
    known: Item = {"type": "message", **_id(item), "role": "assistant"}
    if "id" in known:
        status = item.get("status")
        known |= {"status": status if status in _STATUSES else "completed", "content": content}
    else:
        known["content"] = _text(content)
    if item.get("phase") in _PHASES:
        known["phase"] = item["phase"]
    return known


def _content(content: object) -> list[Item]:
    """The parts of a message that say something."""
    parts: list[Item] = []
    for part in content if isinstance(content, list) else [content]:
        match part:
            case {"type": "thinking" | "reasoning"}:
                pass
            case str(text) | {"text": str(text)} | {"text": {"value": str(text)}} if text:
                parts.append({"type": "output_text", "text": text, "annotations": []})
            case {"refusal": str(text)} if text:
                parts.append({"type": "refusal", "refusal": text})
    return parts


def _text(content: object) -> str:
    """What kept content says."""
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return "".join(part.get("text") or part.get("refusal") or "" for part in content)


def _texts(parts: object, kind: str) -> list[Item]:
    if isinstance(parts, str):
        parts = [parts]
    if not isinstance(parts, list):
        return []
    found: list[Item] = []
    for part in parts:
        match part:
            case str(text) | {"text": str(text)}:
                found.append({"type": kind, "text": text})
    return found


def _id(item: Mapping[str, object]) -> Item:
    item_id = item.get("id")
    return {"id": item_id} if isinstance(item_id, str) and item_id else {}
