"""Dates, places and numbers that a sentence names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from openvlharness_adapters.models.planner.wording import (
    DETERMINERS,
    EMPTY,
    MONTHS_AND_DAYS,
    NUMBER_WORDS,
    PREPOSITIONS,
    Sentence,
    is_form,
    is_mark,
    words_of,
)

_YEAR = re.compile("1[0-9]{3}|20[0-9]{2}|[2-9][0-9]{2}")
_BEFORE_YEARS = words_of("in of since until from to by and between year , (") | MONTHS_AND_DAYS
_MOST_MODIFIERS = 1  # between a number and what it counts


def is_date(words: tuple[str, ...], at: int) -> bool:
    """Whether a word says when: a year, a month or a day of the week."""
    word = words[at]
    if word in MONTHS_AND_DAYS:
        return word not in ("may", "march") or (
            at > 0 and (words[at - 1].isdigit() or words[at - 1] in ("in", "on", "of"))
        )
    if not _YEAR.fullmatch(word):
        return word == "century"
    before = words[at - 1] if at else ""
    follows = words[at + 1] if at + 1 < len(words) else "."
    return before in _BEFORE_YEARS and (follows in EMPTY | PREPOSITIONS or is_mark(follows))


def is_new_place(sentence: Sentence, at: int, asked: frozenset[str]) -> bool:
    """Whether words that the question lacks stand at `at`, behind a preposition, and are neither a number nor a date."""
    words = sentence.words
    while at < len(words) and words[at] in DETERMINERS:
        at += 1
    if at == len(words) or is_mark(words[at]) or words[at][0].isdigit():
        return False
    return words[at] not in asked | EMPTY | MONTHS_AND_DAYS


def is_number(words: tuple[str, ...], at: int) -> bool:
    """Whether a word says how many or how much; a year does not."""
    if words[at] in NUMBER_WORDS:
        return True
    return words[at][0].isdigit() and not (at > 0 and _YEAR.fullmatch(words[at]) and words[at - 1] in ("in", "since"))


def counts_of(sentence: Sentence, counted: tuple[str, ...]) -> Iterator[int]:
    """Numbers of the things that are counted, right before them."""
    words = sentence.words
    for at in range(len(words)):
        if not is_number(words, at):
            continue
        for start in range(at + 1, min(len(words), at + 2 + _MOST_MODIFIERS)):
            between = words[at + 1 : start]
            if any(word in EMPTY | PREPOSITIONS or is_mark(word) for word in between):
                break
            found = words[start : start + len(counted)]
            if len(found) == len(counted) and all(map(is_form, counted, found)):
                yield at
