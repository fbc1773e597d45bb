"""From a Chat Completions reply to a ModelReply: strict about what it returns, lenient about what it is given.

Servers leave out what the reference promises and add what it does not know. A value that can be understood is taken as
it came, ids and argument texts included; mending is the engine's work. Only what holds no message at all is no reply.
"""

from __future__ import annotations

from collections.abc import Mapping

from openvlharness_adapters.models.chat_wire import OWN_FIELDS, REASONING_FIELDS
from openvlharness_adapters.models.reply_values import (
    LONGEST_TEXT,
    MOST_CALLS,
    NotAReplyError,
    argument_text,
    id_text,
    is_json_object,
    kind_of,
    mapping,
    text_of,
)
from openvlharness_adapters.models.wire_json import json_text
from openvlharness_core.jsonable import DEEPEST, nested_too_deeply
from openvlharness_core.messages import ModelReply, VirtualCall
from openvlharness_core.usage import flat_usage

_CUT = "length"


def reply_from_wire(payload: object, *, native: str | None = None) -> ModelReply:
    """The reply that a chat completion holds; the first of its choices counts.

    Args:
        payload: the parsed body, without an error object.
        native: the body as text, where it is to be kept.

    Raises:
        NotAReplyError: naming the place.
    """
    root = mapping(payload, "the body")
    choices = root.get("choices")
    if not isinstance(choices, list) or not choices:
        raise NotAReplyError(f"choices: expected a list with a choice, got {kind_of(choices)}")
    choice = mapping(choices[0], "choices[0]")
    finish_reason = choice.get("finish_reason")
    if not isinstance(finish_reason, str) or not finish_reason:
        finish_reason = None
    message = choice.get("message")
    if message is None and finish_reason is not None:  # a filter or a limit left nothing to say
        message = {}
    message = mapping(message, "choices[0].message")
    model = root.get("model")
    text = text_of(message.get("content"), "choices[0].message.content") or _refusal(message)
    reasoning_field, reasoning = _reasoning(message)
    calls = _calls(message, cut=finish_reason == _CUT)
    length = len(text or "") + len(reasoning or "") + sum(len(call.arguments) for call in calls)
    if length > LONGEST_TEXT:
        raise NotAReplyError(f"choices[0].message: expected at most {LONGEST_TEXT} characters, got {length}")
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
        raise NotAReplyError(f"choices[0].message.tool_calls: expected a list or null, got {kind_of(raw)}")
    if len(raw) > MOST_CALLS:
        raise NotAReplyError(f"choices[0].message.tool_calls: expected at most {MOST_CALLS} calls, got {len(raw)}")
    last = len(raw) - 1
    return tuple(_call(item, cut=cut and position == last) for position, item in enumerate(raw))


def _call(item: object, *, cut: bool) -> VirtualCall:
    """One call as it came. The reply was cut inside it if the limit was met and the argument text is not whole."""
    if not isinstance(item, Mapping):  # kept, so that the model is told about it
        return VirtualCall(id="", tool="", arguments=argument_text(item), truncated=cut)
    function = item.get("function")
    if not isinstance(function, Mapping):
        function = item  # some servers leave the wrapping out
    call_id, tool = item.get("id"), function.get("name")
    arguments = argument_text(function["arguments"]) if "arguments" in function else ""
    return VirtualCall(
        id=id_text(call_id),
        tool=tool if isinstance(tool, str) else "",
        arguments=arguments,
        truncated=cut and not is_json_object(arguments),
    )


def _extras(message: Mapping[str, object], reasoning_field: str | None) -> str:
    """The other fields, but for those that nobody could write back: nested too deeply."""
    own = OWN_FIELDS | {"refusal", "function_call", reasoning_field}
    rest = {
        name: value
        for name, value in message.items()
        if name not in own and value is not None and not nested_too_deeply(value, DEEPEST - 1)
    }
    return json_text(rest) if rest else "{}"
