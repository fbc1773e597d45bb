"""What searches and page visits bring back."""

from __future__ import annotations

from typing import Literal, get_args

import attrs

from openvlharness_core.errors import MalformedResultError

SearchType = Literal["search", "images", "news", "scholar", "maps", "places", "shopping", "patents"]
SEARCH_TYPES: tuple[SearchType, ...] = get_args(SearchType)


def _http(url: str | None, place: str) -> None:
    if url is not None and not url.lower().startswith(("http://", "https://", "file://")):
        raise MalformedResultError(place, f"an http(s) or file URL, got {url[:80]!r}")


@attrs.frozen(kw_only=True)
class SearchItem:
    """One thing that was found and kept.

    Attributes:
        title: its title, not empty.
        url: the page it stands on; `None` when there is none.
        source: site or publisher.
        snippet: some words of it, bounded by the backend.
        thumbnail: encoded bytes of a small picture, if the backend brought one.
        thumbnail_url: where a picture of it is.
        details: further fields worth showing, such as date, price or address.
    """

    title: str
    url: str | None = None
    source: str = ""
    snippet: str = ""
    thumbnail: bytes | None = attrs.field(default=None, repr=False)
    thumbnail_url: str | None = None
    details: tuple[tuple[str, str], ...] = ()

    def __attrs_post_init__(self) -> None:
        if not self.title.strip():
            raise MalformedResultError("items.title", "a text, got a blank")
        _http(self.url, "items.url")
        _http(self.thumbnail_url, "items.thumbnail_url")


@attrs.frozen(kw_only=True)
class SearchResults:
    """What a search kept, best first.

    Attributes:
        items: kept items; empty when nothing is relevant.
        summary: what they say together, citing them as [1], [2], …; empty when nobody summarised.
        nothing_relevant: why nothing was kept and which queries may do better; empty when something was.
        note: what has to be said with it, such as that no summary could be made.
    """

    items: tuple[SearchItem, ...]
    summary: str = ""
    nothing_relevant: str = ""
    note: str = ""

    def __attrs_post_init__(self) -> None:
        if bool(self.items) == bool(self.nothing_relevant):
            raise MalformedResultError("nothing_relevant", "a reason exactly when there are no items")


@attrs.frozen(kw_only=True)
class VisitedPage:
    """One page that was visited for a goal.

    Attributes:
        url: its address.
        title: its title, if it has one.
        ok: whether it could be read.
        evidence: passages that serve the goal; empty when it could not be read or has none.
        summary: what they say.
        reason: why it could not be read, and what to try; empty when it could.
    """

    url: str
    title: str = ""
    ok: bool
    evidence: str = ""
    summary: str = ""
    reason: str = ""

    def __attrs_post_init__(self) -> None:
        _http(self.url, "pages.url")
        if self.ok == bool(self.reason):
            raise MalformedResultError("pages.reason", "a reason exactly when the page could not be read")
