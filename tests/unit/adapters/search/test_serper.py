"""The client of the search service: what it sends, what it makes of replies, and what its failures say."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterable
from typing import Any

import pytest

from openvlharness_adapters.search.items import items_from_wire
from openvlharness_core.errors import BackendTimeoutError, BackendUnavailableError, MalformedResultError
from openvlharness_core.seeking import SEARCH_TYPES
from openvlharness_core.testing.time import FakeClock
from openvlharness_core.usage import Spent, credits_in
from tests.support.serper_server import KEY, SHAPES, Says, refuses
from tests.unit.adapters.search.stage import staged, until


def _credits(usage: Iterable[Spent]) -> list[float | None]:
    return [credits_in(spent) for spent in usage]


@pytest.mark.parametrize("endpoint", [*SEARCH_TYPES, "lens", "scrape"])
async def test_every_endpoint_is_asked_with_the_key_and_tells_its_credits(endpoint: Any) -> None:
    async with staged() as stage:
        reply = await stage.serper().ask(endpoint, {"q": "a\ud83d b"}, backend="b", timeout_seconds=9.0)
    (asked,) = stage.server.asked
    assert asked.path == f"/{endpoint}"
    assert asked.headers["x-api-key"] == KEY
    assert asked.json == {"q": "a� b"}
    assert _credits(reply.usage) == [SHAPES[f"/{endpoint}"]["credits"]]


async def test_what_passes_is_tried_again_and_credits_of_useless_replies_are_counted() -> None:
    async with staged() as stage:
        stage.server.replies["/scrape"] = [Says(503), {"text": " ", "credits": 2}, {"text": "x", "credits": 2}]
        reply = await stage.serper().ask(
            "scrape", {"url": "u"}, backend="b", timeout_seconds=9.0, usable=lambda payload: payload["text"].strip()
        )
    assert reply.payload["text"] == "x"
    assert _credits(reply.usage) == [2, 2]
    assert len(stage.waits) == 2


@pytest.mark.parametrize(
    ("says", "attempts", "words"),
    [
        (refuses(400, "Not enough credits"), 1, "400 Bad Request: Not enough credits"),
        (refuses(403, "Unauthorized."), 1, "SERPER_API_KEY is not accepted"),
        (refuses(429, "Slow down"), 3, r"429 Too Many Requests \(3 attempts\): key \[hidden\] Slow down"),
        (refuses(429, "Slow down", **{"Retry-After": "198300"}), 1, "asks to wait 198300 s"),
        (Says(200, b"<html>busy</html>"), 1, "expected a JSON object, got something else"),
        (Says(200, b"[1]"), 1, "expected a JSON object"),
        (Says(200, b""), 1, "got nothing"),
        (Says(200, b"{}", {"Content-Encoding": "br"}), 1, "packed otherwise"),
        (Says(302, b"", {"Location": "http://127.0.0.1:1/"}), 1, "redirect, which is not followed"),
    ],
)
async def test_failures_say_what_happened_and_never_the_key(says: Says, attempts: int, words: str) -> None:
    async with staged() as stage:
        said = Says(says.status, says.body.replace(b"Slow", b"key " + KEY.encode() + b" Slow"), says.headers)
        stage.server.replies["/search"] = lambda _: said
        with pytest.raises(BackendUnavailableError, match=words) as failure:
            await stage.serper().ask("search", {"q": "x"}, backend="serper_text_search", timeout_seconds=9.0)
    assert len(stage.server.asked) == attempts
    assert KEY not in "".join(traceback.format_exception(failure.value))
    assert KEY not in "".join(stage.waits)
    assert KEY not in repr(stage.serper())


async def test_an_answer_that_never_comes_ends_the_call_with_what_was_spent() -> None:
    async with staged() as stage:
        clock = FakeClock()
        stage.server.replies["/scrape"] = [{"text": "", "credits": 2}, Says(late=asyncio.Event().wait)]
        asking = asyncio.ensure_future(
            stage.serper(clock=clock).ask(
                "scrape", {}, backend="b", timeout_seconds=15.0, usable=lambda payload: bool(payload["text"])
            )
        )
        await until(lambda: len(stage.server.asked) == 2)
        await clock.advance(15.1)
        with pytest.raises(BackendTimeoutError, match="serper scrape: no answer within 15 s") as failure:
            await asking
    assert _credits(failure.value.usage) == [2]


@pytest.mark.parametrize("key", ["", " ", f"{KEY}\n", f"{KEY}\x00", "ключ", f" {KEY}"])
async def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str) -> None:
    async with staged() as stage:
        with pytest.raises(ValueError, match="key: expected printable ASCII") as failure:
            stage.serper(key=key)
    assert KEY not in str(failure.value)


@pytest.mark.parametrize(
    ("kind", "count", "source", "details"),
    [
        ("search", 10, "town.example", {"date": "Mar 1 2021"}),
        ("images", 10, "Town gallery", {"image": "https://img.example/1.jpg"}),
        ("news", 3, "Velm Herald", {"date": "2 weeks ago"}),
        ("scholar", 2, "A Vell - Journal of Arches, 1931", {"year": "1931", "cited by": "17", "pdf": "https://journal.example/1.pdf"}),
        ("maps", 2, "Coffee shop", {"address": "1 Quay", "phone": "+1 555 1", "rating": "4.5", "ratings": "88", "latitude": "40.7504178", "longitude": "-73.9824837"}),
        ("places", 2, "Inn", {"address": "1 Market", "rating": "0.5", "ratings": "3"}),
        ("shopping", 2, "Toy shop", {"price": "$104.97", "delivery": "Free shipping", "rating": "4.2", "ratings": "11"}),
        ("patents", 2, "Velm Works", {"number": "US1B2", "inventor": "A. Vell", "priority date": "1930-01-02", "grant date": "1931-02-03"}),
        ("lens", 4, "Gallery", {}),
    ],
)  # fmt: skip
def test_rows_of_every_kind_become_items(kind: str, count: int, source: str, details: dict[str, str]) -> None:
    items = items_from_wire(kind, SHAPES[f"/{kind}"])
    assert len(items) == count
    assert items[0].source == source
    assert dict(items[0].details) == details
    assert items[0].url == (
        None if kind == "places" else SHAPES[f"/{kind}"][_rows_of(kind)][0].get("link") or "https://cafe.example/1"
    )


def _rows_of(kind: str) -> str:
    return next(name for name, value in SHAPES[f"/{kind}"].items() if isinstance(value, list))


@pytest.mark.parametrize("rows", ["x", {"a": 1}, ["x"], [None], 3])
def test_rows_that_are_none_are_refused(rows: object) -> None:
    with pytest.raises(MalformedResultError, match=r"serper\.organic: expected a list of objects"):
        items_from_wire("search", {"organic": rows})


def test_odd_rows_do_not_break_the_others() -> None:
    rows = [
        {"title": None, "link": "javascript:alert(1)"},
        {"title": "", "link": "https://a.example/x"},
        {"title": "b\ud800", "link": "ftp://x", "snippet": ["no"], "date": True},
        {"title": "c" * 999, "link": "https://[bad", "snippet": "s" * 5000},
        {"title": "d", "link": 5, "source": 7},
    ]
    items = items_from_wire("search", {"organic": rows})
    assert [item.title[:20] for item in items] == ["https://a.example/x", "b�", "c" * 20, "d"]
    assert [item.url for item in items] == ["https://a.example/x", None, None, None]
    assert len(items[2].snippet) == 600
    assert items[3].source == "7"


@pytest.mark.parametrize("payload", [{}, {"organic": None}, {"organic": []}])
def test_no_rows_are_no_items(payload: dict[str, Any]) -> None:
    assert items_from_wire("search", payload) == ()
