"""Finding the final answer in what a model says.

The last complete `<answer>…</answer>` wins; an unclosed one at the end counts only when there is no complete one. Tags
inside code fences or inside reasoning are talk about tags. Call markup that a server left in the text is no answer,
wherever it stands; and what is said beside it outside a tag announces the call, so it is none either.

One walk reads the text from left to right, so that what opens first decides: a fence inside reasoning is reasoning, and
a tag of reasoning inside a fence is code. What the walk did not pass over is what was said.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

import attrs

AnswerPolicy = Literal["answer_tag", "answer_tag_or_text"]

_CALLS = (
    (r"<tool_call>", r"</tool_call>"),
    (r"<function_call>", r"</function_call>"),
    (r"<function=[^<>\n]{0,200}>", r"</function>"),
    (r"<\|tool_calls?_(?:section_)?begin\|>", r"<\|tool_calls?_(?:section_)?end\|>"),
    (r"\[TOOL_CALLS\]", r"\Z"),
)
"""How servers write calls into text: where one begins and where it ends. One that never ends goes to the end."""


def _fence(sign: str, name: str) -> str:
    """Three signs or more at the start of a line, behind at most three spaces; they are looked back at."""
    starts = "|".join(f"(?<=^{' ' * spaces}{sign})" for spaces in range(4))
    return f"{sign}(?:{starts}){sign}{{2,}}(?P<{name}>)"


# Every alternative begins with a sign that has no letter case, and is named where it ends: only then does the matcher
# leap from one such sign to the next instead of trying all of them at every letter, which is twenty times slower.
_TOKENS = re.compile(
    "|".join(
        (
            _fence("`", "ticks"),
            _fence("~", "tildes"),
            "<think(?:ing)?>(?P<think>)",
            "<answer>(?P<open>)",
            *(f"{begin}(?P<call{number}>)" for number, (begin, _) in enumerate(_CALLS)),
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)
_ENDS = tuple(re.compile(rf"{end}|\Z", re.IGNORECASE) for _, end in _CALLS)
_CALL_MARKUP = re.compile("|".join(rf"{begin}.*?(?:{end}|\Z)" for begin, end in _CALLS), re.IGNORECASE | re.DOTALL)
_BEGIN_OF_THINKING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_END_OF_THINKING = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_INNER = re.compile(r"</?answer>", re.IGNORECASE)


@attrs.frozen(kw_only=True)
class Tags:
    """What a walk through a text found.

    Attributes:
        complete: content of the last complete answer tag, stripped.
        unclosed: content of one left open at the end, stripped.
        said: the text without reasoning, call markup and the tags themselves, stripped.
        calls: whether call markup stands outside the tags.
    """

    complete: str | None = None
    unclosed: str | None = None
    said: str = ""
    calls: bool = False


def find_tags(text: str) -> Tags:
    """Walk through `text` once, past fences, reasoning and call markup, and note the answer tags."""
    complete: str | None = None
    unclosed: str | None = None
    said: list[str] = []
    calls = False
    position = _after_reasoning(text)
    while found := _TOKENS.search(text, position):
        said.append(text[position : found.start()])
        kind = found.lastgroup
        assert kind is not None, "every token has a name"
        if kind in ("ticks", "tildes"):
            position = _after_fence(text, found)
            said.append(text[found.start() : position])
        elif kind == "think":
            closing = _END_OF_THINKING.search(text, found.end())
            position = closing.end() if closing else len(text)
        elif kind == "open":
            start, closing = found.end(), _INNER.search(text, found.end())
            while closing and closing[0][1] != "/":  # opened again before it was closed: the inner one counts
                start, closing = closing.end(), _INNER.search(text, closing.end())
            if closing is None and text[start - len("<answer>") - 1 : start + 1] == "`<answer>`":
                said.append("<answer>")  # a word about the tag, in code
                position = start
                continue
            if closing is None:
                unclosed = _without_calls(text[start:])
                position = len(text)
                break
            complete = _without_calls(text[start : closing.start()])
            said.append(complete)
            position = closing.end()
        else:
            closing = _ENDS[int(kind.removeprefix("call"))].search(text, found.end())
            assert closing is not None, "every end may be the end of the text"
            position, calls = closing.end(), True
    said.append(text[position:])
    return Tags(complete=complete, unclosed=unclosed, said=_INNER.sub("", "".join(said)).strip(), calls=calls)


def _after_fence(text: str, opening: re.Match[str]) -> int:
    """Where the fence ends that `opening` begins: behind a mark at least as long at the start of a line, or nowhere."""
    mark = opening[0]
    line_end = text.find("\n", opening.end())
    line_end = len(text) if line_end < 0 else line_end
    if mark[0] == "`" and (same_line := text.rfind("`", opening.end(), line_end)) >= 0:
        return same_line + 1  # backticks on one line enclose code in a sentence; no fence begins with them
    found = _end_of_fence(mark[0], len(mark)).search(text, line_end)
    return found.end() if found else len(text)


@functools.lru_cache(maxsize=16)
def _end_of_fence(sign: str, length: int) -> re.Pattern[str]:
    return re.compile(f"\n[ ]{{0,3}}{sign}{{{length},}}")


def _after_reasoning(text: str) -> int:
    """Where reasoning ends whose opening tag was part of the prompt, so that only the closing one came; else 0."""
    closing = _END_OF_THINKING.search(text)
    return closing.end() if closing and not _BEGIN_OF_THINKING.search(text, 0, closing.start()) else 0


def _without_calls(content: str) -> str:
    return _CALL_MARKUP.sub("", content).strip()


def tagged_answer(text: str | None) -> str | None:
    """The answer of a complete tag that is not empty."""
    return (find_tags(text).complete or None) if text else None


def final_answer(text: str | None, policy: AnswerPolicy) -> str | None:
    """The answer that `text` holds under `policy`; `None` when it holds none."""
    if not text:
        return None
    tags = find_tags(text)
    if tags.complete is not None:
        return tags.complete or None
    if tags.unclosed:
        return tags.unclosed
    return (tags.said or None) if policy == "answer_tag_or_text" and not tags.calls else None
