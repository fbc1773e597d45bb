"""Finding the final answer in what a model says.

The last complete `<answer>…</answer>` wins; an unclosed one at the end counts only when there is no complete one. Tags
inside code fences or inside reasoning are talk about tags. Call markup that a server left in the text is no answer.
"""

from __future__ import annotations

import re
from typing import Literal

import attrs

AnswerPolicy = Literal["answer_tag", "answer_tag_or_text"]

_TOKENS = re.compile(
    r"(?P<fence>^[ ]{0,3}(?:```|~~~))|(?P<think><think(?:ing)?>)|(?P<open><answer>)", re.IGNORECASE | re.MULTILINE
)
_BEGIN_OF_THINKING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_END_OF_THINKING = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_INNER = re.compile(r"</?answer>", re.IGNORECASE)
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.IGNORECASE | re.DOTALL)
_CALL_MARKUP = re.compile(
    r"<tool_call>.*?(?:</tool_call>|\Z)"
    r"|<function_call>.*?(?:</function_call>|\Z)"
    r"|<function=[^>]*>.*?(?:</function>|\Z)"
    r"|<\|tool_calls?_(?:section_)?begin\|>.*?(?:<\|tool_calls?_(?:section_)?end\|>|\Z)"
    r"|\[TOOL_CALLS\].*\Z",
    re.IGNORECASE | re.DOTALL,
)


@attrs.frozen(kw_only=True)
class Tags:
    """Contents of answer tags, stripped: the last complete one, and one left open at the end."""

    complete: str | None = None
    unclosed: str | None = None


def find_tags(text: str) -> Tags:
    """Walk through `text` once, past fences and reasoning, and note the answer tags."""
    complete: str | None = None
    unclosed: str | None = None
    position = _after_reasoning(text)
    while found := _TOKENS.search(text, position):
        if found["fence"]:
            mark = found["fence"].strip()
            closing = re.compile(rf"^[ ]{{0,3}}{re.escape(mark)}", re.MULTILINE).search(text, found.end())
            position = closing.end() if closing else len(text)
        elif found["think"]:
            closing = _END_OF_THINKING.search(text, found.end())
            position = closing.end() if closing else len(text)
        else:
            start, closing = found.end(), _INNER.search(text, found.end())
            while closing and closing[0][1] != "/":  # opened again before it was closed: the inner one counts
                start, closing = closing.end(), _INNER.search(text, closing.end())
            if closing is None:
                unclosed = text[start:].strip()
                break
            complete = text[start : closing.start()].strip()
            position = closing.end()
    return Tags(complete=complete, unclosed=unclosed)


def _after_reasoning(text: str) -> int:
    """Where reasoning ends whose opening tag was part of the prompt, so that only the closing one came; else 0."""
    closing = _END_OF_THINKING.search(text)
    return closing.end() if closing and not _BEGIN_OF_THINKING.search(text, 0, closing.start()) else 0


def tagged_answer(text: str | None) -> str | None:
    """The answer of a complete tag that is not empty."""
    return (find_tags(text).complete or None) if text else None


def final_answer(text: str | None, policy: AnswerPolicy) -> str | None:
    """The answer that `text` holds under `policy`; `None` when it holds none."""
    if not text:
        return None
    text = _CALL_MARKUP.sub("", text)
    tags = find_tags(text)
    if tags.complete is not None:
        return tags.complete or None
    if tags.unclosed:
        return tags.unclosed
    if policy == "answer_tag":
        return None
    said = _THINKING.sub("", text[_after_reasoning(text) :])
    return _INNER.sub("", said).strip() or None
