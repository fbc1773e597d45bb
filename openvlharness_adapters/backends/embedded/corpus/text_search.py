"""Search by words in the local corpus."""

from __future__ import annotations

import sqlite3

import attrs

from openvlharness_adapters.backends.embedded.corpus.finding import Passage, Wanted, best_sentence, passages_for
from openvlharness_adapters.backends.embedded.corpus.index import Corpus, document_of
from openvlharness_adapters.backends.embedded.corpus.terms import Terms, terms_of
from openvlharness_core.errors import UnsupportedQueryError
from openvlharness_core.ports.offload import Offload
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SearchItem, SearchResults, SearchType

NAME = "embedded_text_search"
MOST_ITEMS = 10
SNIPPET_CHARACTERS = 600
_SUMMARISED = 5
EXTRACTIVE = "The summary is made of sentences of the documents themselves."


@attrs.frozen(kw_only=True, eq=False)
class EmbeddedTextSearch:
    """The `TextSearchBackend` over local documents; `images` finds pictures by file name and caption.

    Attributes:
        corpus: where it looks.
        offload: where it is searched.
    """

    corpus: Corpus
    offload: Offload

    async def search(self, query: str, search_type: SearchType, *, timeout_seconds: float) -> Answered[SearchResults]:
        """See `TextSearchBackend`. A search takes milliseconds, so `timeout_seconds` is left to whoever waits.

        Raises:
            UnsupportedQueryError: another search type than `search` and `images`.
            CapabilityUnavailableError: no corpus is configured.
            BackendUnavailableError: its index cannot be read.
        """
        if search_type not in ("search", "images"):
            raise UnsupportedQueryError(
                NAME, f"search_type: expected search or images, which local documents have, got {search_type}"
            )
        return await self.offload.run(lambda: self._search(query, search_type))

    def _search(self, query: str, search_type: SearchType) -> Answered[SearchResults]:
        terms = terms_of(query)
        with self.corpus.connected(NAME) as connection:
            wanted: Wanted = "pictures" if search_type == "images" else "documents"
            best = _best_of_each(passages_for(connection, terms, wanted))[:MOST_ITEMS]
            items = tuple(_item(connection, passage, terms, search_type) for passage in best)
        sidecars = {"terms": list(terms.words), "needed": terms.needed, "matched": [p.matched for p in best]}
        if not items:
            results = SearchResults(items=(), nothing_relevant=_nothing(terms, search_type))
        else:
            results = SearchResults(items=items, summary=_summary(best, items, terms, search_type), note=EXTRACTIVE)
        return Answered(value=results, backend=NAME, sidecars=sidecars)


def _best_of_each(passages: list[Passage]) -> list[Passage]:
    """The first passage of every document, in order."""
    first: dict[int, Passage] = {}
    for passage in passages:
        first.setdefault(passage.document, passage)
    return list(first.values())


def _item(connection: sqlite3.Connection, passage: Passage, terms: Terms, search_type: SearchType) -> SearchItem:
    document = document_of(connection, passage.document)
    details = [("terms found", f"{passage.matched} of {len(terms.words)}")]
    thumbnail = None
    if search_type == "images":
        height, width, thumbnail = connection.execute(
            "SELECT height, width, thumbnail FROM pictures WHERE document_id = ?", (passage.document,)
        ).fetchone()
        details.append(("size", f"{width}x{height}"))
    copies = connection.execute("SELECT count(*) FROM documents WHERE same_as = ?", (passage.document,)).fetchone()[0]
    if copies:
        details.append(("copies", str(copies)))
    if document.note:
        details.append(("note", document.note))
    return SearchItem(
        title=document.title,
        url=document.url,
        source=document.source,
        snippet=_around(passage.text, terms),
        thumbnail=thumbnail,
        details=tuple(details),
    )


def _around(text: str, terms: Terms) -> str:
    """The passage, cut so that its best sentence stays."""
    flat = " ".join(text.split())
    if len(flat) <= SNIPPET_CHARACTERS:
        return flat
    at = max(0, flat.find(best_sentence(text, terms).rstrip("…")))
    start = max(0, min(at - 60, len(flat) - SNIPPET_CHARACTERS))
    cut = flat[start : start + SNIPPET_CHARACTERS]
    return ("…" if start else "") + cut + ("…" if start + SNIPPET_CHARACTERS < len(flat) else "")


def _summary(best: list[Passage], items: tuple[SearchItem, ...], terms: Terms, search_type: SearchType) -> str:
    lines = []
    for number, (passage, item) in enumerate(zip(best[:_SUMMARISED], items, strict=False), 1):
        said = best_sentence(passage.text, terms) if passage.text.strip() else ""
        said = said or (f"a picture called {item.title}" if search_type == "images" else item.title)
        lines.append(f"{said.rstrip()} [{number}]")
    return "\n".join(dict.fromkeys(lines))


def _nothing(terms: Terms, search_type: SearchType) -> str:
    what = "captions and file names of the local pictures" if search_type == "images" else "local documents"
    if not terms.words:
        return f"The query holds no word to look for in the {what}. Name the thing itself: a name, a place, a term."
    words = ", ".join(terms.words)
    if terms.as_phrase:
        return f"The {what} do not hold the phrase “{words}”. Add a word that tells more."
    return (
        f"No passage of the {what} holds {terms.needed} of these {len(terms.words)} words: {words}. "
        "Only this collection is searched, not the web. A better query: fewer words, the exact names, another spelling or "
        "a synonym, in the language of the documents."
    )
