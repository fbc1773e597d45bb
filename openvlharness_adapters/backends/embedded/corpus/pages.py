"""Visits documents of the local corpus as pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from urllib.parse import quote

import attrs

from openvlharness_adapters.backends.embedded.corpus import store
from openvlharness_adapters.backends.embedded.corpus.finding import best_sentence, passages_for
from openvlharness_adapters.backends.embedded.corpus.index import Corpus, Document, all_documents
from openvlharness_adapters.backends.embedded.corpus.terms import terms_of
from openvlharness_core.ports.offload import Offload
from openvlharness_core.results import Answered
from openvlharness_core.seeking import VisitedPage

NAME = "embedded_webpage_visit"
EVIDENCE_CHARACTERS = 6000
_SUMMARISED = 4
_BEGINNING = 400


@attrs.frozen(kw_only=True, eq=False)
class EmbeddedPages:
    """The `PageBackend` over local documents. A page is named by its address in the corpus or by its title.

    Attributes:
        corpus: where it looks.
        offload: where it is read.
    """

    corpus: Corpus
    offload: Offload

    async def visit(
        self, urls: Sequence[str], goal: str, *, timeout_seconds: float
    ) -> Answered[tuple[VisitedPage, ...]]:
        """See `PageBackend`. A visit takes milliseconds, so `timeout_seconds` is left to whoever waits.

        Raises:
            CapabilityUnavailableError: no corpus is configured.
            BackendUnavailableError: its index cannot be read.
        """
        asked = tuple(urls)
        return await self.offload.run(lambda: self._visit(asked, goal))

    def _visit(self, urls: tuple[str, ...], goal: str) -> Answered[tuple[VisitedPage, ...]]:
        with self.corpus.connected(NAME) as connection:
            known = list(all_documents(connection))
            pages = tuple(_visited(connection, known, url, goal) for url in urls)
        return Answered(value=pages, backend=NAME)


def _visited(connection: sqlite3.Connection, known: list[tuple[Document, int]], asked: str, goal: str) -> VisitedPage:
    if asked.strip().lower().startswith(("http://", "https://")):
        return VisitedPage(
            url=asked.strip(),
            ok=False,
            reason="the web cannot be reached from here, only the local corpus. Search it by words, then visit what it finds.",
        )
    found = _named(known, asked.strip())
    url = asked.strip() if asked.strip().lower().startswith("file://") else None
    if isinstance(found, str):
        return VisitedPage(url=url or store.URL_START + quote(asked.strip(), safe="/"), ok=False, reason=found)
    document, content = found
    return _read(connection, document, content, url or document.url, goal)


def _named(known: list[tuple[Document, int]], asked: str) -> tuple[Document, int] | str:
    """The document that an address or a title names, or why there is none."""
    place = store.place_of(asked)
    if place is not None:
        for entry in known:
            if store.place_of(entry[0].url) == place:
                return entry
        return "no document of the corpus has this address. Search by words, then visit an address that was found."
    if "://" in asked:
        return f"only addresses that start with {store.URL_START} can be visited here. Search by words to find them."
    title = asked.casefold()
    fitting = [entry for entry in known if title in (entry[0].title.casefold(), entry[0].source.casefold())]
    fitting = fitting or [entry for entry in known if title and entry[0].title.casefold().startswith(title)]
    contents = {content for _, content in fitting}
    if len(contents) == 1:
        return fitting[0]
    if contents:
        few = ", ".join(document.url for document, _ in fitting[:5])
        return f"{len(contents)} documents are called that; visit one by its address: {few}"
    return "no document of the corpus has this title. Search by words, then visit an address that was found."


def _read(connection: sqlite3.Connection, document: Document, content: int, url: str, goal: str) -> VisitedPage:
    passages = [
        text
        for (text,) in connection.execute(
            "SELECT text FROM passages WHERE document_id = ? ORDER BY ordinal", (content,)
        )
        if text.strip()
    ]
    if not passages:
        what = "a picture without a caption" if document.kind == "picture" else "an empty document"
        return VisitedPage(
            url=url, title=document.title, ok=False, reason=f"{what}: there is nothing to read. Look at another one."
        )
    terms = terms_of(goal)
    needed = 1 if len(terms.words) < 3 else max(1, terms.needed - 1)
    serving = passages_for(connection, terms, content, needed=needed)
    place = {text: number for number, text in enumerate(passages)}
    best = serving[:_SUMMARISED]
    kept: list[str] = []
    for passage in serving:
        if kept and sum(map(len, kept)) + len(passage.text) > EVIDENCE_CHARACTERS:
            break
        kept.append(passage.text)
    kept.sort(key=lambda text: place.get(text, 0))
    if not kept:
        beginning = passages[0][:_BEGINNING]
        summary = f"Nothing in it serves the goal. It begins: {beginning}"
    else:
        said = dict.fromkeys(best_sentence(passage.text, terms) for passage in best)
        summary = "\n".join(said)
    if document.note:
        summary = f"{summary}\n({document.note})"
    return VisitedPage(url=url, title=document.title, ok=True, evidence="\n\n…\n\n".join(kept), summary=summary)
