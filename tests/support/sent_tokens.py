"""Counts the tokens of a body that was sent, from its JSON alone: nothing here knows the counter or the engine.

The rule: every text with the tokenizer; 5 a message; a picture's sides, read from its PNG header, fitted to patches, one
token each, and 2 a picture; the offered tools as `json.dumps` writes them.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from functools import lru_cache
from math import isqrt
from typing import Any

from tokenizers import Tokenizer


def chat_tokens(body: dict[str, Any], tokenizer: Tokenizer, patch: int, pixels: tuple[int, int]) -> int:
    """Tokens of a Chat Completions body."""
    total = _tools(body, tokenizer)
    for message in body["messages"]:
        total += 5
        for call in message.get("tool_calls", []):
            total += _call(call["function"]["name"], call["function"]["arguments"], tokenizer)
        total += sum(_tokens(text, tokenizer) for text in _texts(message["content"]))
        total += sum(2 + _picture(url, patch, pixels) for url in _pictures(message["content"]))
    return total


def responses_tokens(body: dict[str, Any], tokenizer: Tokenizer, patch: int, pixels: tuple[int, int]) -> int:
    """Tokens of a Responses body; every item is a message, and so are the instructions."""
    total = _tools(body, tokenizer)
    if body.get("instructions"):
        total += 5 + _tokens(body["instructions"], tokenizer)
    for item in body["input"]:
        total += 5
        if item.get("type") == "function_call":
            total += _call(item["name"], item["arguments"], tokenizer)
        content = item.get("output") if item.get("type") == "function_call_output" else item.get("content")
        total += sum(_tokens(text, tokenizer) for text in _texts(content))
        total += sum(2 + _picture(url, patch, pixels) for url in _pictures(content))
    return total


def patches_of(size_hw: tuple[int, int], patch: int, pixels: tuple[int, int]) -> tuple[int, int] | None:
    """Rows and columns of patches, in whole numbers alone; `None` where a root comes out even, which floats may miss."""
    (height, width), (least, most), square = size_hw, pixels, patch**2
    rows, columns = (_nearest(side, patch) for side in size_hw)
    if least <= rows * columns * square <= most:
        return rows, columns
    limit = most if rows * columns * square > most else least
    pairs = ((height * limit, width * square), (width * limit, height * square))
    if any(isqrt(a // b) ** 2 * b == a for a, b in pairs):
        return None
    rows, columns = (max(1, isqrt(a // b)) if limit == most else isqrt(a // b) + 1 for a, b in pairs)
    return rows, columns


def _nearest(side: int, patch: int) -> int:
    whole, rest = divmod(side, patch)
    return whole + (2 * rest > patch or (2 * rest == patch and whole % 2 == 1))


def _tools(body: dict[str, Any], tokenizer: Tokenizer) -> int:
    return _tokens(json.dumps(body["tools"]), tokenizer) if "tools" in body else 0


@lru_cache(maxsize=4096)
def _tokens(text: str, tokenizer: Tokenizer) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


def _call(name: str, arguments: str, tokenizer: Tokenizer) -> int:
    # The form in which templates show a call to the model.
    return _tokens('<tool_call>\n{"name": "' + name + '", "arguments": ' + arguments + "}\n</tool_call>", tokenizer)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else []:
        if "text" in part:
            yield part["text"]


def _pictures(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else []:
        if "image_url" in part:
            yield part["image_url"] if isinstance(part["image_url"], str) else part["image_url"]["url"]


def _picture(url: str, patch: int, pixels: tuple[int, int]) -> int:
    head = base64.b64decode(url.partition("data:image/png;base64,")[2][:40])
    width, height = struct.unpack(">II", head[16:24])
    patches = patches_of((height, width), patch, pixels)
    assert patches is not None, "choose another size: the root comes out even"
    return patches[0] * patches[1]
