"""The suites of the perception ports, bound to the backends of the raw model servers over the servers themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from contracts.ports.camera_backend import CameraBackendContract, Views
from contracts.ports.depth_backend import DepthBackendContract
from contracts.ports.grounding_backend import GroundingBackendContract, Shown
from contracts.ports.ocr_backend import OcrBackendContract
from openvlharness_adapters.backends.openai_ocr import OpenAIOcrBackend, chat_result
from openvlharness_adapters.backends.raw_detection import GroundingDinoBackend, Sam3Backend
from openvlharness_adapters.backends.raw_scene import SceneCameraBackend, SceneDepthBackend
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.time import InlineOffload
from tests.contract.test_ocr_backend import EmbeddedStage
from tests.support.raw_servers import ColourDetector, Served, ToldReader, blank, picture, scene_models, served


def _squares() -> Shown:
    pixels = np.full((120, 200, 3), 255, np.uint8)
    for left, top in ((10, 20), (90, 50), (150, 10)):
        pixels[top : top + 30, left : left + 30] = (220, 30, 40)
    return Shown(image=picture(pixels), query="red squares", count=3, absent="blue circles")


class TestSam3(GroundingBackendContract):
    @pytest.fixture
    def backend(self) -> Iterator[Sam3Backend]:
        running = served("segment", ColourDetector())
        yield Sam3Backend(caller=running.caller("/segment", "sam3_segment"))
        running.server.close()

    @pytest.fixture
    def shown(self) -> Shown:
        return _squares()


class TestGroundingDino(GroundingBackendContract):
    @pytest.fixture
    def backend(self) -> Iterator[GroundingDinoBackend]:
        running = served("detect", ColourDetector(masks=False))
        yield GroundingDinoBackend(caller=running.caller("/detect", "grounding_dino"))
        running.server.close()

    @pytest.fixture
    def shown(self) -> Shown:
        return _squares()


@pytest.fixture(params=["depth_anything", "vggt"])
def scene(request: pytest.FixtureRequest) -> Iterator[Served]:
    running = served("scene", scene_models()[request.param])
    yield running
    running.server.close()


class TestSceneDepth(DepthBackendContract):
    @pytest.fixture
    def backend(self, scene: Served) -> SceneDepthBackend:
        return SceneDepthBackend(caller=scene.caller("/depth", "depth_estimation"), offload=InlineOffload())

    @pytest.fixture
    def image(self) -> EncodedImage:
        return blank(33, 47)


class TestSceneCamera(CameraBackendContract):
    @pytest.fixture
    def backend(self, scene: Served) -> SceneCameraBackend:
        return SceneCameraBackend(caller=scene.caller("/poses", "camera_trajectory"))

    @pytest.fixture
    def views(self) -> Views:
        return blank(60, 80, 10), blank(60, 80, 90), blank(75, 100, 180)


class ChatStage(EmbeddedStage):
    """Real pictures, damaged ones too, and a model who is told what they say."""

    def __init__(self) -> None:
        super().__init__(ThreadOffload(threads=1))
        self.running: list[Served] = []

    def reader(self, page: Sequence[str]) -> OpenAIOcrBackend:  # type: ignore[override]
        self.running.append(served("chat", ToldReader("\n".join(page))))
        return OpenAIOcrBackend(caller=self.running[-1].caller("/v1/chat/completions", "ocr", read=chat_result))


class TestOpenAIOcr(OcrBackendContract):
    @pytest.fixture
    def stage(self) -> Iterator[ChatStage]:
        stage = ChatStage()
        yield stage
        for running in stage.running:
            running.server.close()
