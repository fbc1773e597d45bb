"""The suites of every port that travels, bound to backends behind the router and behind a raw server.

What they promise in process they promise from afar; the socket is the only thing that these tests leave out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from contracts.ports.camera_backend import CameraBackendContract, Views
from contracts.ports.code_generator import CodeGeneratorContract
from contracts.ports.grounding_backend import GroundingBackendContract, Shown
from contracts.ports.image_search_backend import ImageSearchBackendContract
from contracts.ports.ocr_backend import OcrBackendContract
from contracts.ports.page_backend import PageBackendContract
from contracts.ports.pictures import png_of
from contracts.ports.text_search_backend import TextSearchBackendContract
from openvlharness_adapters.backends.embedded.grounding import EmbeddedGrounding
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.router_client.backends import (
    RemoteCamera,
    RemoteCodeGenerator,
    RemoteDepth,
    RemoteGrounding,
    RemoteImageSearch,
    RemoteOcr,
    RemotePages,
    RemoteTextSearch,
)
from openvlharness_adapters.router_client.caller import Caller
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_core.errors import ToolExecutionError
from openvlharness_core.pictures import EncodedImage, ImageLimits
from openvlharness_core.seeking import SearchItem
from openvlharness_core.testing.backends import FakeOcr
from openvlharness_core.testing.cameras import FakeCamera
from openvlharness_core.testing.depth import FakeDepth
from openvlharness_core.testing.images import FakeCodec, fake_image
from openvlharness_core.testing.seeking import FakeImageSearch, FakePages, FakeTextSearch
from openvlharness_core.testing.time import InlineOffload
from tests.contract import test_code_generator, test_ocr_backend
from tests.support.routing import WAYS

Way = Callable[..., Caller]

_ITEM = SearchItem(
    title="The Kestrel bridge",
    url="https://town.example/bridge",
    source="town.example",
    snippet="It has nine arches.",
    thumbnail=fake_image(3, 4),
    details=(("opened", "1931"),),
)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


def _picture(size_hw: tuple[int, int] = (40, 60), content: str = "") -> EncodedImage:
    return FakeCodec().take_in(fake_image(*size_hw, content=content), ImageLimits()).full


class TestRemoteGrounding(GroundingBackendContract):
    """The embedded one at the other end: real masks, real pictures, real refusals."""

    @pytest.fixture
    def backend(self, way: Way) -> RemoteGrounding:
        codec = PillowCodec()
        return RemoteGrounding(
            way("grounding", EmbeddedGrounding(pixels=codec.pixels, offload=InlineOffload()), codec=codec)
        )

    @pytest.fixture
    def shown(self) -> Shown:
        pixels = np.full((120, 200, 3), 255, np.uint8)
        for left, top in ((10, 20), (90, 50), (150, 10)):
            pixels[top : top + 30, left : left + 30] = (220, 30, 40)
        image = EncodedImage(data=png_of(pixels), media_type="image/png", size_hw=(120, 200))
        return Shown(image=image, query="red squares", count=3, absent="blue circles", foreign="red bicycles")


class RemoteOcrStage(test_ocr_backend.EmbeddedStage):
    """Real pictures, damaged ones too, and a reader who is told what they say."""

    def __init__(self, way: Way) -> None:
        super().__init__(ThreadOffload(threads=1))
        self.way = way

    def reader(self, page: Sequence[str]) -> RemoteOcr:  # type: ignore[override]
        return RemoteOcr(self.way("ocr", FakeOcr(lines=tuple(page)), codec=PillowCodec()))


class TestRemoteOcr(OcrBackendContract):
    @pytest.fixture
    def stage(self, way: Way) -> RemoteOcrStage:
        return RemoteOcrStage(way)


class TestRemoteCamera(CameraBackendContract):
    @pytest.fixture
    def backend(self, way: Way) -> RemoteCamera:
        return RemoteCamera(way("camera_pose", FakeCamera(notes=("a guess",))))

    @pytest.fixture
    def views(self) -> Views:
        return _picture((240, 320), "a"), _picture((240, 320), "b"), _picture((300, 400), "c")


class TestRemoteTextSearch(TextSearchBackendContract):
    @pytest.fixture
    def backend(self, way: Way) -> RemoteTextSearch:
        return RemoteTextSearch(way("text_search", FakeTextSearch(items=(_ITEM,))))

    @pytest.fixture
    def relevant(self) -> str:
        return "Kestrel bridge"

    @pytest.fixture
    def irrelevant(self) -> str:
        return "Mongolia"

    @pytest.fixture
    def missing_type(self) -> str:
        return "maps"


class TestRemoteImageSearch(ImageSearchBackendContract):
    @pytest.fixture
    def backend(self, way: Way, known: EncodedImage) -> RemoteImageSearch:
        return RemoteImageSearch(way("image_search", FakeImageSearch(known={known.digest: (_ITEM,)})))

    @pytest.fixture
    def known(self) -> EncodedImage:
        return _picture(content="known")

    @pytest.fixture
    def unknown(self) -> EncodedImage:
        return _picture(content="unknown")


class TestRemotePages(PageBackendContract):
    @pytest.fixture
    def backend(self, way: Way, url: str) -> RemotePages:
        return RemotePages(way("web_visit", FakePages(texts={url: "Ida Brandt designed the bridge. Nine arches."})))

    @pytest.fixture
    def url(self) -> str:
        return "https://town.example/bridge"

    @pytest.fixture
    def goal(self) -> str:
        return "who designed it"

    @pytest.fixture
    def missing(self) -> str:
        return "https://town.example/nowhere"


class RemoteWritingStage(test_code_generator.Stage):
    """The single-shot generator at the other end, in front of the same tiny model."""

    def __init__(self, way: Way) -> None:
        super().__init__()
        self.way = way

    def that_hears(self, *texts: str) -> RemoteCodeGenerator:  # type: ignore[override]
        return RemoteCodeGenerator(self.way("coding", super().that_hears(*texts)))


class TestRemoteCodeGeneratorThroughTheRouter(CodeGeneratorContract):
    @pytest.fixture
    def stage(self) -> RemoteWritingStage:
        return RemoteWritingStage(WAYS["router"])  # a raw server tells nothing of what was spent


# ---- beyond the suites -----------------------------------------------------------------------------------------------


async def test_depth_travels_bit_by_bit(way: Way) -> None:
    image, backend = _picture((33, 47)), FakeDepth(nearest=0.1, farthest=1 / 3)
    here = (await backend.estimate(image, timeout_seconds=5.0)).value
    there = (await RemoteDepth(way("depth", backend)).estimate(image, timeout_seconds=5.0)).value
    assert there == here
    assert there.values.dtype == np.float32
    assert not there.values.flags.writeable


async def test_too_few_matches_are_said_in_the_same_words(way: Way) -> None:
    class Lost(FakeCamera):
        async def trace(self, images: Sequence[EncodedImage], *, timeout_seconds: float) -> object:  # type: ignore[override]
            raise ToolExecutionError(
                "lost", "too few matches between picture 1 and picture 2: 3, at least 20 are needed"
            )

    with pytest.raises(ToolExecutionError) as caught:
        await RemoteCamera(way("camera_pose", Lost())).trace([_picture(), _picture()], timeout_seconds=5.0)
    assert str(caught.value) == "lost: too few matches between picture 1 and picture 2: 3, at least 20 are needed"


async def test_everything_of_a_found_item_arrives(way: Way) -> None:
    backend = RemoteTextSearch(way("text_search", FakeTextSearch(items=(_ITEM,))))
    found = (await backend.search("Kestrel", "search", timeout_seconds=5.0)).value
    assert found.items == (_ITEM,)
