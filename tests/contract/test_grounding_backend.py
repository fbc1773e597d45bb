"""The suite of GroundingBackend, bound to the embedded one and to the fake."""

from __future__ import annotations

import numpy as np
import pytest

from contracts.ports.grounding_backend import GroundingBackendContract, Shown
from contracts.ports.pictures import png_of
from openvlharness_adapters.backends.embedded.grounding import EmbeddedGrounding
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.grounding import FakeGrounding
from openvlharness_core.testing.images import fake_image
from openvlharness_core.testing.time import InlineOffload


class TestEmbeddedGrounding(GroundingBackendContract):
    @pytest.fixture(params=[InlineOffload, ThreadOffload])
    def backend(self, request: pytest.FixtureRequest) -> EmbeddedGrounding:
        return EmbeddedGrounding(pixels=PillowCodec().pixels, offload=request.param())

    @pytest.fixture
    def shown(self) -> Shown:
        pixels = np.full((120, 200, 3), 255, np.uint8)
        for left, top in ((10, 20), (90, 50), (150, 10)):
            pixels[top : top + 30, left : left + 30] = (220, 30, 40)
        return Shown(
            image=EncodedImage(data=png_of(pixels), media_type="image/png", size_hw=(120, 200)),
            query="red squares",
            count=3,
            absent="blue circles",
            foreign="red bicycles",
        )


class TestFakeGrounding(GroundingBackendContract):
    @pytest.fixture
    def backend(self) -> FakeGrounding:
        return FakeGrounding({"pill": [(0.1, 0.2, 0.3, 0.5), (0.5, 0.5, 0.9, 1.0)], "cat": []})

    @pytest.fixture
    def shown(self) -> Shown:
        image = EncodedImage(data=fake_image(40, 60), media_type="image/png", size_hw=(40, 60))
        return Shown(image=image, query="pill", count=2, absent="cat", foreign="dog")
