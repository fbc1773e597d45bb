"""Text search and image search: numbered items with page and picture handles, limits, and nothing relevant."""

from __future__ import annotations

from typing import Any

import pytest

from openvlharness_core.capabilities.found import ITEMS_LIMIT
from openvlharness_core.capabilities.image_search import ImageSearchCapability
from openvlharness_core.capabilities.text_search import TextSearchCapability
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.errors import ToolFailure, UnsupportedQueryError
from openvlharness_core.seeking import SEARCH_TYPES, SearchItem, SearchResults
from openvlharness_core.testing import FakeCodec, FakeZoom, fake_image
from tests.unit.core.capabilities.stage import IMAGE, Backend, Stage


def thumbnail(name: str) -> bytes:
    return fake_image(8, 8, name)


def item(number: int, **fields: Any) -> SearchItem:
    usual: dict[str, Any] = {
        "title": f"Title {number}",
        "url": f"https://example.com/{number}",
        "source": "example.com",
    }
    return SearchItem(**(usual | fields))


def text_search(value: Any, **fields: Any) -> TextSearchCapability:
    make = value if callable(value) else lambda *asked: value
    return TextSearchCapability(backend=Backend(make), **fields)


def image_search(value: Any, **fields: Any) -> ImageSearchCapability:
    return ImageSearchCapability(backend=Backend(lambda image: value), **fields)


FOUND = SearchResults(
    items=(
        item(1, snippet="Some words.", thumbnail=thumbnail("one"), details=(("date", "today"), ("price", "3"))),
        item(2, url=None, source="", thumbnail_url="https://example.com/two.png"),
        item(3, thumbnail=thumbnail("three"), thumbnail_url="https://example.com/three.png"),
    ),
    summary="Both agree [1], [3].",
    note="one page was not read",
)


async def test_items_are_numbered_and_carry_handles() -> None:
    stage = Stage()
    shown = await stage.use(text_search(FOUND), query="cups")
    assert shown.data == {
        "query": "cups",
        "search_type": "search",
        "items": [
            {
                "title": "Title 1", "url": "https://example.com/1", "source": "example.com", "snippet": "Some words.",
                "details": {"date": "today", "price": "3"}, "thumbnail_url": None, "has_image": True,
            },
            {
                "title": "Title 2", "url": None, "source": "", "snippet": "", "details": {},
                "thumbnail_url": "https://example.com/two.png", "has_image": False,
            },
            {
                "title": "Title 3", "url": "https://example.com/3", "source": "example.com", "snippet": "", "details": {},
                "thumbnail_url": "https://example.com/three.png", "has_image": True,
            },
        ],
        "summary": "Both agree [1], [3].",
        "nothing_relevant": None,
        "note": "one page was not read",
    }  # fmt: skip
    assert shown.text.splitlines() == [
        "search results query=cups search_type=search",
        "[1] Title 1 — example.com — webpage_url_1",
        "date: today; price: 3",
        "Some words.",
        "tool_generated_image_1:",
        "<tool_generated_image_1>",
        "[2] Title 2",
        "https://example.com/two.png",
        "[3] Title 3 — example.com — webpage_url_2",
        "tool_generated_image_2:",
        "<tool_generated_image_2>",
        "search summary summary=Both agree [1], [3].",
        "search note note=one page was not read",
    ]
    assert [(page.handle, page.url, page.title) for page in stage.workspace.pages.records] == [
        ("webpage_url_1", "https://example.com/1", "Title 1"),
        ("webpage_url_2", "https://example.com/3", "Title 3"),
    ]
    assert stage.workspace.bindings.records == ()


async def test_an_image_search_shows_matches_of_the_picture() -> None:
    stage = Stage()
    tool = image_search(FOUND)
    shown = await stage.use(tool, image_id="INPUT_IMAGE_1.jpg")
    assert shown.data["image_id"] == "input_image_1"
    assert shown.text.startswith("image search results image=input_image_1\n[1] Title 1 — example.com — webpage_url_1")
    assert tool.backend.asked[0][0].size_hw == (40, 60)
    record = stage.workspace.images.resolve("tool_generated_image_1")
    assert (record.source, record.parents, record.to_source) == ("Image_Search_Tool", (), None)


@pytest.mark.parametrize("value", [FOUND, SearchResults(items=(), nothing_relevant="crop more")], ids=["found", "none"])
async def test_an_image_search_with_a_crop_says_which_region_it_is(value: SearchResults) -> None:
    stage = Stage()
    zoom = ZoomCapability(backend=FakeZoom(FakeCodec()))
    await stage.use(zoom, **IMAGE, coords=[0, 500, 500, 1000])
    shown = await stage.use(image_search(value), image_id="tool_generated_image_1")
    told = "region of image handle=tool_generated_image_1 region=[0, 500, 500, 1000] source=input_image_1"
    assert shown.text.splitlines()[1] == told
    assert "region of image" not in (await stage.use(image_search(value), **IMAGE)).text


@pytest.mark.parametrize(("limit", "registered"), [(0, 0), (1, 1), (3, 3), (10, 10), (12, 12), (99, 12)])
async def test_only_so_many_thumbnails_become_pictures(limit: int, registered: int) -> None:
    items = tuple(
        item(n, thumbnail=thumbnail(f"{n}"), thumbnail_url=f"https://example.com/{n}.png") for n in range(1, 13)
    )
    stage = Stage()
    shown = await stage.use(text_search(SearchResults(items=items), images_per_search=limit), query="cups")
    assert shown.pictures == [f"tool_generated_image_{n}" for n in range(1, registered + 1)]
    assert [each["has_image"] for each in shown.data["items"]] == [n <= registered for n in range(1, 13)]
    for n in range(1, 13):
        assert (f"https://example.com/{n}.png" in shown.text) is (n > registered), "the others stay addresses"
    assert len(stage.workspace.pages.records) == 12


async def test_the_default_is_ten_thumbnails() -> None:
    items = tuple(item(n, thumbnail=thumbnail(f"{n}")) for n in range(15))
    assert len((await Stage().use(text_search(SearchResults(items=items)), query="x")).pictures) == 10
    assert len((await Stage().use(image_search(SearchResults(items=items)), **IMAGE)).pictures) == 10


async def test_a_thumbnail_that_is_no_picture_is_left_out_and_noted() -> None:
    items = (
        item(1, thumbnail=b"<html>", thumbnail_url="https://example.com/1.png"),
        item(2, thumbnail=thumbnail("two")),
    )
    stage = Stage()
    shown = await stage.use(text_search(SearchResults(items=items), images_per_search=1), query="x")
    assert [each["has_image"] for each in shown.data["items"]] == [False, True]
    assert shown.pictures == ["tool_generated_image_1"]
    assert "https://example.com/1.png" in shown.text
    ((kind, text),) = stage.notes
    assert (kind, text.partition(":")[0]) == ("picture_refused", "thumbnail of Title 1")


async def test_the_same_page_and_the_same_picture_keep_their_handles() -> None:
    items = (
        item(1, thumbnail=thumbnail("same")), item(2, url="https://example.com/1", thumbnail=thumbnail("same")), item(3),
    )  # fmt: skip
    stage = Stage()
    shown = await stage.use(text_search(SearchResults(items=items)), query="x")
    assert shown.pictures == ["tool_generated_image_1"] * 2
    assert [row.rpartition(" — ")[2] for row in shown.text.splitlines() if row.startswith("[")] == [
        "webpage_url_1", "webpage_url_1", "webpage_url_2",
    ]  # fmt: skip
    again = await stage.use(text_search(SearchResults(items=items[2:])), query="y")
    assert "webpage_url_2" in again.text


async def test_a_page_is_a_page_even_when_it_ends_like_a_picture() -> None:
    stage = Stage()
    await stage.use(text_search(SearchResults(items=(item(1, url="https://example.com/photo.png"),))), query="x")
    assert stage.workspace.pages.resolve("webpage_url_1").url.endswith("photo.png")
    assert len(stage.workspace.images.records) == 1


async def test_without_page_memory_the_addresses_are_shown() -> None:
    shown = await Stage(modules=("image",)).use(text_search(FOUND), query="x")
    assert "[1] Title 1 — example.com — https://example.com/1" in shown.text
    assert shown.registered.pages == ()


@pytest.mark.parametrize("note", ["", "half of the index was away"])
async def test_nothing_relevant_is_a_result_with_a_reason(note: str) -> None:
    stage = Stage()
    nothing = SearchResults(items=(), nothing_relevant="Nothing fits. Try: red cup 1900.", note=note)
    shown = await stage.use(text_search(nothing), query="cups")
    expected = ["search nothing query=cups reason=Nothing fits. Try: red cup 1900."] + (
        [f"search note note={note}"] if note else []
    )
    assert shown.text.splitlines() == expected
    assert (shown.data["items"], shown.data["nothing_relevant"]) == ([], "Nothing fits. Try: red cup 1900.")
    assert (shown.data["summary"], shown.data["note"]) == (None, note or None)
    shown = await stage.use(image_search(nothing), **IMAGE)
    assert shown.text.startswith("image search nothing image=input_image_1 reason=Nothing fits.")
    assert len(stage.workspace.images.records) == 1
    assert stage.workspace.pages.records == ()


async def test_evidence_is_bounded_whatever_comes() -> None:
    long = "word " * 5000
    items = tuple(
        item(n, title=long, source=long, snippet=long, details=(("about", long),)) for n in range(ITEMS_LIMIT + 30)
    )
    value = SearchResults(items=items, summary=long, note=long)
    shown = await Stage().use(text_search(value), query="x")
    assert len(shown.text) < ITEMS_LIMIT * 2500 + 8000
    assert f"[{ITEMS_LIMIT}] word" in shown.text
    assert f"[{ITEMS_LIMIT + 1}]" not in shown.text
    assert "search rest count=30" in shown.text
    assert "more characters cut; the whole is in webpage_url_1]" in shown.text
    assert len(shown.data["items"]) == ITEMS_LIMIT + 30
    assert shown.data["items"][0]["snippet"] == long, "the record has all"
    nothing = SearchResults(items=(), nothing_relevant=long)
    assert len((await Stage().use(text_search(nothing), query="x")).text) < 2000


async def test_broken_text_is_mended() -> None:
    items = (item(1, title="a\ud83d", snippet="b\ud83d", source="c\ud83d", details=(("d\ud83d", "e\ud83d"),)),)
    stage = Stage()
    shown = await stage.use(text_search(SearchResults(items=items, summary="f\ud83d")), query="x")
    shown.text.encode()
    assert "a\ufffd — c\ufffd" in shown.text
    assert stage.workspace.pages.records[0].title == "a\ufffd"


@pytest.mark.parametrize("kind", SEARCH_TYPES)
async def test_the_model_chooses_where_to_search(kind: str) -> None:
    tool = text_search(FOUND)
    shown = await Stage().use(tool, query="cups", search_type=kind)
    assert tool.backend.asked == [("cups", kind)]
    assert f"search_type={kind}" in shown.text


async def test_another_place_to_search_is_refused_with_those_there_are() -> None:
    with pytest.raises(ToolFailure, match=r"search_type: expected one of search, images, news, .*, got .videos"):
        await Stage().use(text_search(FOUND), query="cups", search_type="videos")


async def test_a_backend_without_that_kind_says_so() -> None:
    def search(query: str, kind: str) -> SearchResults:
        raise UnsupportedQueryError("stage", "only search and news")

    with pytest.raises(UnsupportedQueryError, match="only search and news"):
        await Stage().use(text_search(search), query="x", search_type="maps")
