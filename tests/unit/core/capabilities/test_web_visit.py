"""Page visits: handles and addresses, each page once, failed pages among read ones."""

from __future__ import annotations

from typing import Any

import pytest

from openvlharness_core.capabilities.text_search import TextSearchCapability
from openvlharness_core.capabilities.web_visit import ALL_PAGES_LIMIT, WebVisitCapability
from openvlharness_core.errors import BackendUnavailableError, MalformedResultError, ToolFailure
from openvlharness_core.seeking import SearchItem, SearchResults, VisitedPage
from tests.unit.core.capabilities.stage import Backend, Stage

A, B = "https://example.com/a", "https://example.com/b"


def page(url: str, **fields: Any) -> VisitedPage:
    usual: dict[str, Any] = {"ok": True, "title": f"Title of {url[-1]}", "evidence": "passage", "summary": "short"}
    return VisitedPage(url=url, **(usual | fields))


def visiting(make: Any = None) -> WebVisitCapability:
    return WebVisitCapability(backend=Backend(make or (lambda urls, goal: tuple(page(url) for url in urls))))


async def searched(**fields: Any) -> Stage:
    """A stage on which a search has found two pages."""
    stage = Stage(**fields)
    results = SearchResults(items=(SearchItem(title="A", url=A), SearchItem(title="B", url=B)))
    await stage.use(TextSearchCapability(backend=Backend(lambda *asked: results)), query="x")
    return stage


async def test_a_page_is_read_for_a_goal() -> None:
    stage, tool = Stage(), visiting()
    shown = await stage.use(tool, urls=[A], goal="find the date")
    assert tool.backend.asked == [([A], "find the date")]
    assert shown.data == {
        "goal": "find the date",
        "pages": [
            {"url": A, "title": "Title of a", "ok": True, "evidence": "passage", "summary": "short", "reason": ""}
        ],
    }
    assert shown.text == "page read page=webpage_url_1 title=Title of a evidence=passage summary=short"
    assert stage.workspace.pages.resolve("webpage_url_1").url == A


async def test_handles_addresses_and_repeats_are_one_page_each() -> None:
    stage, tool = await searched(), visiting()
    shown = await stage.use(
        tool, urls=["WEBPAGE_URL_2", A, " webpage_url_1 ", "'webpage_url_2'", B, f" {A}\n"], goal="g"
    )
    assert tool.backend.asked == [([B, A], "g")]
    assert [part.text.split()[2] for part in shown.parts] == ["page=webpage_url_2", "page=webpage_url_1"]  # type: ignore[union-attr]
    assert len(stage.workspace.pages.records) == 2


async def test_a_page_that_failed_says_why_beside_those_that_did_not() -> None:
    def visit(urls: list[str], goal: str) -> tuple[VisitedPage, ...]:
        return (VisitedPage(url=urls[0], ok=False, reason="404; search for another copy"), page(urls[1]))

    shown = await (await searched()).use(visiting(visit), urls=["webpage_url_1", B], goal="g")
    assert shown.text.splitlines() == [
        f"page failed page=webpage_url_1 url={A} reason=404; search for another copy",
        "page read page=webpage_url_2 title=Title of b evidence=passage summary=short",
    ]
    assert [each["ok"] for each in shown.data["pages"]] == [False, True]
    assert shown.data["pages"][0]["evidence"] == ""


@pytest.mark.parametrize(
    "alias",
    [
        "file:///etc/passwd", "FILE:///etc/passwd", "file://localhost/etc/passwd", "file://corpus/b.txt", "file:/etc/passwd",
        " file:///etc/passwd\n", "javascript:alert(1)", "ftp://example.com/a", "data:text/plain,x", "http://", "https:///etc/passwd",
    ],
)  # fmt: skip
async def test_addresses_of_other_kinds_are_refused_before_anything_is_visited(alias: str) -> None:
    stage, tool = Stage(), visiting()
    found = SearchResults(items=(SearchItem(title="A", url="file://corpus/a.txt"),))
    await stage.use(TextSearchCapability(backend=Backend(lambda *asked: found)), query="x")
    with pytest.raises(ToolFailure, match=r"urls\[1\]: expected an http\(s\) URL or the handle of a page") as raised:
        await stage.use(tool, urls=[A, alias], goal="g")
    assert raised.value.code == "invalid_tool_arguments"
    assert tool.backend.asked == []


async def test_a_file_that_a_search_found_is_visited_by_handle_and_by_address() -> None:
    stage, tool, url = Stage(), visiting(), "file://corpus/a.txt"
    found = SearchResults(items=(SearchItem(title="A", url=url),))
    await stage.use(TextSearchCapability(backend=Backend(lambda *asked: found)), query="x")
    await stage.use(tool, urls=["webpage_url_1"], goal="g")
    await stage.use(tool, urls=[f" {url} "], goal="g")
    assert tool.backend.asked == [([url], "g"), ([url], "g")]


async def test_a_page_that_could_not_be_read_takes_no_handle() -> None:
    def visit(urls: list[str], goal: str) -> tuple[VisitedPage, ...]:
        return (VisitedPage(url=urls[0], ok=False, reason="404"), page(urls[1]))

    stage = Stage()
    shown = await stage.use(visiting(visit), urls=[A, B], goal="g")
    assert [(record.handle, record.url) for record in stage.workspace.pages.records] == [("webpage_url_1", B)]
    assert shown.text.splitlines() == [
        f"page failed page={A} url={A} reason=404",
        "page read page=webpage_url_1 title=Title of b evidence=passage summary=short",
    ]


@pytest.mark.parametrize("alias", ["webpage_url_9", "example.com", "/etc/passwd", "input_image_1"])
async def test_what_is_neither_a_known_page_nor_an_address_is_refused_before_anything_is_visited(alias: str) -> None:
    stage, tool = await searched(), visiting()
    with pytest.raises(ToolFailure, match=r"known ones: webpage_url_[12], webpage_url_[12]") as raised:
        await stage.use(tool, urls=[A, alias], goal="g")
    assert raised.value.code == "unknown_reference"
    assert tool.backend.asked == []


@pytest.mark.parametrize("urls", [[], "", None, [""], [3], {}])
async def test_one_address_is_needed(urls: object) -> None:
    with pytest.raises(ToolFailure, match="urls") as raised:
        await Stage().use(visiting(), urls=urls, goal="g")
    assert raised.value.code == "invalid_tool_arguments"


async def test_without_page_memory_addresses_stand_for_handles() -> None:
    shown = await Stage(modules=("image",)).use(visiting(), urls=[A], goal="g")
    assert shown.text.startswith(f"page read page={A} ")
    assert shown.registered.pages == ()


async def test_a_page_without_a_title_is_called_by_its_address() -> None:
    shown = await Stage().use(visiting(lambda urls, goal: (page(A, title=""),)), urls=[A], goal="g")
    assert f"title={A} " in shown.text


@pytest.mark.parametrize("count", [1, 5, 60])
async def test_evidence_is_bounded_whatever_comes(count: int) -> None:
    long = "word " * 4000
    urls = [f"https://example.com/{n}" for n in range(count)]
    tool = visiting(lambda asked, goal: tuple(page(url, evidence=long, summary=long, title=long) for url in asked))
    shown = await Stage().use(tool, urls=urls, goal="g")
    assert len(shown.text) < min(ALL_PAGES_LIMIT, count * 9000) + count * 500
    assert "more characters cut; the whole is in webpage_url_1]" in shown.text
    assert shown.data["pages"][0]["evidence"] == long, "the record has all"
    failed = visiting(lambda asked, goal: (VisitedPage(url=asked[0], ok=False, reason=long),))
    assert len((await Stage().use(failed, urls=[A], goal="g")).text) < 1000


async def test_broken_text_is_mended() -> None:
    stage = Stage()
    shown = await stage.use(
        visiting(lambda urls, goal: (page(A, title="t\ud83d", evidence="e\ud83d"),)), urls=[A], goal="g"
    )
    shown.text.encode()
    assert "title=t\ufffd evidence=e\ufffd" in shown.text
    assert stage.workspace.pages.records[0].title == "t\ufffd"


@pytest.mark.parametrize(
    "pages", [(), (page(B),), (page(A), page(A)), (page(A), page(B))], ids=lambda pages: str(len(pages))
)
async def test_other_pages_than_those_asked_for_are_refused(pages: tuple[VisitedPage, ...]) -> None:
    with pytest.raises(MalformedResultError, match="pages: expected a VisitedPage for each of 1 URLs, in order"):
        await Stage().use(visiting(lambda urls, goal: pages), urls=[A], goal="g")


async def test_a_backend_that_is_away_is_told() -> None:
    def visit(urls: object, goal: str) -> tuple[VisitedPage, ...]:
        raise BackendUnavailableError("stage", "no route")

    with pytest.raises(BackendUnavailableError, match="no route"):
        await Stage().use(visiting(visit), urls=[A], goal="g")
