"""From a response of the Responses protocol to a ModelReply: strict about what it returns, lenient about what it takes.

A response is a list of items: reasoning, messages, calls, and whatever else a service knows. Only what holds no such
list, or says that it failed, is no reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openvlharness_adapters.models.provider_errors import error_of
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
from openvlharness_adapters.models.responses_items import items_to_extras
from openvlharness_adapters.models.responses_wire import LIMIT_OPTION
from openvlharness_core.messages import ModelReply, VirtualCall
from openvlharness_core.usage import flat_usage

_NO_REPLY = ("failed", "cancelled")
_CUT = "length"
_REASONS = {"max_output_tokens": _CUT, "max_tokens": _CUT}


def reply_from_wire(payload: object, *, limit: object = None, native: str | None = None) -> ModelReply:
    """The reply that a response holds.

    Args:
        payload: the parsed body, without an error object.
        limit: how many tokens were asked for at most, if that was said.
        native: the body as text, where it is to be kept.

    Raises:
        NotAReplyError: naming the place.
    """
    root = mapping(payload, "the body")
    status = root.get("status")
    if status in _NO_REPLY:
        raise NotAReplyError(f"status: expected completed or incomplete, got {status}")
    output = _output(root)
    messages = [item for item in output if item.get("type") == "message" and item.get("role") in (None, "assistant")]
    wanted = [item for item in output if item.get("type") == "function_call"]
    if len(wanted) > MOST_CALLS:
        raise NotAReplyError(f"output: expected at most {MOST_CALLS} calls, got {len(wanted)}")
    usage = flat_usage(root.get("usage"))
    finish_reason = _finish_reason(root, usage, limit, calls=bool(wanted))
    text = "\n".join(filter(None, (text_of(item.get("content"), "output.content") for item in messages))) or None
    reasoning = _reasoning(output)
    calls = tuple(_call(item, cut=finish_reason == _CUT and item is wanted[-1]) for item in wanted)
    length = len(text or "") + len(reasoning or "") + sum(len(call.arguments) for call in calls)
    if length > LONGEST_TEXT:
        raise NotAReplyError(f"output: expected at most {LONGEST_TEXT} characters, got {length}")
    model = root.get("model")
    return ModelReply(
        text=text,
        calls=calls,
        reasoning=reasoning,
        finish_reason=finish_reason,
        usage=usage,
        extras=items_to_extras(output),
        model=model if isinstance(model, str) and model else None,
        native=native,
    )


def response_error(payload: object) -> Mapping[str, object] | str | None:
    """The error that a payload carries: the response's own, or an error event that came alone."""
    if not isinstance(payload, Mapping):
        return None
    if payload.get("type") == "error":
        return error_of(payload) or payload
    return error_of(payload) or error_of(payload.get("response"))


def _output(root: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The items that are objects. Services that answer in text alone may leave the list out."""
    output = root.get("output")
    if output is None and isinstance(text := root.get("output_text"), str):
        output = [{"type": "message", "role": "assistant", "content": text}]
    if isinstance(output, Mapping):
        output = [output]
    said_to_end = isinstance(root.get("status"), str)
    if output is None and said_to_end and isinstance(root.get("incomplete_details"), Mapping):
        output = []  # a filter or a limit left nothing to say
    if not isinstance(output, list) or not (output or said_to_end):
        raise NotAReplyError(f"output: expected a list of items, got {kind_of(output)}")
    items = [item for item in output if isinstance(item, Mapping)]
    if output and not items:
        raise NotAReplyError(f"output: expected items that are objects, got {kind_of(output[0])}")
    return items


def _finish_reason(root: Mapping[str, object], usage: Mapping[str, float], limit: object, *, calls: bool) -> str | None:
    """In the words of Chat Completions, which have one for each of the cases."""
    match root:
        case {"incomplete_details": {"reason": str(reason)}} if reason:
            return _REASONS.get(reason, reason)
        case {"status": "incomplete"}:
            return _CUT
        case {"status": "completed"}:
            limits = [limit, root.get(LIMIT_OPTION)]
            spent = usage.get("output_tokens", 0)
            if any(isinstance(most, int) and 0 < most <= spent for most in limits):
                return _CUT  # some services call complete what they cut
            return "tool_calls" if calls else "stop"
        case {"status": str(status)} if status:
            return status
    return None


def _reasoning(output: Sequence[Mapping[str, object]]) -> str | None:
    """What the reasoning items show: their text, else the summary of it; a line each."""
    shown: list[str] = []
    for item in output:
        if item.get("type") == "reasoning":
            texts = _texts(item.get("content")) or _texts(item.get("summary")) or _texts(item.get("text"))
            shown += texts
    return "\n".join(shown) or None


def _texts(parts: object) -> list[str]:
    texts: list[str] = []
    for part in parts if isinstance(parts, list) else [parts]:
        match part:
            case str(text) | {"text": str(text)} if text:
                texts.append(text)
    return texts


def _call(item: Mapping[str, object], *, cut: bool) -> VirtualCall:
    """One call as it came. The reply was cut inside it if so was said and the argument text is not whole."""
    function = item.get("function")
    if not isinstance(function, Mapping):
        function = item
    call_id, tool = item.get("call_id"), function.get("name")
    if call_id is None or call_id == "":
        call_id = item.get("id")  # either names the call; the answer to it will use the same
    arguments = argument_text(function["arguments"]) if "arguments" in function else ""
    cut = cut or item.get("status") == "incomplete"
    return VirtualCall(
        id=id_text(call_id),
        tool=tool if isinstance(tool, str) else "",
        arguments=arguments,
        truncated=cut and not is_json_object(arguments),
    )
