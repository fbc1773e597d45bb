"""What searches and visits bring back: complete, typed, and either something or a reason."""

from __future__ import annotations

from typing import Any

import pytest

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.seeking import SearchItem, SearchResults, VisitedPage

URL = "https://example.com/a"


def test_what_fits() -> None:
    item = SearchItem(title="A", url="HTTPS://Example.com/a", details=(("date", "today"),), thumbnail=b"x")
    assert SearchResults(items=(item,), note="no summary").items == (item,)
    assert SearchResults(items=(), nothing_relevant="nothing fits; try cups").items == ()
    assert SearchItem(title="A").url is None
    assert VisitedPage(url="file:///docs/a.html", ok=True).evidence == ""
    assert VisitedPage(url=URL, ok=False, reason="gone; try another").reason


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        (SearchItem, {"title": " \n"}, "items.title"),
        (SearchItem, {"title": None}, "items.title"),
        (SearchItem, {"title": "A", "url": "example.com"}, "items.url"),
        (SearchItem, {"title": "A", "url": "javascript:alert(1)"}, "items.url"),
        (SearchItem, {"title": "A", "url": ""}, "items.url"),
        (SearchItem, {"title": "A", "url": 7}, "items.url"),
        (SearchItem, {"title": "A", "thumbnail_url": "data:image/png;base64,xx"}, "items.thumbnail_url"),
        (SearchItem, {"title": "A", "thumbnail": "text"}, "items.thumbnail"),
        (SearchItem, {"title": "A", "snippet": None}, "items.snippet"),
        (SearchItem, {"title": "A", "source": ["x"]}, "items.source"),
        (SearchItem, {"title": "A", "details": {"date": "today"}}, "items.details"),
        (SearchItem, {"title": "A", "details": (("date",),)}, "items.details"),
        (SearchItem, {"title": "A", "details": (("date", 3),)}, "items.details"),
        (SearchResults, {"items": ()}, "nothing_relevant"),
        (SearchResults, {"items": (), "nothing_relevant": " "}, "nothing_relevant"),
        (SearchResults, {"items": (SearchItem(title="A"),), "nothing_relevant": "x"}, "nothing_relevant"),
        (SearchResults, {"items": None}, "items"),
        (SearchResults, {"items": ("A",)}, "items"),
        (SearchResults, {"items": (), "nothing_relevant": None}, "results.nothing_relevant"),
        (SearchResults, {"items": (SearchItem(title="A"),), "summary": None}, "results.summary"),
        (SearchResults, {"items": (SearchItem(title="A"),), "note": 1}, "results.note"),
        (VisitedPage, {"url": URL, "ok": True, "reason": "x"}, "pages.reason"),
        (VisitedPage, {"url": URL, "ok": False}, "pages.reason"),
        (VisitedPage, {"url": URL, "ok": False, "reason": " "}, "pages.reason"),
        (VisitedPage, {"url": URL, "ok": 1}, "pages.ok"),
        (VisitedPage, {"url": None, "ok": True}, "pages.url"),
        (VisitedPage, {"url": "a.html", "ok": True}, "pages.url"),
        (VisitedPage, {"url": URL, "ok": True, "evidence": None}, "pages.evidence"),
        (VisitedPage, {"url": URL, "ok": True, "title": 3}, "pages.title"),
    ],
    ids=lambda value: f"{value!r:.60}",
)
def test_what_does_not_fit_is_named(kind: Any, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(MalformedResultError) as raised:
        kind(**fields)
    assert raised.value.field == field
