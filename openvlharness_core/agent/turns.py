"""Mending what a model wrote, so that what is replayed is always valid.

Calls are paired with their results by position, never by a table of ids: servers number calls anew every turn, leave
ids out or repeat them. Whatever came is kept for the trace; what goes back has unique ids, callable names and
arguments that are one JSON object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Set as AbstractSet

import attrs

from openvlharness_core.jsonable import read_json
from openvlharness_core.messages import AssistantMessage, ModelReply, VirtualCall
from openvlharness_core.texts import clean_text, excerpt

_BAD_SIGN = re.compile(r"[^A-Za-z0-9_-]")
_NAME_LIMIT = 64
_EXCERPT = 200


@attrs.frozen(kw_only=True)
class MendedCall:
    """One call in three shapes.

    Attributes:
        call: as the model wrote it, but with the id that is used from now on.
        replayed: as it is sent back.
        arguments: the parsed object; `None` when there is none.
        fault: why there is none, for the model.
    """

    call: VirtualCall
    replayed: VirtualCall
    arguments: dict[str, object] | None = attrs.field(default=None, hash=False)
    fault: str | None = None


@attrs.frozen(kw_only=True)
class MendedReply:
    """A reply whose calls are mended."""

    message: AssistantMessage
    calls: tuple[MendedCall, ...]


def mend_reply(reply: ModelReply, used_ids: AbstractSet[str], request_number: int, empty_reply: str) -> MendedReply:
    """Mend a reply; `empty_reply` stands in for one that says nothing at all, since strict servers refuse those."""
    taken = set(used_ids)
    calls = []
    for position, call in enumerate(reply.calls, 1):
        call_id = _fresh_id(clean_text(call.id), taken, f"call_{request_number}_{position}")
        taken.add(call_id)
        calls.append(_mend_call(call, call_id))
    text = clean_text(reply.text) if reply.text is not None else None
    if not calls and not (text and text.strip()):
        message = AssistantMessage(text=empty_reply)
    else:
        message = AssistantMessage(
            text=text,
            calls=tuple(call.replayed for call in calls),
            reasoning=clean_text(reply.reasoning) if reply.reasoning is not None else None,
            extras=clean_text(reply.extras),
        )
    return MendedReply(message=message, calls=tuple(calls))


def _fresh_id(call_id: str, taken: set[str], fallback: str) -> str:
    if call_id.strip() and call_id not in taken:
        return call_id
    candidate, number = fallback, 1
    while candidate in taken:
        number += 1
        candidate = f"{fallback}_{number}"
    return candidate


def _mend_call(call: VirtualCall, call_id: str) -> MendedCall:
    name = _BAD_SIGN.sub("_", call.tool)[:_NAME_LIMIT] or "unknown"
    arguments, fault = parse_arguments(call.arguments)
    text = "{}"
    if arguments is not None:
        clean = _cleaned(arguments)
        text = call.arguments if clean == arguments else json.dumps(clean, ensure_ascii=False)
        arguments = clean
    return MendedCall(
        call=VirtualCall(
            id=call_id, tool=clean_text(call.tool), arguments=clean_text(call.arguments), truncated=call.truncated
        ),
        replayed=VirtualCall(id=call_id, tool=name, arguments=clean_text(text)),
        arguments=arguments,
        fault=fault,
    )


def parse_arguments(text: str) -> tuple[dict[str, object] | None, str | None]:
    """The one JSON object that `text` is, or what is wrong with it, with the position."""
    shown = excerpt(clean_text(text), _EXCERPT)
    try:
        value = read_json(text)
    except json.JSONDecodeError as error:
        return None, f"expected one JSON object, but at character {error.pos}: {error.msg}; it began {shown!r}"
    except ValueError as error:
        return None, f"expected one JSON object: {excerpt(str(error))}; it began {shown!r}"
    if not isinstance(value, dict):
        return None, f"expected one JSON object, got {shown or 'nothing'} at character 0"
    return value, None


def _cleaned(value: object) -> dict[str, object]:
    cleaned = _without_surrogates(value)
    assert isinstance(cleaned, dict)
    return cleaned


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value
