"""Where phrases stand in a sentence, and in which clause: what is said of them, and what only stands near them."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from openvlharness_adapters.models.planner.wh_questions import Phrase
from openvlharness_adapters.models.planner.wording import (
    BE,
    DETERMINERS,
    EMPTY,
    PREPOSITIONS,
    QUOTES,
    Sentence,
    is_form,
    is_mark,
    is_name,
    is_past,
    words_of,
)

Span = tuple[int, int]
"""A phrase's first word, and the word behind its last."""

_LINKS = DETERMINERS | {"of", "'", "s", "-"}
_BREAKS = frozenset(";:.()") | words_of("who whose whom while whereas but because although which")
_RELATIVE = frozenset(("who", "which"))  # right behind a phrase they stand for it
_JOINS = words_of(", and or when where after before until")
_NEAR = 12  # words behind a verb in which it still says when, where and by whom


@attrs.frozen(kw_only=True)
class Context:
    """What a sentence stands in.

    Attributes:
        title: the words of the page's title, in lower case, those with a meaning.
        is_about_title: whether `It` at the sentence's start stands for the title.
        asked: the words of the question.
    """

    title: tuple[str, ...]
    is_about_title: bool
    asked: frozenset[str]


def spans_of(sentence: Sentence, phrase: Phrase, context: Context, verb: int | None) -> Iterator[Span]:
    """Where a phrase stands, as it is or by what stands for it."""
    words = sentence.words
    turned = Phrase(runs=phrase.runs[::-1]) if len(phrase.runs) == 2 else phrase
    for order in dict.fromkeys((phrase.words, turned.words)):
        for span in _found(words, order):
            if _is_whole(sentence, span, verb, is_open=phrase.is_open):
                yield span
    title = context.title
    if set(phrase.words) == set(title):
        if words[0] == "it" and context.is_about_title:
            yield (0, 1)
        by_its_kind = len(title) > 1 and words[:2] in (("the", title[-1]), ("this", title[-1]))
        if by_its_kind and _is_whole(sentence, (1, 2), verb):
            yield (1, 2)
    for at in range(1, len(phrase.runs)):  # `the director of the museum`, on the page about the museum
        whose = [word for run in phrase.runs[at:] for word in run]
        if set(whose) == set(context.title):
            head = tuple(word for run in phrase.runs[:at] for word in run)
            for start, end in _found(words, head):
                is_its = start > 0 and (words[start - 1] == "the" or (words[start - 1] == "its" and start == 1))
                known = words[start - 1] != "its" or context.is_about_title
                if is_its and known and words[end : end + 1] != ("of",) and _is_whole(sentence, (start, end), verb):
                    yield (start, end)


def _found(words: tuple[str, ...], wanted: tuple[str, ...]) -> Iterator[Span]:
    """Where these words stand in this order, with nothing but links between them."""
    for start, first in enumerate(words):
        if not wanted or not is_form(wanted[0], first):
            continue
        at, end = 1, start + 1
        while at < len(wanted):
            step = end
            while step < len(words) and words[step] in _LINKS | QUOTES and not is_form(wanted[at], words[step]):
                step += 1
            if step == len(words) or not is_form(wanted[at], words[step]):
                break
            at, end = at + 1, step + 1
        else:
            yield start, end


def _is_whole(sentence: Sentence, span: Span, verb: int | None, *, is_open: bool = False) -> bool:
    """Whether what stands there is no part of a longer phrase: `Kestrel bridge` is one of `Kestrel bridge committee`."""
    words, (start, end) = sentence.words, span
    before = start - 1
    while before >= 0 and words[before] in QUOTES - {"'"}:
        before -= 1
    left = before < 0 or before == verb or is_open or words[before] in EMPTY | PREPOSITIONS
    left = left or is_mark(words[before]) or words[before][0].isdigit() or words[before].endswith("ly")
    if not left and not (
        sentence.written[start][0].isupper() and words[before].islower() and not is_name(sentence.written[before])
    ):
        return False
    if end == len(words):
        return True
    if words[end] == "'" or is_name(sentence.written[end]):
        return False
    return words[end] != "of" or before == verb


def is_subject(sentence: Sentence, span: Span, anchor: int) -> bool:
    """Whether a phrase is what the verb at `anchor` is said of: before it, in the same clause, and behind no preposition."""
    words, (start, end) = sentence.words, span
    if end > anchor:
        return False
    before = start - 1
    while before >= 0 and (words[before] in DETERMINERS or words[before] in QUOTES):
        before -= 1
    if before >= 0 and words[before] in PREPOSITIONS:
        return False
    between = words[end:anchor]
    if between and not is_mark(between[0]) and between[0] not in EMPTY | PREPOSITIONS and not _only_adverbs(between):
        return _is_verb(between) and not has_break(sentence, end, anchor)
    return not has_break(sentence, end, anchor)


def _only_adverbs(words: tuple[str, ...]) -> bool:
    return all(word.endswith("ly") or word in EMPTY | {"also", "first", "finally", "later", "again"} for word in words)


def _is_verb(words: tuple[str, ...]) -> bool:
    """Whether these words begin with a verb, as far as its ending tells; what stands before `was` is none."""
    return (words[0].endswith("s") or is_past(words[0]) is True) and not BE & set(words[1:2])


def has_break(sentence: Sentence, start: int, end: int) -> bool:
    """Whether another clause, with a subject of its own, begins between two places."""
    words = sentence.words
    if words[start:end][:1] == (",",) and sentence.words[start + 1] in DETERMINERS and "," in words[start + 1 : end]:
        start = words.index(",", start + 1) + 1  # `Ida Moll, the granddaughter of Jon Moll, opened`
    for at in range(start, end):
        if words[at] in _BREAKS and not (words[at] in _RELATIVE and at <= start + 1):
            return True
        if words[at] in _JOINS and at + 1 < end:
            follows = sentence.written[at + 1]
            if follows.casefold() in DETERMINERS | {"he", "she", "they"} or (is_name(follows) and words[at] != ","):
                return True
    return False


def clause_end(words: tuple[str, ...], start: int) -> int:
    """Where the clause that goes on at `start` ends, or where it has gone on long enough."""
    ends = _BREAKS | {"and", "when", "where", "after", "before", "until", "which", "since"}
    near = range(start, min(len(words), start + _NEAR))
    return next((at for at in near if words[at] in ends and at > start), near.stop)


def be_behind(sentence: Sentence, span: Span) -> Iterator[int]:
    """Forms of `be` that are said of a phrase."""
    for at in range(span[1], len(sentence.words)):
        if sentence.words[at] in BE and is_subject(sentence, span, at):
            yield at
            return


def said_of(words: tuple[str, ...], verb: int) -> list[int]:
    """Where a sentence says when, where and by whom its verb was done: behind it, or at its own beginning."""
    first = range(min(verb, 4)) if words[0] in PREPOSITIONS else range(0)
    return [*range(verb + 1, clause_end(words, verb + 1)), *first]
