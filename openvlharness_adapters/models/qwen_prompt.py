"""A conversation as the text that models of the Qwen-VL kind read.

This is what their own chat template makes of the messages and tools of a Chat Completions request, up to the place where
the assistant begins to write. Each picture is one placeholder; how many tokens it becomes is the image processor's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

_PICTURE = "<|vision_start|><|image_pad|><|vision_end|>"
_TOOLS_HEAD = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_TAIL = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n'
    "</tool_call>"
)

Wire = Mapping[str, object]


def prompt_text(messages: Sequence[Wire], tools: Sequence[Wire]) -> str:
    """The prompt of a request.

    Args:
        messages: wire messages of Chat Completions, in order.
        tools: its `tools`, empty when none are offered.

    Raises:
        ValueError: a message that the template has no words for, naming its place.
    """
    messages = list(messages)
    system = messages.pop(0) if messages and messages[0].get("role") == "system" else None
    return "".join((*_opening(system, tools), *_turns(messages), "<|im_start|>assistant\n"))


def _opening(system: Wire | None, tools: Sequence[Wire]) -> Iterator[str]:
    if tools:
        yield "<|im_start|>system\n"
        if system is not None:
            yield _content(system, "messages[0]") + "\n\n"
        yield _TOOLS_HEAD
        for tool in tools:
            yield "\n" + json.dumps(tool, ensure_ascii=False)
        yield f"{_TOOLS_TAIL}<|im_end|>\n"
    elif system is not None:
        yield f"<|im_start|>system\n{_content(system, 'messages[0]')}<|im_end|>\n"


def _turns(messages: Sequence[Wire]) -> Iterator[str]:
    for position, message in enumerate(messages):
        place = f"message {position}"
        match message.get("role"):
            case "user" | "system" as role:
                yield f"<|im_start|>{role}\n{_content(message, place)}<|im_end|>\n"
            case "assistant":
                yield f"<|im_start|>assistant\n{_content(message, place)}{_calls(message)}<|im_end|>\n"
            case "tool":
                first = position == 0 or messages[position - 1].get("role") != "tool"
                last = position == len(messages) - 1 or messages[position + 1].get("role") != "tool"
                yield "<|im_start|>user" if first else ""
                yield f"\n<tool_response>\n{_content(message, place)}\n</tool_response>"
                yield "<|im_end|>\n" if last else ""
            case other:
                raise ValueError(f"{place}: expected the role system, user, assistant or tool, got {other!r}")


def _content(message: Wire, place: str) -> str:
    content = message.get("content")
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ValueError(f"{place}: expected text, parts or null as content, got {type(content).__name__}")
    return "".join(_part(part, place) for part in content)


def _part(part: object, place: str) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image" | "image_url"}:
            return _PICTURE
    raise ValueError(f"{place}: expected parts of text and pictures, got another")


def _calls(message: Wire) -> str:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return ""
    written = [_call(call) for call in calls]
    return ("\n" if message.get("content") else "") + "\n".join(written)


def _call(call: Mapping[str, Mapping[str, object]]) -> str:
    function = call["function"]
    written = _arguments(str(function["arguments"]))
    return f'<tool_call>\n{{"name": "{function["name"]}", "arguments": {written}}}\n</tool_call>'


def _arguments(text: str) -> str:
    """Servers read the arguments and have the template write them; what they cannot read they leave as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
