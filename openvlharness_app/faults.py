"""What is wrong with a configuration, said so that its author can mend it.

A rule raises `Unfit` about one value and knows no key. Whoever walks the tree adds the path, which makes it a `Misfit`.
The loader adds the line of the file, which makes it a `Fault`; all faults together are a `ConfigurationError`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import attrs

from openvlharness_core.errors import HarnessError
from openvlharness_core.texts import clean_text, excerpt

KeyPath = tuple[str | int, ...]
"""Where a value stands: keys of mappings, positions in lists."""

_USER_PART = re.compile(r"//[^/?#\s]*@")


@attrs.frozen(kw_only=True)
class Fault:
    """One wrong setting.

    Attributes:
        key: its dotted key, or the file when the whole of it is meant.
        expected: what would fit.
        got: what came; never the value of a secret, nor a text that came from the environment.
        line: line of the key in its file, from 1; `None` where there is no file.
        suggestion: the word that was probably meant.
        file: the file, where it is not the configuration itself but one that it names.
    """

    key: str
    expected: str
    got: str
    line: int | None = None
    suggestion: str | None = None
    file: str | None = None

    def __str__(self) -> str:
        hints = [] if self.line is None else [f"line {self.line}"]
        hints += [] if self.suggestion is None else [f"did you mean {self.suggestion}?"]
        place = f"{self.file}: {self.key}" if self.file else self.key
        return f"{place}: expected {self.expected}, got {self.got}" + (f" ({'; '.join(hints)})" if hints else "")


class ConfigurationError(HarnessError):
    """A configuration that cannot be used; the message has one line for each of `faults`."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[type[ConfigurationError], tuple[tuple[Fault, ...]]]:
        return (type(self), (self.faults,))


class Unfit(ValueError):
    """One value does not fit; its key is added by whoever walks the tree."""

    def __init__(self, expected: str, got: str, *, suggestion: str | None = None, line: int | None = None) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got
        self.suggestion = suggestion
        self.line = line


Misfit = tuple[KeyPath, Unfit]


class Filled(str):
    """A string leaf into which the environment was put. A fault shows its variables instead of their values.

    Attributes:
        names: the variables, in the order they stand.
        whole: nothing else stands in the leaf, so it is read as the type of its key.
    """

    __slots__ = ("names", "whole")

    names: tuple[str, ...]
    whole: bool

    def __new__(cls, text: str, *, names: tuple[str, ...], whole: bool) -> Self:
        filled = super().__new__(cls, text)
        filled.names = names
        filled.whole = whole
        return filled


def type_of(value: object) -> str:
    """The kind of a value in the words of YAML, without the value."""
    match value:
        case None:
            return "null"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
    return f"a value of type {'str' if isinstance(value, str) else type(value).__name__}"


def shown(value: object) -> str:
    """`value` as a fault may show it: on one line, bounded, without URL credentials and texts of the environment."""
    if isinstance(value, Filled):
        return f"the value of {' and '.join(f'${{{name}}}' for name in dict.fromkeys(value.names))}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**20 else "an integer of more than 20 digits"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return repr(excerpt(clean_text(_USER_PART.sub("//…@", value)), 60))
    return type_of(value)


def nearest(word: object, words: Iterable[str]) -> str | None:
    """The one of `words` that `word` was probably meant to be."""
    if not isinstance(word, str) or isinstance(word, Filled):
        return None
    by_folded = {candidate.lower().replace("-", "_"): candidate for candidate in sorted(words)}
    close = difflib.get_close_matches(word.lower().replace("-", "_")[:80], by_folded, n=1)
    return by_folded[close[0]] if close else None


def dotted(path: KeyPath, tree: object) -> str:
    """The key as people write it; an item of a list goes by its `name` where it has one, else by its position."""
    written = ""
    for part in path:
        tree = _child(tree, part)
        if isinstance(part, int):
            name = tree.get("name") if isinstance(tree, Mapping) else None
            written += f"[{name}]" if isinstance(name, str) and name.isidentifier() else f"[{part}]"
        else:
            written += ("." if written else "") + _printable(part)
    return written or "configuration"


def _printable(key: str) -> str:
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in excerpt(key, 80))


def _child(tree: object, part: str | int) -> object:
    if isinstance(part, int):
        return tree[part] if isinstance(tree, list) and part < len(tree) else None
    return tree.get(part) if isinstance(tree, Mapping) else None


def located(
    misfits: Iterable[Misfit], tree: object, lines: Mapping[KeyPath, int], file: str | None = None
) -> tuple[Fault, ...]:
    """The faults in the order of the file, the first one of each key; a missing key has the line of its section."""
    firsts: dict[KeyPath, Unfit] = {}
    for path, unfit in misfits:
        firsts.setdefault(path, unfit)
    faults = [
        Fault(
            key=dotted(path, tree),
            expected=unfit.expected,
            got=unfit.got,
            line=unfit.line if unfit.line is not None else _line_of(path, lines),
            suggestion=unfit.suggestion,
            file=file,
        )
        for path, unfit in firsts.items()
    ]
    return tuple(sorted(faults, key=lambda fault: (fault.line is None, fault.line or 0)))


def _line_of(path: Sequence[str | int], lines: Mapping[KeyPath, int]) -> int | None:
    known = (lines[tuple(path[:length])] for length in range(len(path), 0, -1) if tuple(path[:length]) in lines)
    return next(known, None)
