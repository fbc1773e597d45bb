"""The objectives that the planner gives to the coding tool and that `TemplateCodeGenerator` understands.

They are plain sentences, since that is what the tool takes, from a small closed set:

    Add up the numbers 3.5, 4, 7 and print the sum.
    Find the largest of all numbers in ocr_result["text"] and print it.
    Average the last number on lines 2, 3, 5 of ocr_result["text"] and print the average.
    Count the lines of ocr_result["text"] and ocr_result_2["text"] and print the count.
"""

from __future__ import annotations

import re
from typing import Literal

import attrs

Operation = Literal["sum", "average", "largest", "smallest", "difference", "count"]
Kind = Literal["numbers", "lines", "words"]

_SENTENCES: dict[Operation, tuple[str, str]] = {
    "sum": ("Add up ", " and print the sum."),
    "average": ("Average ", " and print the average."),
    "largest": ("Find the largest of ", " and print it."),
    "smallest": ("Find the smallest of ", " and print it."),
    "difference": ("Subtract the second from the first of ", " and print the difference."),
    "count": ("Count ", " and print the count."),
}
_OF_ALL = {"numbers": "all numbers in ", "lines": "the lines of ", "words": "the words of "}
_LAST = "the last number on "
_VALUES = "the numbers "
_FIELD = re.compile(r'(?:lines (?P<lines>\d+(?:, \d+)*) of )?(?P<name>[^\W\d]\w*)\["text"\]')

UNDERSTOOD = (
    "add up, average, find the largest or smallest of, subtract or count: 'the numbers A, B', "
    "'all numbers in NAME[\"text\"]', 'the last number on lines 1, 2 of NAME[\"text\"]', "
    "'the lines of NAME[\"text\"]' or 'the words of NAME[\"text\"]', and print the result"
)


@attrs.frozen(kw_only=True)
class Source:
    """The text of one binding: all of it, or the last number on each of some lines, counted from 1."""

    binding: str
    lines: tuple[int, ...] | None = None


@attrs.frozen(kw_only=True)
class Objective:
    """What to compute, from values as they were printed or from texts; one of the two is empty."""

    operation: Operation
    kind: Kind = "numbers"
    values: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def bindings(self) -> tuple[str, ...]:
        """Everything it reads."""
        return tuple(source.binding for source in self.sources)

    @property
    def sentence(self) -> str:
        """The objective in plain language; `parse_objective` reads it back."""
        before, after = _SENTENCES[self.operation]
        if self.values:
            return f"{before}{_VALUES}{', '.join(self.values)}{after}"
        of_lines = any(source.lines is not None for source in self.sources)
        texts = " and ".join(
            (f"lines {', '.join(map(str, source.lines))} of " if source.lines is not None else "")
            + f'{source.binding}["text"]'
            for source in self.sources
        )
        return f"{before}{_LAST if of_lines else _OF_ALL[self.kind]}{texts}{after}"


def parse_objective(sentence: str) -> Objective:
    """The objective that a sentence states; spaces and a missing full stop are forgiven, nothing else.

    Raises:
        ValueError: a sentence outside the set.
    """
    sentence = " ".join(sentence.split()).removesuffix(".") + "."
    for operation, (before, after) in _SENTENCES.items():
        if sentence.startswith(before) and sentence.endswith(after):
            found = _operand(operation, sentence[len(before) : -len(after)])
            if found is not None:
                return found
    raise ValueError(f"expected one of: {UNDERSTOOD}")


def _operand(operation: Operation, words: str) -> Objective | None:
    if words.startswith(_VALUES):
        values = tuple(value for value in re.split(r",? and |, |; ?", words.removeprefix(_VALUES)) if value)
        fits = len(values) == 2 if operation == "difference" else bool(values)
        return Objective(operation=operation, values=values) if fits else None
    if words.startswith(_LAST):
        sources = _sources(words.removeprefix(_LAST), with_lines=True)
        return Objective(operation=operation, sources=sources) if sources else None
    kinds: tuple[Kind, ...] = ("numbers", "lines", "words")
    for kind in kinds:
        if words.startswith(_OF_ALL[kind]) and (kind == "numbers" or operation == "count"):
            sources = _sources(words.removeprefix(_OF_ALL[kind]), with_lines=False)
            return Objective(operation=operation, kind=kind, sources=sources) if sources else None
    return None


def _sources(words: str, *, with_lines: bool) -> tuple[Source, ...]:
    found = [_FIELD.fullmatch(word) for word in words.split(" and ")]
    sources = []
    for match in found:
        if match is None or (match["lines"] is not None) != with_lines:
            return ()
        lines = tuple(int(line) for line in match["lines"].split(", ")) if with_lines else None
        sources.append(Source(binding=match["name"], lines=lines))
    return tuple(sources)
