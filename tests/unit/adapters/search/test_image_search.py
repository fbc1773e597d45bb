"""Search by a picture: published, looked up until something is found, compared, and deleted whatever happens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

from contracts.ports.pictures import numbered, png_of
from openvlharness_adapters.hosting.host import HostingError
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.search.image_search import EmptyReplies, SerperImageSearch
from openvlharness_core.errors import (
    BackendTimeoutError,
    BackendUnavailableError,
    MalformedResultError,
    UnreadableImageError,
)
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.time import FakeClock, InlineOffload
from openvlharness_core.usage import Spent, credits_in
from tests.support.serper_server import SHAPES, Asked, Reply, Says
from tests.unit.adapters.search.stage import Stage, envelope, staged, until

PICTURE = EncodedImage(data=png_of(numbered(60, 2048)), media_type="image/png", size_hw=(60, 2048))
EMPTY: Reply = {"organic": [], "credits": 3}


@attrs.define
class Shelf:
    """A host that publishes nothing and tells what is published at the moment."""

    published_now: list[bytes] = attrs.field(factory=list)
    fails: bool = False

    @asynccontextmanager
    async def published(self, image: EncodedImage) -> AsyncIterator[str]:
        if self.fails:
            raise HostingError("s3", "the picture could not be stored (ClientError NoSuchBucket)")
        self.published_now.append(image.data)
        try:
            yield "https://images.example/abc.png?signature=x"
        finally:
            self.published_now.remove(image.data)


def search_of(stage: Stage, shelf: Shelf | None = None, **fields: Any) -> SerperImageSearch:
    parts: dict[str, Any] = {
        "serper": stage.serper(),
        "host": shelf or Shelf(),
        "summariser": stage.summariser,
        "thumbnails": stage.thumbnails(),
        "codec": PillowCodec(),
        "offload": InlineOffload(),
        "clock": stage.clock,
    }
    return SerperImageSearch(**parts | fields)


def _credits(usage: Iterable[Spent]) -> list[float | None]:
    return [credits_in(spent) for spent in usage]


async def test_what_was_found_is_compared_with_the_picture() -> None:
    async with staged([envelope([3, 1], "The same bridge [3]. From afar [1].")]) as stage:
        shelf = Shelf()
        during: list[list[bytes]] = []

        def lens(asked: Asked) -> Reply:
            during.append(list(shelf.published_now))
            return SHAPES["/lens"]

        stage.server.replies["/lens"] = lens
        first, third = png_of(numbered(8, 800)), png_of(numbered(9, 20))
        stage.server.files = {"/thumb/1.png": first, "/thumb/2.png": b"no picture", "/thumb/3.png": third}
        answered = await search_of(stage, shelf).search(PICTURE, timeout_seconds=60.0)
    assert stage.server.asked[0].json == {"url": "https://images.example/abc.png?signature=x"}
    assert during == [[PICTURE.data]]
    assert shelf.published_now == []
    assert [item.title for item in answered.value.items] == ["Seen on 3", "Seen on 1"]
    assert [item.thumbnail for item in answered.value.items] == [third, first]
    assert answered.value.summary == "The same bridge [1]. From afar [2]."
    (images,) = stage.auxiliary.images
    assert [image.size_hw for image in images] == [(30, 1024), (4, 384), (9, 20)]
    assert "[1], [3]" in stage.auxiliary.prompts[0]
    assert _credits(answered.usage) == [3, None]


async def test_empty_replies_are_asked_for_again_with_growing_waits() -> None:
    async with staged([envelope([1])]) as stage:
        stage.clock = clock = FakeClock(auto=True)
        stage.server.replies["/lens"] = [EMPTY, {"credits": 3}, EMPTY, SHAPES["/lens"]]
        serper = stage.serper(clock=FakeClock())
        answered = await search_of(
            stage, serper=serper, summariser=_still(stage), thumbnails=_still_thumbs(stage)
        ).search(PICTURE, timeout_seconds=60.0)
    assert [seconds for seconds in clock.slept if seconds] == [0.5, 1.0, 2.0]
    assert len(answered.value.items) == 1
    assert _credits(answered.usage) == [3, 3, 3, 3, None]
    assert answered.sidecars["attempts"] == 4


def _still(stage: Stage) -> Any:
    return attrs.evolve(stage.summariser, asker=attrs.evolve(stage.asker, clock=FakeClock()))


def _still_thumbs(stage: Stage) -> Any:
    return attrs.evolve(stage.thumbnails(), clock=FakeClock(), most=0)


@pytest.mark.parametrize(("attempts", "asked"), [(1, 1), (4, 4), (6, 6)])
async def test_nothing_known_is_a_result(attempts: int, asked: int) -> None:
    async with staged() as stage:
        stage.server.replies["/lens"] = lambda _: EMPTY
        patience = EmptyReplies(max_attempts=attempts, backoff_max_seconds=4.0)
        clock = FakeClock(auto=True)
        answered = await search_of(stage, clock=clock, empty_replies=patience).search(PICTURE, timeout_seconds=600.0)
    assert answered.value.items == ()
    assert "crop" in answered.value.nothing_relevant
    assert len(stage.server.asked) == asked
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 4.0][: attempts - 1]
    assert _credits(answered.usage) == [3] * asked


async def test_no_wait_is_longer_than_the_time_that_is_left() -> None:
    async with staged() as stage:
        stage.server.replies["/lens"] = lambda _: EMPTY
        answered = await search_of(stage, clock=FakeClock(auto=True)).search(PICTURE, timeout_seconds=1.0)
    assert len(stage.server.asked) == 2
    assert answered.value.nothing_relevant


async def test_a_bad_comparison_gives_what_was_found() -> None:
    async with staged(["I see a bridge."]) as stage:
        answered = await search_of(stage).search(PICTURE, timeout_seconds=60.0)
    assert [item.title for item in answered.value.items] == [f"Seen on {n}" for n in range(1, 5)]
    assert "there is no summary" in answered.value.note


async def test_nothing_alike_is_a_result_with_searches_by_words() -> None:
    suggestions = [{"query": "stone bridge", "search_type": "images"}, {"query": "x", "search_type": "lens"}]
    async with staged([envelope([], "", "Other bridges.", suggestions=suggestions)]) as stage:
        answered = await search_of(stage).search(PICTURE, timeout_seconds=60.0)
    assert answered.value.nothing_relevant == 'Other bridges. Better queries: "stone bridge" (images).'


async def test_a_picture_that_cannot_be_published_is_a_failure_that_says_so() -> None:
    async with staged() as stage:
        with pytest.raises(BackendUnavailableError, match=r"cannot be shown to the search service: s3: .*NoSuchBucket"):
            await search_of(stage, Shelf(fails=True)).search(PICTURE, timeout_seconds=60.0)
        assert stage.server.asked == []


@pytest.mark.parametrize("said", [Says(500), {"organic": "x", "credits": 3}])
async def test_the_picture_is_deleted_after_a_failure_too(said: Reply) -> None:
    async with staged() as stage:
        shelf = Shelf()
        stage.server.replies["/lens"] = lambda _: said
        with pytest.raises((BackendUnavailableError, MalformedResultError)) as failure:
            await search_of(stage, shelf).search(PICTURE, timeout_seconds=60.0)
    assert shelf.published_now == []
    assert _credits(failure.value.usage) == ([3] if isinstance(said, dict) else [])


async def test_the_picture_is_deleted_when_nobody_waits_any_more() -> None:
    async with staged() as stage:
        shelf = Shelf()
        stage.server.replies["/lens"] = [EMPTY, Says(late=asyncio.Event().wait)]
        patience = EmptyReplies(backoff_base_seconds=0.0)
        searching = asyncio.ensure_future(
            search_of(stage, shelf, empty_replies=patience).search(PICTURE, timeout_seconds=60.0)
        )
        await until(lambda: len(stage.server.asked) == 2)
        assert shelf.published_now == [PICTURE.data]
        searching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searching
    assert shelf.published_now == []


async def test_a_service_that_does_not_answer_ends_with_what_was_spent() -> None:
    async with staged() as stage:
        stage.server.replies["/lens"] = [EMPTY, Says(late=asyncio.Event().wait)]
        patience = EmptyReplies(backoff_base_seconds=0.0)
        searching = asyncio.ensure_future(
            search_of(stage, empty_replies=patience).search(PICTURE, timeout_seconds=15.0)
        )
        await until(lambda: len(stage.server.asked) == 2)
        await stage.clock.advance(15.1)  # type: ignore[attr-defined]
        with pytest.raises(BackendTimeoutError) as failure:
            await searching
    assert _credits(failure.value.usage) == [3]


async def test_pixels_that_cannot_be_decoded_are_not_published() -> None:
    async with staged() as stage:
        broken = EncodedImage(data=b"\x89PNG\r\n\x1a\nxx", media_type="image/png", size_hw=(1, 1))
        with pytest.raises(UnreadableImageError):
            await search_of(stage).search(broken, timeout_seconds=60.0)
    assert stage.server.asked == []


@pytest.mark.parametrize("fields", [{"max_attempts": 0}, {"backoff_base_seconds": -1}, {"backoff_max_seconds": float("inf")}])  # fmt: skip
def test_impatience_is_refused_by_name(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(fields))):
        EmptyReplies(**fields)


def test_waits_stay_finite() -> None:
    assert EmptyReplies(max_attempts=10_000).wait_after(9_999) == 4.0
    assert json.dumps(EmptyReplies().wait_after(1)) == "0.5"
