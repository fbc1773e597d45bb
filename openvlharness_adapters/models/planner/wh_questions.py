"""What a question for documents asks of a sentence: who did it, when, how many of what, and which phrases belong to it.

A question is cut at the words without meaning. Where its grammar allows several readings, as in `when did the ferry on the
Ane close`, all of them are given; a sentence that fits none of them says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import attrs

from openvlharness_adapters.models.planner.wording import (
    BE,
    DETERMINERS,
    EMPTY,
    as_done,
    cut,
    is_mark,
    is_participle,
    is_past,
)

Kind = Literal["who did", "who is", "when", "where", "why", "how many", "how much", "what", "topic"]

_AUXILIARIES = BE | frozenset(("did", "does", "do", "has", "have", "had", "can"))
MEASURES: dict[str, frozenset[str]] = {
    "long": frozenset(("long", "length", "measures", "measure", "measured")),
    "tall": frozenset(("tall", "high", "height")),
    "high": frozenset(("high", "tall", "height")),
    "deep": frozenset(("deep", "depth")),
    "wide": frozenset(("wide", "width", "broad")),
    "old": frozenset(("old", "age", "aged")),
    "heavy": frozenset(("heavy", "weight", "weighs", "weigh", "weighed")),
    "fast": frozenset(("fast", "speed")),
    "far": frozenset(("far", "away", "distance")),
    "large": frozenset(("large", "big", "area", "size", "covers", "hectares")),
    "big": frozenset(("large", "big", "area", "size", "covers", "hectares")),
}
"""What is asked after `how`, and the words one of which a sentence has that answers it."""


@attrs.frozen(kw_only=True)
class Phrase:
    """Words that belong together.

    Attributes:
        runs: its words in lower case, run by run; `of` or a genitive stands between runs.
        is_subject: whether it stands before the verb, or before what it is.
        is_open: whether a sentence may say more of it, since the question asks which one.
    """

    runs: tuple[tuple[str, ...], ...]
    is_subject: bool = False
    is_open: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in order."""
        return tuple(word for run in self.runs for word in run)


@attrs.frozen(kw_only=True)
class Reading:
    """One way to understand a question.

    Attributes:
        kind: what is asked.
        verb: what was done, in whatever form the question has it; `None` if nothing but `is` or `has`.
        phrases: who or what took part, where and when.
        counted: the words behind `how many`.
        measure: the word behind `how`.
        is_active: whether the subject does it, as with `did`.
        is_past: whether it is over; `None` if the question leaves that open.
    """

    kind: Kind
    verb: str | None = None
    phrases: tuple[Phrase, ...] = ()
    counted: tuple[str, ...] = ()
    measure: str | None = None
    is_active: bool = False
    is_past: bool | None = None


def readings_of(question: str) -> list[Reading]:
    """Every way to understand a question; a topic has one."""
    words = [word for word in cut(question).words if not is_mark(word) or word == "'"]
    for start, kind in _STARTS:
        if tuple(words[: len(start)]) == start:
            return list(_read(kind, words[len(start) :]))
    if words[:2] == ["how", "many"]:
        return list(_counting(words[2:]))
    if words[:1] == ["how"] and len(words) > 1 and words[1] in MEASURES | {"much": None}:
        return list(_read("how much", words[2:], measure=words[1]))
    if words[:1] == ["how"] or words[:1] == ["whose"]:
        return []
    if words[:1] in (["what"], ["which"]):
        return list(_what(words[1:]))
    return list(_topic(words))


_STARTS: tuple[tuple[tuple[str, ...], Kind], ...] = (
    (("by", "whom"), "who did"),
    (("who",), "who did"),
    (("whom",), "what"),
    (("in", "which", "year"), "when"),
    (("in", "what", "year"), "when"),
    (("which", "year"), "when"),
    (("what", "year"), "when"),
    (("when",), "when"),
    (("where",), "where"),
    (("why",), "why"),
)


def _topic(words: list[str]) -> Iterator[Reading]:
    """A topic as it is; `the opening of the bridge` is also that it was opened."""
    yield Reading(kind="topic", phrases=_phrases(words))
    at = next((at for at, word in enumerate(words) if as_done(word)), None)
    if at is not None and (rest := _phrases(words[at + 1 :])):
        subject = attrs.evolve(rest[0], is_subject=True)
        yield Reading(kind="topic", verb=as_done(words[at]), phrases=(*_phrases(words[:at]), subject, *rest[1:]))


def _read(kind: Kind, words: list[str], measure: str | None = None) -> Iterator[Reading]:
    if not words:
        return
    helper, rest = (words[0], words[1:]) if words[0] in _AUXILIARIES else (None, words)
    if helper is None:
        if kind == "who did":
            yield Reading(kind=kind, verb=rest[0], phrases=_phrases(rest[1:]), is_past=is_past(rest[0]))
        return
    past = None if helper in ("has", "have", "had", "can") else helper in ("did", "was", "were")
    is_active = helper in ("did", "does", "do", "has", "have", "had", "can")
    for at in _verbs(rest):
        if is_active or is_participle(rest[at]):
            subjects = _first_as_subject(rest[:at])
            if kind == "who did":
                yield Reading(kind=kind, verb=rest[at], phrases=(*subjects, *_phrases(rest[at + 1 :])), is_past=past)
            elif subjects:
                phrases = (*subjects, *_phrases(rest[at + 1 :]))
                reading = Reading(kind=kind, verb=rest[at], phrases=phrases, measure=measure)
                yield attrs.evolve(reading, is_active=is_active, is_past=past)
    if helper in BE or kind == "how much":
        kind = "who is" if kind == "who did" else kind
        yield Reading(kind=kind, phrases=_first_as_subject(rest), measure=measure)


def _counting(words: list[str]) -> Iterator[Reading]:
    end = next((at for at, word in enumerate(words) if word in EMPTY or word == "not"), len(words))
    run, rest = words[:end], words[end:]
    for size in range(1, len(run) + 1):
        counted, more = tuple(run[:size]), run[size:]
        if more or not rest:
            verb = more[0] if more else None
            yield Reading(kind="how many", counted=counted, verb=verb, phrases=_phrases([*more[1:], *rest]))
            continue
        if rest[0] in _AUXILIARIES:
            for reading in _read("what", rest):
                yield attrs.evolve(reading, kind="how many", counted=counted)
            if rest[0] not in BE:  # `does Tolm have`
                yield Reading(kind="how many", counted=counted, phrases=_first_as_subject(rest[1:]))
        else:
            yield Reading(kind="how many", counted=counted, phrases=_phrases(rest))


def _what(words: list[str]) -> Iterator[Reading]:
    end = next((at for at, word in enumerate(words) if word in EMPTY), len(words))
    asked, rest = words[:end], words[end:]
    if not asked:
        yield from _read("what", rest)
        return
    if rest and rest[0] in _AUXILIARIES:
        for reading in _read("what", rest):
            kind = Phrase(runs=(tuple(asked),), is_open=True)
            yield attrs.evolve(reading, phrases=(*reading.phrases, kind))
    if len(asked) > 1:
        kind = Phrase(runs=(tuple(asked[:-1]),), is_open=True, is_subject=True)
        yield Reading(
            kind="what", verb=asked[-1], phrases=(kind, *_phrases(rest)), is_active=True, is_past=is_past(asked[-1])
        )
    else:
        yield Reading(kind="what", verb=asked[0], phrases=_phrases(rest), is_past=is_past(asked[0]))


def _verbs(words: list[str]) -> Iterator[int]:
    """Places where the verb may stand: where a run of words ends."""
    for at, word in enumerate(words):
        follows = words[at + 1] if at + 1 < len(words) else None
        if word not in EMPTY and word != "'" and (follows is None or follows in EMPTY):
            yield at


def _first_as_subject(words: list[str]) -> tuple[Phrase, ...]:
    return tuple(attrs.evolve(phrase, is_subject=number == 0) for number, phrase in enumerate(_phrases(words)))


def _phrases(words: list[str]) -> tuple[Phrase, ...]:
    """Runs of words with a meaning; those with `of`, or a genitive, between them are one phrase."""
    phrases: list[list[list[str]]] = []
    linked = run_open = False
    for word in words:
        if word not in EMPTY and word not in ("'", "s"):
            if run_open:
                phrases[-1][-1].append(word)
            elif linked and phrases:
                phrases[-1].append([word])
            else:
                phrases.append([[word]])
            run_open, linked = True, False
            continue
        run_open = False
        if word in ("of", "'", "s"):
            linked = True
        elif word not in DETERMINERS:
            linked = False
    return tuple(Phrase(runs=tuple(tuple(run) for run in phrase)) for phrase in phrases)
