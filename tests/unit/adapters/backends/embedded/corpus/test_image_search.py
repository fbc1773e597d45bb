"""Search by a picture: copies, mirrored ones, parts, and what is none of these."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from contracts.ports.pictures import png_of
from openvlharness_adapters.backends.embedded.corpus import image_search
from openvlharness_adapters.backends.embedded.corpus.building import build_index
from openvlharness_adapters.backends.embedded.corpus.fingerprints import bits_apart, fingerprint_of, looks_same
from openvlharness_adapters.backends.embedded.corpus.image_search import EmbeddedImageSearch
from openvlharness_adapters.backends.embedded.corpus.index import Corpus
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.thumbnails import Thumbnails
from openvlharness_core.errors import CapabilityUnavailableError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.seeking import SearchResults
from openvlharness_core.testing.time import InlineOffload
from tests.support.scenes import Camera, some_scene
from tests.support.small_corpus import drawn, write_corpus

_TOOLS = Thumbnails()
Pixels = NDArray[np.uint8]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    root = write_corpus(folder)
    build_index([root], folder / "index.sqlite", decode=_TOOLS.decoded, thumbnail=_TOOLS.small)
    return Corpus(path=folder / "index.sqlite", decode=_TOOLS.decoded, thumbnail=_TOOLS.small)


async def _search(corpus: Corpus, pixels: Pixels, data: bytes | None = None) -> SearchResults:
    backend = EmbeddedImageSearch(corpus=corpus, pixels=PillowCodec().pixels, offload=InlineOffload())
    data = png_of(np.ascontiguousarray(pixels)) if data is None else data
    kind = "image/jpeg" if data.startswith(b"\xff\xd8") else "image/png"
    image = EncodedImage(data=data, media_type=kind, size_hw=pixels.shape[:2])
    return (await backend.search(image, timeout_seconds=5.0)).value


def _resized(pixels: Pixels, width: int, height: int) -> Pixels:
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS))


def _match(results: SearchResults) -> tuple[str | None, str]:
    assert results.items, results.nothing_relevant
    return results.items[0].url, dict(results.items[0].details)["match"]


_PIER = "file://corpus/velm/pictures/old_pier.png"


async def test_the_very_file(corpus: Corpus) -> None:
    results = await _search(corpus, drawn(2))
    assert _match(results) == (_PIER, "the very same file")
    assert len(results.items) == 1
    assert results.items[0].thumbnail is not None


async def test_a_smaller_copy_of_low_quality(corpus: Corpus) -> None:
    small = _resized(drawn(2), 150, 113)
    sink = BytesIO()
    Image.fromarray(small).save(sink, "JPEG", quality=35)
    assert _match(await _search(corpus, small, sink.getvalue())) == (_PIER, "the same picture")


async def test_a_mirrored_copy(corpus: Corpus) -> None:
    assert _match(await _search(corpus, drawn(2)[:, ::-1])) == (_PIER, "a mirrored copy")


@pytest.mark.parametrize("mirrored", [False, True])
async def test_a_part_enlarged(corpus: Corpus, mirrored: bool) -> None:
    part = _resized(drawn(2)[40:200, 60:260], 300, 240)
    url, match = _match(await _search(corpus, part[:, ::-1] if mirrored else part))
    assert url == _PIER
    assert match.startswith("parts in common, mirrored" if mirrored else "parts in common (")


async def test_a_picture_that_holds_a_known_one(corpus: Corpus) -> None:
    wall = np.full((600, 700, 3), 200, np.uint8)
    wall[150:390, 200:520] = drawn(2)
    assert _match(await _search(corpus, wall))[0] == _PIER


@pytest.mark.parametrize("seed", range(40, 52))
async def test_other_pictures_are_not_found(corpus: Corpus, seed: int) -> None:
    results = await _search(corpus, drawn(seed))
    assert results.items == ()
    assert "3 local pictures" in results.nothing_relevant


@pytest.mark.parametrize("value", [0, 128, 255])
async def test_plain_pictures_are_like_nothing(corpus: Corpus, value: int) -> None:
    assert not (await _search(corpus, np.full((90, 120, 3), value, np.uint8))).items
    assert fingerprint_of(np.full((1, 1, 3), value, np.uint8), None).hash is None


async def test_another_texture_is_not_found(corpus: Corpus) -> None:
    assert not (await _search(corpus, some_scene(1).view(Camera(size_hw=(120, 160))))).items


async def test_without_opencv_copies_are_still_found(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise CapabilityUnavailableError("x", "not installed")

    monkeypatch.setattr(image_search, "opencv", missing)
    results = await _search(corpus, drawn(2)[:, ::-1])
    assert _match(results) == (_PIER, "a mirrored copy")
    assert "pip install 'openvlharness[embedded]'" in results.note
    assert not (await _search(corpus, drawn(2)[40:200, 60:260])).items


@pytest.mark.parametrize("name", ["goblets", "old_pier", "otter"])
@pytest.mark.parametrize("mirrored", [False, True])
async def test_where_not_all_are_compared_the_likest_are(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, name: str, mirrored: bool
) -> None:
    """Whichever was added first: a part is found in each, though one picture alone is compared, and the answer says so."""
    seed = {"otter": 1, "old_pier": 2, "goblets": 3}[name]
    part = _resized(drawn(seed)[40:200, 60:260], 300, 240)
    monkeypatch.setattr(image_search, "MOST_COMPARED", 1)
    results = await _search(corpus, part[:, ::-1] if mirrored else part)
    assert _match(results)[0] == f"file://corpus/velm/pictures/{name}.png"
    assert results.note == "Parts were looked for in the 1 of 3 pictures that share most features with it."
    monkeypatch.setattr(image_search, "MOST_COMPARED", 3)
    assert (await _search(corpus, part)).note == ""


async def test_a_corpus_without_pictures(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    corpus = Corpus(path=tmp_path, decode=_TOOLS.decoded, thumbnail=_TOOLS.small)
    assert "holds no pictures" in (await _search(corpus, drawn(1))).nothing_relevant
    corpus.close()


def test_hashes_of_different_pictures_are_far_apart() -> None:
    prints = [fingerprint_of(drawn(seed), None) for seed in range(60, 90)]
    for place, one in enumerate(prints):
        assert one.hash is not None
        assert looks_same(one, one)
        for other in prints[:place]:
            assert other.hash is not None
            assert bits_apart(one.hash, other.hash) > 10
