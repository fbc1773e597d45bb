"""Lines of a text that are for some selections of tools only: what a model is not offered, it is not told about.

A line that begins with `[with ocr, zoom] ` stays, without that beginning, if one of these capabilities is selected, and
one with `[without ocr] ` if none of them is; `tools` stands for any capability. Blank lines that nothing separates any
more become one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from openvlharness_app.backends import PERCEPTION_AND_SEEKING
from openvlharness_app.faults import nearest

CAPABILITIES: frozenset[str] = frozenset((*PERCEPTION_AND_SEEKING, "coding"))
ANY_TOOL = "tools"
_CONDITION = re.compile(r"\[(?P<sense>with|without) (?P<names>[^\]$]*)\] ?")


def composed(text: str, tools: Collection[str]) -> str:
    """The text as a model reads it that is offered the capabilities `tools`."""
    kept: list[str] = []
    for line in text.splitlines():
        condition = _CONDITION.match(line)
        if condition is None:
            kept.append(line)
        elif _holds(condition, tools):
            kept.append(line[condition.end() :])
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")


def condition_faults(text: str) -> Iterator[str]:
    """Names in conditions that no capability has, each with its line in the text."""
    known = (*sorted(CAPABILITIES), ANY_TOOL)
    for number, line in enumerate(text.splitlines(), 1):
        condition = _CONDITION.match(line)
        for name in () if condition is None else _names(condition):
            if name not in known:
                near = nearest(name, known)
                hint = f" (did you mean {near}?)" if near else ""
                yield f"line {number}: expected capabilities or {ANY_TOOL} in a condition, got {name!r}{hint}"


def _names(condition: re.Match[str]) -> list[str]:
    return [name.strip() for name in condition["names"].split(",")]


def _holds(condition: re.Match[str], tools: Collection[str]) -> bool:
    found = any(bool(tools) if name == ANY_TOOL else name in tools for name in _names(condition))
    return found == (condition["sense"] == "with")
