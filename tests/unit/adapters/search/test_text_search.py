"""Text search: what becomes of good summaries, of bad ones and of none, and that a search never fails for want of one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.search.envelopes import EnvelopeError, summary_from_text
from openvlharness_core.errors import BackendUnavailableError, ModelUnavailableError, UnsupportedQueryError
from openvlharness_core.ports.auxiliary import Written
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SearchResults
from openvlharness_core.testing.images import fake_image
from openvlharness_core.testing.time import FakeClock, settle
from openvlharness_core.usage import Spent, credits_in
from tests.support.serper_server import SHAPES, Says
from tests.unit.adapters.search.stage import envelope, staged, until


async def _searched(text: Any, search_type: Any = "search", **replies: Any) -> Answered[SearchResults]:
    async with staged([text]) as stage:
        stage.server.replies.update({f"/{name}": reply for name, reply in replies.items()})
        answered = await stage.text_search().search("kestrel bridge", search_type, timeout_seconds=30.0)
        stage.auxiliary.assert_spent()
        return answered


def _titles(answered: Answered[SearchResults]) -> list[str]:
    return [item.title for item in answered.value.items]


async def test_kept_results_come_in_the_summarisers_order_and_are_cited_by_it() -> None:
    answered = await _searched(envelope([7, 2], "Nine arches [2]. By Vell [7][2]. Both [2, 7]."))
    assert _titles(answered) == ["Bridge page 7", "Bridge page 2"]
    assert answered.value.summary == "Nine arches [2]. By Vell [1][2]. Both [2][1]."
    assert answered.value.note == ""
    assert [credits_in(spent) for spent in answered.usage] == [1, None]
    assert answered.usage[1].role == "auxiliary"
    assert answered.sidecars["kept"] == [7, 2]
    assert len(answered.sidecars["raw"]) == 10  # type: ignore[arg-type]


async def test_what_is_cited_is_kept() -> None:
    answered = await _searched(envelope([7], "Nine arches [2]. By Vell [7]."))
    assert _titles(answered) == ["Bridge page 7", "Bridge page 2"]
    assert answered.value.summary == "Nine arches [2]. By Vell [1]."


async def test_the_summariser_reads_ten_results_with_numbers_and_the_types_that_exist() -> None:
    async with staged([envelope([1])]) as stage:
        await stage.text_search().search(" kestrel\n bridge\0", "search", timeout_seconds=30.0)
    assert stage.server.asked[0].json == {"q": "kestrel bridge", "num": 10}
    (prompt,) = stage.auxiliary.prompts
    assert "[1] Bridge page 1 — town.example | date: Mar 1 2021 | Arch number 1." in prompt
    assert "[10] Bridge page 10" in prompt
    assert "[11]" not in prompt
    assert "search, images, news, scholar, maps, places, shopping, patents" in prompt


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "  ```json\n{}\n```  \n"])
async def test_one_fence_around_the_reply_is_taken_off(fence: str) -> None:
    answered = await _searched(fence.replace("{}", envelope([3])))
    assert _titles(answered) == ["Bridge page 3"]


_SPENT = Spent(role="auxiliary", model="m", usage={"completion_tokens": 5})
BAD = {
    "cut": Written(text=envelope([1]), spent=_SPENT, cut=True),
    "half an object": envelope([1])[:-9],
    "prose": "Here you are: [1] helps.",
    "prose around it": "Sure!\n" + envelope([1]),
    "two objects": envelope([1]) * 2,
    "blank": "",
    "a list": "[1]",
    "a key too many": envelope([1], verdict="good"),
    "no suggestions": json.dumps({"kept": [1], "summary": "x [1]", "nothing_relevant": None}),
    "a number that is none": envelope([11]),
    "zero": envelope([0]),
    "numbers as texts": envelope(["1"], "x [1]"),  # type: ignore[list-item]
    "true": envelope([True], "x [1]"),
    "twice": envelope([1, 1]),
    "cites nothing": envelope([1], "Nine arches."),
    "cites what is not there": envelope([1], "Nine arches [12]."),
    "nothing kept and no reason": envelope([]),
    "a summary that is no text": json.dumps({"kept": [1], "summary": 5, "nothing_relevant": None, "suggestions": []}),
    "suggestions that are none": envelope([1], suggestions=["news"]),
    "no kept": json.dumps({"kept": None, "summary": "x [1]", "nothing_relevant": None, "suggestions": []}),
    "failed": ModelUnavailableError("http_503", "CANARY of an address"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_summary_gives_the_raw_ten_with_a_note(name: str) -> None:
    answered = await _searched(BAD[name])
    assert _titles(answered) == [f"Bridge page {n}" for n in range(1, 11)]
    assert answered.value.summary == ""
    assert "there is no summary" in answered.value.note
    assert len(answered.value.note) <= 300
    assert "CANARY" not in answered.value.note
    assert answered.sidecars["summary_problem"]
    assert credits_in(answered.usage[0]) == 1
    assert len(answered.usage) == (1 if name == "failed" else 2), "what a bad summary cost is told"


async def test_a_late_summary_is_not_waited_for() -> None:
    """The call has 30 s; the summariser gets 27 of them, so that the raw results still arrive."""

    @attrs.define
    class Never:
        left: bool = False

        async def write(self, prompt: str, **_: object) -> Written:
            try:
                await asyncio.Event().wait()
            finally:
                self.left = True
            raise AssertionError

    async with staged() as stage:
        never, clock = Never(), FakeClock()
        stage.clock = clock
        stage.auxiliary = never  # type: ignore[assignment]
        searching = asyncio.ensure_future(stage.text_search().search("x", "search", timeout_seconds=30.0))
        await until(lambda: 27.0 in clock.slept)
        await clock.advance(26.0)
        assert not searching.done()
        await clock.advance(1.1)
        await settle()
        answered = await searching
    assert never.left
    assert len(answered.value.items) == 10
    assert "did not answer within 27 s" in answered.value.note


async def test_nothing_relevant_is_a_result_with_better_queries_and_invented_types_dropped() -> None:
    better = [
        {"query": "viaduct of Velm", "search_type": "images"},
        {"query": "bridge on a map", "search_type": "satellite"},
        {"query": "bridge video", "search_type": "videos"},
        {"query": "vell", "search_type": "news"},
    ]
    answered = await _searched(envelope([], "ignored", "All of these are about birds.", suggestions=better))
    assert answered.value.items == ()
    assert answered.value.nothing_relevant == (
        'All of these are about birds. Better queries: "viaduct of Velm" (images); "vell" (news).'
    )
    assert answered.value.summary == ""


async def test_suggestions_beside_results_are_a_note() -> None:
    answered = await _searched(
        envelope([1], suggestions=[{"query": "vell", "search_type": "scholar"}, {"query": "x", "search_type": "web"}])
    )
    assert answered.value.note == 'Better queries: "vell" (scholar).'


async def test_no_results_at_all_need_no_summariser() -> None:
    async with staged() as stage:
        stage.server.replies["/news"] = [{"news": [], "credits": 1, "relatedSearches": [{"query": "vell"}, "x"]}]
        answered = await stage.text_search().search("x", "news", timeout_seconds=30.0)
    assert answered.value.items == ()
    assert 'Better queries: "vell".' in answered.value.nothing_relevant
    assert [credits_in(spent) for spent in answered.usage] == [1]


@pytest.mark.parametrize("query", ["", " \n", "\0", "x" * 5000])
async def test_what_cannot_be_asked_is_not_asked(query: str) -> None:
    async with staged() as stage:
        answered = await stage.text_search().search(query, "search", timeout_seconds=30.0)
    assert stage.server.asked == []
    assert answered.value.nothing_relevant


async def test_the_answer_box_comes_first() -> None:
    payload = {**SHAPES["/search"], "answerBox": {"answer": "1931", "title": "Opening", "link": "https://a.example/"}}
    answered = await _searched(envelope([1]), search=[payload])
    (item,) = answered.value.items
    assert (item.title, item.snippet, item.url) == ("Opening", "1931", "https://a.example/")


async def test_a_failed_search_is_an_error_with_its_usage() -> None:
    async with staged() as stage:
        stage.server.replies["/search"] = lambda _: Says(500)
        with pytest.raises(BackendUnavailableError, match="serper search: 500"):
            await stage.text_search().search("x", "search", timeout_seconds=30.0)


async def test_an_unknown_type_is_refused_by_name() -> None:
    async with staged() as stage:
        with pytest.raises(UnsupportedQueryError, match=r"expected one of search, images.*got 'videos'"):
            await stage.text_search().search("x", "videos", timeout_seconds=30.0)  # type: ignore[arg-type]


async def test_thumbnails_of_kept_pictures_are_fetched_and_bounded() -> None:
    async with staged([envelope([5, 2, 9, 1])]) as stage:
        small = fake_image(3, 4)
        stage.server.files = {
            "/thumb/5.png": small,
            "/thumb/2.png": b"x" * 5000,  # longer than allowed
            "/thumb/9.png": Says(404),
            "/thumb/1.png": small,
        }
        search = stage.text_search(thumbnails=stage.thumbnails(max_bytes=4999, most=3))
        answered = await search.search("x", "images", timeout_seconds=30.0)
    assert [item.thumbnail for item in answered.value.items] == [small, None, None, None]
    assert sorted(stage.server.fetched) == ["/thumb/2.png", "/thumb/5.png", "/thumb/9.png"], (
        "the fourth is not asked for"
    )
    assert all(item.thumbnail_url for item in answered.value.items)


async def test_thumbnails_that_never_come_cost_no_more_than_their_time() -> None:
    async with staged([envelope([1, 2])]) as stage:
        clock = FakeClock()
        stage.clock = clock
        stage.server.files = {"/thumb/1.png": fake_image(3, 4), "/thumb/2.png": Says(late=asyncio.Event().wait)}
        got: list[str] = []
        plain = stage.thumbnails()

        class Noting:
            async def fetch(self, source: str) -> bytes:
                data = await plain.fetcher.fetch(source)
                got.append(source)
                return data

        search = stage.text_search(thumbnails=attrs.evolve(plain, fetcher=Noting()))
        searching = asyncio.ensure_future(search.search("x", "images", timeout_seconds=30.0))
        await until(lambda: bool(got) and len(stage.server.fetched) == 2)
        await clock.advance(15.1)
        answered = await searching
    assert [item.thumbnail is not None for item in answered.value.items] == [True, False]


async def test_thumbnails_of_private_addresses_are_not_fetched() -> None:
    async with staged([envelope([1])], allow_loopback=False) as stage:
        stage.server.files = {"/thumb/1.png": fake_image(3, 4)}
        answered = await stage.text_search().search("x", "images", timeout_seconds=30.0)
    assert stage.server.fetched == []
    assert answered.value.items[0].thumbnail is None


@given(st.text() | st.from_regex(r"\{.{0,60}\}", fullmatch=True))
def test_no_text_breaks_the_reading_of_envelopes(text: str) -> None:
    with pytest.raises(EnvelopeError):
        summary_from_text(text, 10)


@given(st.lists(st.integers(1, 10), unique=True, min_size=1), st.lists(st.integers(1, 10), min_size=1))
def test_citations_always_lie_among_what_is_kept(kept: list[int], cited: list[int]) -> None:
    summary = summary_from_text(envelope(kept, " ".join(f"x [{n}]" for n in cited)), 10)
    assert [summary.kept[int(part.strip("[]")) - 1] + 1 for part in summary.text.split()[1::2]] == cited
    assert [position + 1 for position in summary.kept[: len(kept)]] == kept
