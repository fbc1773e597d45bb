"""What searches and page visits bring back."""

from __future__ import annotations

from typing import Literal, get_args

import attrs

from openvlharness_core.errors import MalformedResultError

SearchType = Literal["search", "images", "news", "scholar", "maps", "places", "shopping", "patents"]
SEARCH_TYPES: tuple[SearchType, ...] = get_args(SearchType)


def _http(url: object, place: str) -> None:
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://", "file://")):
        raise MalformedResultError(place, f"an http(s) or file URL, got {url!r:.80}")


def _texts(value: object, place: str, *names: str) -> None:
    for name in names:
        text = getattr(value, name)
        if not isinstance(text, str):
            raise MalformedResultError(f"{place}.{name}", f"a text, got {type(text).__name__}")


def _list_of(kind: type, values: object, place: str) -> None:
    if not isinstance(values, tuple | list) or not all(isinstance(value, kind) for value in values):
        raise MalformedResultError(place, f"a tuple of {kind.__name__}, got {values!r:.80}")


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
        _texts(self, "items", "title", "source", "snippet")
        if not self.title.strip():
            raise MalformedResultError("items.title", "a text, got a blank")
        for name in ("url", "thumbnail_url"):
            if getattr(self, name) is not None:
                _http(getattr(self, name), f"items.{name}")
        if not isinstance(self.thumbnail, bytes | None):
            raise MalformedResultError("items.thumbnail", f"bytes or null, got {type(self.thumbnail).__name__}")
        _list_of(tuple, self.details, "items.details")
        for pair in self.details:
            if [type(text) for text in pair] != [str, str]:
                raise MalformedResultError("items.details", f"(name, value) in texts, got {pair!r:.80}")


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
        _list_of(SearchItem, self.items, "items")
        _texts(self, "results", "summary", "nothing_relevant", "note")
        if bool(self.items) == bool(self.nothing_relevant.strip()):
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
        _texts(self, "pages", "title", "evidence", "summary", "reason")
        if type(self.ok) is not bool:
            raise MalformedResultError("pages.ok", f"true or false, got {self.ok!r:.40}")
        if self.ok == bool(self.reason.strip()):
            raise MalformedResultError("pages.reason", "a reason exactly when the page could not be read")
