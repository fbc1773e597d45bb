"""The suites of the searches and of page visits, bound to the local corpus and to the fakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.ports.image_search_backend import ImageSearchBackendContract
from contracts.ports.page_backend import PageBackendContract
from contracts.ports.pictures import png_of
from contracts.ports.text_search_backend import TextSearchBackendContract
from openvlharness_adapters.backends.embedded.corpus.building import build_index
from openvlharness_adapters.backends.embedded.corpus.image_search import EmbeddedImageSearch
from openvlharness_adapters.backends.embedded.corpus.index import Corpus
from openvlharness_adapters.backends.embedded.corpus.pages import EmbeddedPages
from openvlharness_adapters.backends.embedded.corpus.text_search import EmbeddedTextSearch
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.thumbnails import Thumbnails
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_core.pictures import EncodedImage, ImageLimits
from openvlharness_core.seeking import SearchItem
from openvlharness_core.testing.images import FakeCodec, fake_image
from openvlharness_core.testing.seeking import FakeImageSearch, FakePages, FakeTextSearch
from tests.support.small_corpus import drawn, write_corpus

_ITEM = SearchItem(title="The Kestrel bridge", url="https://town.example/bridge", snippet="It has nine arches.")


def _corpus(folder: Path, *, as_index: bool) -> Corpus:
    root = write_corpus(folder)
    thumbnails = Thumbnails()
    path = root
    if as_index:
        path = folder / "index.sqlite"
        build_index([root], path, decode=thumbnails.decoded, thumbnail=thumbnails.small)
    return Corpus(path=path, decode=thumbnails.decoded, thumbnail=thumbnails.small)


def _encoded(seed: int) -> EncodedImage:
    pixels = drawn(seed)
    return EncodedImage(data=png_of(pixels), media_type="image/png", size_hw=pixels.shape[:2])


@pytest.fixture(params=["index", "folder"])
def corpus(request: pytest.FixtureRequest, tmp_path: Path) -> Corpus:
    return _corpus(tmp_path, as_index=request.param == "index")


class TestEmbeddedTextSearch(TextSearchBackendContract):
    @pytest.fixture
    def backend(self, corpus: Corpus) -> EmbeddedTextSearch:
        return EmbeddedTextSearch(corpus=corpus, offload=ThreadOffload())

    @pytest.fixture
    def relevant(self) -> str:
        return "Who designed the Kestrel bridge?"

    @pytest.fixture
    def irrelevant(self) -> str:
        return "What is the capital of Mongolia?"

    @pytest.fixture
    def missing_type(self) -> str:
        return "news"


class TestFakeTextSearch(TextSearchBackendContract):
    @pytest.fixture
    def backend(self) -> FakeTextSearch:
        return FakeTextSearch(items=(_ITEM,))

    @pytest.fixture
    def relevant(self) -> str:
        return "Kestrel bridge"

    @pytest.fixture
    def irrelevant(self) -> str:
        return "Mongolia"

    @pytest.fixture
    def missing_type(self) -> str:
        return "maps"


class TestEmbeddedImageSearch(ImageSearchBackendContract):
    @pytest.fixture
    def backend(self, corpus: Corpus) -> EmbeddedImageSearch:
        return EmbeddedImageSearch(corpus=corpus, pixels=PillowCodec().pixels, offload=ThreadOffload())

    @pytest.fixture
    def known(self) -> EncodedImage:
        return _encoded(2)

    @pytest.fixture
    def unknown(self) -> EncodedImage:
        return _encoded(77)


class TestFakeImageSearch(ImageSearchBackendContract):
    @pytest.fixture
    def picture(self) -> Callable[[str], EncodedImage]:
        return lambda content: FakeCodec().take_in(fake_image(content=content), ImageLimits()).full

    @pytest.fixture
    def backend(self, known: EncodedImage) -> FakeImageSearch:
        return FakeImageSearch(known={known.digest: (_ITEM,)})

    @pytest.fixture
    def known(self, picture: Callable[[str], EncodedImage]) -> EncodedImage:
        return picture("known")

    @pytest.fixture
    def unknown(self, picture: Callable[[str], EncodedImage]) -> EncodedImage:
        return picture("unknown")


class TestEmbeddedPages(PageBackendContract):
    @pytest.fixture
    def backend(self, corpus: Corpus) -> EmbeddedPages:
        return EmbeddedPages(corpus=corpus, offload=ThreadOffload())

    @pytest.fixture
    def url(self) -> str:
        return "file://corpus/velm/town/bridge.txt"

    @pytest.fixture
    def goal(self) -> str:
        return "who designed the bridge"

    @pytest.fixture(params=["file://corpus/velm/nowhere.txt", "https://town.example/"])
    def missing(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)


class TestFakePages(PageBackendContract):
    @pytest.fixture
    def backend(self, url: str) -> FakePages:
        return FakePages(texts={url: "Ida Brandt designed the bridge. It has nine arches."})

    @pytest.fixture
    def url(self) -> str:
        return "https://town.example/bridge"

    @pytest.fixture
    def goal(self) -> str:
        return "who designed it"

    @pytest.fixture
    def missing(self) -> str:
        return "https://town.example/nowhere"
