"""The suite of EvidenceRenderer, bound to Pillow and to the fake."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from contracts.ports.evidence_renderer import EvidenceRendererContract
from contracts.ports.pictures import png_of
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.renderer import PillowRenderer
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.images import fake_image
from openvlharness_core.testing.rendering import FakeRenderer


class TestPillowRenderer(EvidenceRendererContract):
    @pytest.fixture
    def renderer(self) -> PillowRenderer:
        return PillowRenderer(codec=PillowCodec())

    @pytest.fixture
    def picture(self) -> Callable[[int, int], EncodedImage]:
        return lambda height, width: EncodedImage(
            data=png_of(np.full((height, width), 128, np.uint8)), media_type="image/png", size_hw=(height, width)
        )

    @pytest.fixture
    def pixels(self) -> Callable[[EncodedImage], NDArray[np.uint8]]:
        return lambda image: np.asarray(Image.open(BytesIO(image.data)).convert("RGB"))


class TestFakeRenderer(EvidenceRendererContract):
    @pytest.fixture
    def renderer(self) -> FakeRenderer:
        return FakeRenderer()

    @pytest.fixture
    def picture(self) -> Callable[[int, int], EncodedImage]:
        return lambda height, width: EncodedImage(
            data=fake_image(height, width), media_type="image/png", size_hw=(height, width)
        )

    @pytest.fixture
    def pixels(self) -> None:
        return None
