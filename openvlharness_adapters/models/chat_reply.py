"""From a Chat Completions reply to a ModelReply: strict about what it returns, lenient about what it is given.

Servers leave out what the reference promises and add what it does not know. A value that can be understood is taken as
it came, ids and argument texts included; mending is the engine's work. Only what holds no message at all is no reply.
"""

from __future__ import annotations

from collections.abc import Mapping

from openvlharness_adapters.models.chat_wire import OWN_FIELDS, REASONING_FIELDS
from openvlharness_adapters.models.wire_json import json_text, read_json
from openvlharness_core.jsonable import DEEPEST, nested_too_deeply
from openvlharness_core.messages import ModelReply, VirtualCall
from openvlharness_core.usage import flat_usage

MOST_CALLS = 256
"""Calls in one reply; nobody means more."""

_CUT = "length"
_LONGEST_TEXT = 8 * 1024 * 1024
"""Characters of text, reasoning and arguments together; no model writes as many, and all of them are looked through."""


class NotAReplyError(ValueError):
    """A body that holds no message; says where, what was expected and what came."""


def reply_from_wire(payload: object, *, native: str | None = None) -> ModelReply:
    """The reply that a chat completion holds; the first of its choices counts.

    Args:
        payload: the parsed body, without an error object.
        native: the body as text, where it is to be kept.

    Raises:
        NotAReplyError: naming the place.
    """
    root = _mapping(payload, "the body")
    choices = root.get("choices")
    if not isinstance(choices, list) or not choices:
        raise NotAReplyError(f"choices: expected a list with a choice, got {_kind(choices)}")
    choice = _mapping(choices[0], "choices[0]")
    finish_reason = choice.get("finish_reason")
    if not isinstance(finish_reason, str) or not finish_reason:
        finish_reason = None
    message = choice.get("message")
    if message is None and finish_reason is not None:  # a filter or a limit left nothing to say
        message = {}
    message = _mapping(message, "choices[0].message")
    model = root.get("model")
    text = _text(message.get("content"), "choices[0].message.content") or _refusal(message)
    reasoning_field, reasoning = _reasoning(message)
    calls = _calls(message, cut=finish_reason == _CUT)
    length = len(text or "") + len(reasoning or "") + sum(len(call.arguments) for call in calls)
    if length > _LONGEST_TEXT:
        raise NotAReplyError(f"choices[0].message: expected at most {_LONGEST_TEXT} characters, got {length}")
    return ModelReply(
        text=text,
        calls=calls,
        reasoning=reasoning,
        finish_reason=finish_reason,
        usage=flat_usage(root.get("usage")),
        extras=_extras(message, reasoning_field),
        model=model if isinstance(model, str) and model else None,
        native=native,
    )


def choice_error(payload: object) -> Mapping[str, object] | None:
    """The error that a gateway put inside the first choice, if any."""
    match payload:
        case {"choices": [{"error": error}, *_]} if isinstance(error, Mapping) and error:
            return error
    return None


def _text(content: object, place: str) -> str | None:
    """Text of a content field: a string, null, or parts of which those that hold text are joined."""
    if content is None or isinstance(content, str):
        return content or None
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        raise NotAReplyError(f"{place}: expected text, null or parts, got {_kind(content)}")
    texts = [part if isinstance(part, str) else _part_text(part) for part in content]
    return "".join(texts) or None


def _part_text(part: object) -> str:
    match part:
        case {"type": "thinking" | "reasoning"}:
            return ""
        case {"text": str(text)} | {"refusal": str(text)} | {"text": {"value": str(text)}}:
            return text
    return ""


def _refusal(message: Mapping[str, object]) -> str | None:
    refusal = message.get("refusal")
    return refusal if isinstance(refusal, str) and refusal else None


def _reasoning(message: Mapping[str, object]) -> tuple[str | None, str | None]:
    """Field and text of the reasoning; an empty text counts only if no other field holds one."""
    found = [(name, value) for name in REASONING_FIELDS if isinstance(value := message.get(name), str)]
    found.sort(key=lambda item: not item[1])
    return found[0] if found else (None, None)


def _calls(message: Mapping[str, object], *, cut: bool) -> tuple[VirtualCall, ...]:
    raw = message.get("tool_calls")
    if isinstance(raw, Mapping):
        raw = [raw]
    if not raw and isinstance(legacy := message.get("function_call"), Mapping):
        raw = [{"function": legacy}]
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise NotAReplyError(f"choices[0].message.tool_calls: expected a list or null, got {_kind(raw)}")
    if len(raw) > MOST_CALLS:
        raise NotAReplyError(f"choices[0].message.tool_calls: expected at most {MOST_CALLS} calls, got {len(raw)}")
    last = len(raw) - 1
    return tuple(_call(item, cut=cut and position == last) for position, item in enumerate(raw))


def _call(item: object, *, cut: bool) -> VirtualCall:
    """One call as it came. The reply was cut inside it if the limit was met and the argument text is not whole."""
    if not isinstance(item, Mapping):  # kept, so that the model is told about it
        return VirtualCall(id="", tool="", arguments=_argument_text(item), truncated=cut)
    function = item.get("function")
    if not isinstance(function, Mapping):
        function = item  # some servers leave the wrapping out
    call_id, tool = item.get("id"), function.get("name")
    arguments = _argument_text(function["arguments"]) if "arguments" in function else ""
    return VirtualCall(
        id=call_id if isinstance(call_id, str) else "" if call_id is None else json_text(call_id),
        tool=tool if isinstance(tool, str) else "",
        arguments=arguments,
        truncated=cut and not _is_json_object(arguments),
    )


def _argument_text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json_text(arguments)


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(read_json(text.encode("utf-8", "replace")), Mapping)
    except ValueError:
        return False


def _extras(message: Mapping[str, object], reasoning_field: str | None) -> str:
    """The other fields, but for those that nobody could write back: nested too deeply."""
    own = OWN_FIELDS | {"refusal", "function_call", reasoning_field}
    rest = {
        name: value
        for name, value in message.items()
        if name not in own and value is not None and not nested_too_deeply(value, DEEPEST - 1)
    }
    return json_text(rest) if rest else "{}"


def _mapping(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise NotAReplyError(f"{place}: expected an object, got {_kind(value)}")
    return value


def _kind(value: object) -> str:
    if value is None:
        return "null or nothing"
    if isinstance(value, list):
        return "an empty list" if not value else "a list"
    return {str: "text", bool: "a boolean", int: "a number", float: "a number"}.get(type(value), "an object")
