"""Search by words on the web: ten raw results, reranked and summarised."""

from __future__ import annotations

import attrs

from openvlharness_adapters.search.items import (
    MOST_ITEMS,
    direct_answer,
    items_from_wire,
    related_queries,
)
from openvlharness_adapters.search.remaining import Remaining
from openvlharness_adapters.search.serper import SerperClient
from openvlharness_adapters.search.summaries import Summariser, better_queries
from openvlharness_adapters.search.thumbnails import Thumbnails
from openvlharness_core.errors import MalformedResultError, UnsupportedQueryError
from openvlharness_core.ports.clock import Clock
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SEARCH_TYPES, SearchResults, SearchType
from openvlharness_core.texts import clean_text

NAME = "serper_text_search"
MOST_QUERY_CHARACTERS = 2000
"""What the search engine takes is a little more."""


@attrs.frozen(kw_only=True)
class SerperTextSearch:
    """The `TextSearchBackend` over Serper.

    Attributes:
        serper: asks the service.
        summariser: reranks and summarises.
        thumbnails: fetches pictures for `images`; of other kinds of results only their address is told.
        clock: shares the time of a call out.
    """

    serper: SerperClient
    summariser: Summariser
    thumbnails: Thumbnails
    clock: Clock

    async def search(self, query: str, search_type: SearchType, *, timeout_seconds: float) -> Answered[SearchResults]:
        """See `TextSearchBackend`.

        Raises:
            UnsupportedQueryError: no such search type.
            BackendTimeoutError: the service did not answer in time.
            BackendUnavailableError: the service gave no usable answer, retries included.
            MalformedResultError: an answer of another shape.
        """
        if search_type not in SEARCH_TYPES:
            expected = ", ".join(SEARCH_TYPES)
            raise UnsupportedQueryError(NAME, f"search_type: expected one of {expected}, got {search_type!r:.40}")
        left = Remaining.of(self.clock, timeout_seconds)
        asked = " ".join(clean_text(query).replace("\0", " ").split())
        if problem := _unaskable(asked):
            return Answered(value=SearchResults(items=(), nothing_relevant=problem), backend=NAME)
        reply = await self.serper.ask(
            search_type, {"q": asked, "num": MOST_ITEMS}, backend=NAME, timeout_seconds=left.seconds()
        )
        try:
            items = items_from_wire(search_type, reply.payload)
        except MalformedResultError as wrong:
            raise MalformedResultError(wrong.field, wrong.expected, usage=reply.usage) from None
        answer = direct_answer(reply.payload) if search_type == "search" else None
        items = (*((answer,) if answer else ()), *items)[:MOST_ITEMS]
        if not items:
            reason = "The search engine found nothing for it. Fewer words, other words or another search type may help."
            better = better_queries(related_queries(reply.payload))
            results = SearchResults(items=(), nothing_relevant=" ".join(filter(None, (reason, better))))
            return Answered(value=results, backend=NAME, usage=reply.usage)
        summarised = await self.summariser.of_query(asked, search_type, items, timeout_seconds=left.seconds(0.9))
        results = summarised.results
        if search_type == "images" and results.items:
            with_pictures = await self.thumbnails.added(results.items, timeout_seconds=left.seconds(0.9))
            results = attrs.evolve(results, items=with_pictures)
        sidecars = {
            "raw": [{"title": item.title, "url": item.url} for item in items],
            "kept": [position + 1 for position in summarised.kept],
            "summary_problem": summarised.problem or None,
        }
        return Answered(value=results, backend=NAME, sidecars=sidecars, usage=(*reply.usage, *summarised.usage))


def _unaskable(query: str) -> str:
    if not query:
        return "The query is blank. Name what is looked for: a name, a place, a term."
    if len(query) > MOST_QUERY_CHARACTERS:
        return f"The query has {len(query)} characters, more than the {MOST_QUERY_CHARACTERS} that can be searched for. Ask in a few words."
    return ""
