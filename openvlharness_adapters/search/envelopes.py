"""The JSON that an auxiliary model has to write, read strictly: what does not fit is refused with a reason. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs
import orjson

from openvlharness_core.seeking import SEARCH_TYPES, SearchType
from openvlharness_core.texts import clean_text, excerpt

MOST_SUGGESTIONS = 3
_FENCED = re.compile(r"\A\s*```(?:json|JSON)?[ \t]*\n(?P<inside>.*)\n[ \t]*```\s*\Z", re.DOTALL)
_CITED = re.compile(r"\[(\d{1,6}(?:\s*,\s*\d{1,6})*)\]")


class EnvelopeError(Exception):
    """A reply that is not the envelope that was asked for; the message says why. Caught by whoever asked."""


@attrs.frozen(kw_only=True)
class Suggestion:
    """A query that may do better."""

    query: str
    search_type: SearchType

    def __str__(self) -> str:
        return f'"{self.query}" ({self.search_type})'


@attrs.frozen(kw_only=True)
class Summary:
    """What a summariser kept.

    Attributes:
        kept: positions of results, from 0, the most useful first.
        text: the summary, citing them as [1], [2], … in that order; empty if none is kept.
        nothing_relevant: why none is kept; empty if some are.
        suggestions: queries that may do better.
    """

    kept: tuple[int, ...]
    text: str
    nothing_relevant: str
    suggestions: tuple[Suggestion, ...]


@attrs.frozen(kw_only=True)
class Extract:
    """What one part of a page says about a goal."""

    relevant: bool
    evidence: str
    summary: str


def summary_from_text(text: str, count: int) -> Summary:
    """Read a summary of `count` results, which the reply numbers from 1.

    A result that is cited but not kept is kept too, after the others.

    Raises:
        EnvelopeError: another shape, a number that no result has, or statements that cite nothing.
    """
    fields = _object(text, "kept", "summary", "nothing_relevant", "suggestions")
    kept = _numbers(fields["kept"], count)
    summary = _text(fields, "summary")
    reason = "" if fields["nothing_relevant"] is None else _text(fields, "nothing_relevant")
    suggestions = _suggestions(fields["suggestions"])
    if not kept:
        if not reason:
            raise EnvelopeError("nothing_relevant: expected a reason where nothing is kept, got none")
        return Summary(kept=(), text="", nothing_relevant=reason, suggestions=suggestions)
    cited = [int(number) for group in _CITED.findall(summary) for number in group.split(",")]
    if not cited:
        raise EnvelopeError("summary: expected statements that cite results, got none")
    if wrong := [number for number in cited if not 1 <= number <= count]:
        raise EnvelopeError(f"summary: expected citations from 1 to {count}, got [{wrong[0]}]")
    order = list(dict.fromkeys([*kept, *cited]))
    places = {number: place for place, number in enumerate(order, 1)}

    def renumbered(found: re.Match[str]) -> str:
        return "".join(f"[{places[int(number)]}]" for number in found[1].split(","))

    return Summary(
        kept=tuple(number - 1 for number in order),
        text=_CITED.sub(renumbered, summary),
        nothing_relevant="",
        suggestions=suggestions,
    )


def extract_from_text(text: str) -> Extract:
    """Read what one part of a page says. Raises EnvelopeError."""
    fields = _object(text, "relevant", "evidence", "summary")
    if not isinstance(fields["relevant"], bool):
        raise EnvelopeError(f"relevant: expected true or false, got {_kind(fields['relevant'])}")
    evidence, summary = _text(fields, "evidence"), _text(fields, "summary")
    if fields["relevant"] and not evidence:
        raise EnvelopeError("evidence: expected passages of a part that is relevant, got none")
    return Extract(relevant=fields["relevant"], evidence=evidence if fields["relevant"] else "", summary=summary)


def merged_from_text(text: str) -> str:
    """Read the summary of several parts. Raises EnvelopeError."""
    merged = _text(_object(text, "summary"), "summary")
    if not merged:
        raise EnvelopeError("summary: expected a text, got a blank")
    return merged


def _object(text: str, *keys: str) -> Mapping[str, Any]:
    """The whole reply, or the inside of the one fence around it, as an object with exactly these keys."""
    fence = _FENCED.match(text)
    body = fence["inside"] if fence else text
    try:
        fields = orjson.loads(clean_text(body))
    except ValueError:
        what = "a blank" if not text.strip() else f"{excerpt(text, 60)!r}"
        raise EnvelopeError(f"expected one JSON object, got {what}") from None
    if not isinstance(fields, dict):
        raise EnvelopeError(f"expected one JSON object, got {_kind(fields)}")
    if missing := [key for key in keys if key not in fields]:
        raise EnvelopeError(f"{missing[0]}: expected this key, got none")
    if extra := [key for key in fields if key not in keys]:
        raise EnvelopeError(f"expected the keys {', '.join(keys)}, got {excerpt(extra[0], 40)!r} as well")
    return fields


def _numbers(value: object, count: int) -> list[int]:
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        raise EnvelopeError(f"kept: expected a list of whole numbers, got {_kind(value)}")
    if wrong := [number for number in value if not 1 <= number <= count]:
        raise EnvelopeError(f"kept: expected numbers from 1 to {count}, got {wrong[0]}")
    if len(set(value)) != len(value):
        raise EnvelopeError("kept: expected each number once, got one twice")
    return value


def _text(fields: Mapping[str, Any], key: str) -> str:
    if not isinstance(fields[key], str):
        raise EnvelopeError(f"{key}: expected a text, got {_kind(fields[key])}")
    return clean_text(fields[key]).strip()


def _suggestions(value: object) -> tuple[Suggestion, ...]:
    """Those with a search type that exists; models like to invent one."""
    if not isinstance(value, list):
        raise EnvelopeError(f"suggestions: expected a list, got {_kind(value)}")
    made = []
    for entry in value:
        query, kind = (entry.get("query"), entry.get("search_type")) if isinstance(entry, dict) else (None, None)
        if not isinstance(query, str) or not isinstance(kind, str):
            raise EnvelopeError("suggestions: expected objects with a query and a search_type, got something else")
        if query.strip() and kind in SEARCH_TYPES:
            made.append(Suggestion(query=excerpt(clean_text(query), 200), search_type=kind))
    return tuple(dict.fromkeys(made))[:MOST_SUGGESTIONS]


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__
