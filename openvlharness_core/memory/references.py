"""From what a model writes to the name that is meant, or a fault that lists the nearest names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from openvlharness_core.errors import ToolFailure
from openvlharness_core.texts import excerpt

_EXTENSION = re.compile(r"\.[a-z0-9]{1,5}$")
_STRAY = "\"'`<>[]() \t\r\n"
_NEAREST = 5


def plain_reference(alias: str) -> str:
    """`alias` without stray quotes, spaces, brackets and a file extension, in lower case."""
    bare = alias.strip(_STRAY).casefold()
    return _EXTENSION.sub("", bare).strip(_STRAY)


def unknown_reference(kind: str, alias: str, known: Iterable[str]) -> ToolFailure:
    """The failure for a name that memory does not have; `known` are the names it has, oldest first."""
    names = list(known)
    nearest = difflib.get_close_matches(plain_reference(alias), names, n=_NEAREST, cutoff=0.5) or names[-_NEAREST:]
    rest = len(names) - len(nearest)
    listed = ", ".join(nearest) + (f" and {rest} more" if rest else "") if names else "none"
    return ToolFailure(
        "unknown_reference", f"there is no {kind} called {excerpt(repr(alias), 80)}; known ones: {listed}"
    )
