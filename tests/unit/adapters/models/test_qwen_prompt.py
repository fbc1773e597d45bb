"""The prompt that models of the Qwen-VL kind read, word for word as their own template writes it."""

from __future__ import annotations

from typing import Any

import pytest

from openvlharness_adapters.models.qwen_prompt import prompt_text

TOOL = {
    "type": "function",
    "function": {"name": "Zoom", "description": "Näher.", "parameters": {"type": "object", "properties": {}}},
}
PICTURE = {"type": "image_url", "image_url": {"url": "images/input_image_1.png"}}


def _call(arguments: str, name: str = "Zoom") -> dict[str, Any]:
    return {"id": "a", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_whole_conversation() -> None:
    messages = [
        {"role": "system", "content": "Look."},
        {"role": "user", "content": [{"type": "text", "text": "How many?"}, PICTURE, {"type": "text", "text": "Say."}]},
        {"role": "assistant", "content": "Closer.", "tool_calls": [_call('{"x":1,"y":"ü"}'), _call("{broken")]},
        {"role": "tool", "tool_call_id": "a", "content": "Done."},
        {"role": "tool", "tool_call_id": "b", "content": "Failed."},
        {"role": "user", "content": [PICTURE]},
        {"role": "assistant", "content": None, "tool_calls": [_call("{}")]},
        {"role": "tool", "tool_call_id": "a", "content": "Again."},
    ]
    assert prompt_text(messages, [TOOL]) == (
        "<|im_start|>system\nLook.\n\n# Tools\n\n"
        "You may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
        '{"type": "function", "function": {"name": "Zoom", "description": "Näher.", '
        '"parameters": {"type": "object", "properties": {}}}}\n</tools>\n\n'
        "For each function call, return a json object with function name and arguments within "
        '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n'
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\nHow many?<|vision_start|><|image_pad|><|vision_end|>Say.<|im_end|>\n"
        '<|im_start|>assistant\nCloser.\n<tool_call>\n{"name": "Zoom", "arguments": {"x": 1, "y": "ü"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "Zoom", "arguments": {broken}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nDone.\n</tool_response>\n<tool_response>\nFailed.\n</tool_response><|im_end|>\n"
        "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|><|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "Zoom", "arguments": {}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nAgain.\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_without_tools_and_without_a_system_prompt() -> None:
    asked = {"role": "user", "content": "Hi"}
    end = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert prompt_text([{"role": "system", "content": "S"}, asked], []) == f"<|im_start|>system\nS<|im_end|>\n{end}"
    assert prompt_text([asked], []) == end
    assert prompt_text([asked], [TOOL]).startswith("<|im_start|>system\n# Tools\n\n")


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"role": "developer", "content": "x"}, "message 0: expected the role"),
        ({"role": "user", "content": 3}, "message 0: expected text, parts or null"),
        ({"role": "user", "content": [{"type": "video"}]}, "message 0: expected parts of text and pictures"),
    ],
)
def test_what_the_template_has_no_words_for(message: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        prompt_text([message], [])
