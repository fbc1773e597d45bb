"""The suites of the searches and of page visits, bound to the backends over Serper, a service on loopback behind them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import attrs
import pytest

from contracts.ports.image_search_backend import ImageSearchBackendContract
from contracts.ports.page_backend import PageBackendContract
from contracts.ports.pictures import numbered, png_of
from contracts.ports.text_search_backend import TextSearchBackendContract
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.auxiliary import Written
from openvlharness_core.ports.seeking import ImageSearchBackend, PageBackend, TextSearchBackend
from openvlharness_core.usage import Spent
from tests.support.serper_server import SHAPES, Asked, Reply, refuses
from tests.unit.adapters.search.stage import Stage, envelope, staged
from tests.unit.adapters.search.test_image_search import search_of
from tests.unit.adapters.search.test_pages import extract, pages_of


class Reader:
    """An auxiliary model that knows its few tasks by what it is shown."""

    async def write(self, prompt: str, *, system: str | None = None, images: Sequence[EncodedImage] = ()) -> Written:
        if prompt.startswith("extract"):
            goal, text = prompt.partition("goal=")[2].partition(" page=")[0], prompt.partition("text=")[2]
            said = extract(goal.split()[-1] in text, "The bridge has nine arches.", "Of a bridge.")
        elif "quasar" in prompt:
            said = envelope([], "", "Nothing is about that.")
        else:
            said = envelope([1, 2])
        return Written(text=said, spent=Spent(role="auxiliary"))


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as made:
        made.auxiliary = Reader()  # type: ignore[assignment]
        yield made


class TestSerperTextSearch(TextSearchBackendContract):
    @pytest.fixture
    def backend(self, stage: Stage) -> TextSearchBackend:
        return stage.text_search()

    @pytest.fixture
    def relevant(self) -> str:
        return "kestrel bridge"

    @pytest.fixture
    def irrelevant(self) -> str:
        return "xylophone quasar"

    @pytest.fixture
    def missing_type(self) -> None:
        return None


@attrs.frozen
class ByBytes:
    """A host whose addresses tell which picture they are of."""

    @asynccontextmanager
    async def published(self, image: EncodedImage) -> AsyncIterator[str]:
        yield f"https://images.example/{image.digest}.png"


def _picture(height: int) -> EncodedImage:
    return EncodedImage(data=png_of(numbered(height, 9)), media_type="image/png", size_hw=(height, 9))


class TestSerperImageSearch(ImageSearchBackendContract):
    @pytest.fixture
    def backend(self, stage: Stage, known: EncodedImage) -> ImageSearchBackend:
        def lens(asked: Asked) -> Reply:
            return SHAPES["/lens"] if known.digest in asked.json["url"] else {"organic": []}

        stage.server.replies["/lens"] = lens
        from openvlharness_adapters.search.image_search import EmptyReplies

        return search_of(stage, empty_replies=EmptyReplies(backoff_base_seconds=0.0), host=ByBytes())

    @pytest.fixture
    def known(self) -> EncodedImage:
        return _picture(7)

    @pytest.fixture
    def unknown(self) -> EncodedImage:
        return _picture(8)


class TestSerperPages(PageBackendContract):
    @pytest.fixture
    def backend(self, stage: Stage, missing: str) -> PageBackend:
        def scrape(asked: Asked) -> Reply:
            return refuses(400, "no") if asked.json["url"] == missing else SHAPES["/scrape"]

        stage.server.replies["/scrape"] = scrape
        return pages_of(stage)

    @pytest.fixture
    def url(self) -> str:
        return "https://town.example/bridge"

    @pytest.fixture
    def goal(self) -> str:
        return "How many arches"

    @pytest.fixture
    def missing(self, stage: Stage) -> str:
        return f"{stage.server.base}/missing"


def test_the_shapes_are_json() -> None:
    assert json.loads(json.dumps(SHAPES)) == SHAPES
