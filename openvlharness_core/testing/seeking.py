"""Fake search and page backends over a few documents held in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import attrs

from openvlharness_core.errors import UnsupportedQueryError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SearchItem, SearchResults, SearchType, VisitedPage


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


@attrs.define
class FakeTextSearch:
    """Finds the items that hold every word of the query; remembers what it was asked.

    Attributes:
        items: what there is.
        search_types: the types that it has.
    """

    items: tuple[SearchItem, ...] = ()
    search_types: tuple[SearchType, ...] = ("search",)
    queries: list[tuple[str, SearchType]] = attrs.field(factory=list, init=False)

    async def search(self, query: str, search_type: SearchType, *, timeout_seconds: float) -> Answered[SearchResults]:
        """The items with all words, in their order."""
        self.queries.append((query, search_type))
        if search_type not in self.search_types:
            wanted = ", ".join(self.search_types)
            raise UnsupportedQueryError("fake_text_search", f"search_type: expected {wanted}, got {search_type}")
        asked = _words(query)
        kept = tuple(item for item in self.items if asked and asked <= _words(f"{item.title} {item.snippet}"))
        return Answered(
            value=_results(kept, f"nothing holds all words of {query!r}; try fewer"), backend="fake_text_search"
        )


@attrs.define
class FakeImageSearch:
    """Knows pictures by their bytes; counts its calls.

    Attributes:
        known: digest of a picture to where it is known from.
    """

    known: Mapping[str, tuple[SearchItem, ...]] = attrs.field(factory=dict)
    calls: int = attrs.field(default=0, init=False)

    async def search(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[SearchResults]:
        """The items of that very picture."""
        self.calls += 1
        kept = self.known.get(image.digest, ())
        return Answered(value=_results(kept, "the picture is not known; try a crop"), backend="fake_image_search")


@attrs.define
class FakePages:
    """Serves pages from memory and picks the sentences that share a word with the goal; remembers what it was asked.

    Attributes:
        texts: URL to what the page says.
    """

    texts: Mapping[str, str] = attrs.field(factory=dict)
    visited: list[str] = attrs.field(factory=list, init=False)

    async def visit(
        self, urls: Sequence[str], goal: str, *, timeout_seconds: float
    ) -> Answered[tuple[VisitedPage, ...]]:
        """One page a URL; one that it does not have could not be read."""
        self.visited += urls
        return Answered(value=tuple(self._page(url, goal) for url in urls), backend="fake_pages")

    def _page(self, url: str, goal: str) -> VisitedPage:
        text = self.texts.get(url)
        if text is None:
            return VisitedPage(url=url, ok=False, reason="there is no such page; try another one")
        asked = _words(goal)
        serving = [sentence for sentence in re.split(r"(?<=[.!?])\s+", text) if asked & _words(sentence)]
        return VisitedPage(url=url, title=url, ok=True, evidence=" ".join(serving), summary=" ".join(serving[:1]))


def _results(kept: tuple[SearchItem, ...], reason: str) -> SearchResults:
    if not kept:
        return SearchResults(items=(), nothing_relevant=reason)
    lines = [f"{item.title} [{number}]" for number, item in enumerate(kept, 1)]
    return SearchResults(items=kept, summary="\n".join(lines))
