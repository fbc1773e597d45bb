"""Which passages a query's terms lead to, and which of their sentences say most."""

from __future__ import annotations

import re
import sqlite3
from typing import Literal

import attrs

from openvlharness_adapters.backends.embedded.corpus.reading import sentences_of
from openvlharness_adapters.backends.embedded.corpus.terms import Terms, laid_out

TITLE_WEIGHT = 4.0
_MOST_PASSAGES = 200

Wanted = Literal["documents", "pictures"]


@attrs.frozen(kw_only=True)
class Passage:
    """A passage that has enough of the terms.

    Attributes:
        document: the number of its document.
        text: what it says.
        matched: how many of the terms it has, its title included.
        rank: higher is better.
    """

    document: int
    text: str
    matched: int
    rank: float


def passages_for(
    connection: sqlite3.Connection, terms: Terms, wanted: Wanted | int, *, needed: int | None = None
) -> list[Passage]:
    """Passages with at least `needed` of the terms (half of them, if left out), best first.

    Args:
        connection: the index.
        terms: of a query.
        wanted: passages of documents, of pictures, or of the one document with that number.
        needed: how many terms a passage must have.
    """
    count = len(terms.expressions)
    if not count:
        return []
    if isinstance(wanted, int):
        condition, extra = "document_id = ?", [wanted]
    else:
        condition, extra = f"kind {'=' if wanted == 'pictures' else '<>'} 'picture'", []
    each = " UNION ALL ".join(["SELECT rowid AS id FROM passage_terms WHERE passage_terms MATCH ?"] * count)
    rows = connection.execute(
        f"WITH enough AS (SELECT id, count(*) AS matched FROM ({each}) GROUP BY id HAVING count(*) >= ?) "  # noqa: S608
        "SELECT document_id, text, matched, "
        f"-bm25(passage_terms, {TITLE_WEIGHT}, 1.0) * (1.0 * matched / {count}) AS rank FROM passage_terms "
        "JOIN enough ON enough.id = passage_terms.rowid JOIN passages ON passages.id = enough.id "
        "JOIN documents ON documents.id = document_id "
        f"WHERE passage_terms MATCH ? AND {condition} ORDER BY matched DESC, rank DESC, passages.id LIMIT {_MOST_PASSAGES}",
        [*terms.expressions, needed or terms.needed, " OR ".join(terms.expressions), *extra],
    ).fetchall()
    return [Passage(document=row[0], text=row[1], matched=row[2], rank=row[3]) for row in rows]


def best_sentence(text: str, terms: Terms, most_characters: int = 300) -> str:
    """The sentence with most of the terms, the first of several; cut where it is long."""
    sentences = sentences_of(text) or [" ".join(text.split())]
    stems = [_stem(word) for word in terms.words]
    found = max(sentences, key=lambda sentence: _hits(sentence, stems))
    return found if len(found) <= most_characters else found[: most_characters - 1].rstrip() + "…"


def _hits(sentence: str, stems: list[str]) -> int:
    words = " " + " ".join(re.findall(r"[^\W_]+", laid_out(sentence)))
    return sum(f" {stem}" in words for stem in stems)


def _stem(word: str) -> str:
    """A start that most forms of a word share; only sentences are chosen by it."""
    return word if len(word) < 5 else word[: max(4, len(word) - 3)]
