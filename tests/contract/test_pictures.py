"""The suites of ImageCodec and ZoomBackend, bound to Pillow, in process and to the fake."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from contracts.ports.image_codec import ImageCodecContract
from contracts.ports.pictures import numbered, png_of
from contracts.ports.zoom_backend import ZoomBackendContract
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.zoom import InProcessZoom
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.backends import FakeZoom
from openvlharness_core.testing.images import FakeCodec, fake_image
from openvlharness_core.testing.time import InlineOffload

Pixels = Callable[[EncodedImage], NDArray[np.uint8]]


def _pixels(image: EncodedImage) -> NDArray[np.uint8]:
    return np.asarray(Image.open(BytesIO(image.data)).convert("RGB"))


class TestPillowCodec(ImageCodecContract):
    @pytest.fixture
    def codec(self) -> PillowCodec:
        return PillowCodec()

    @pytest.fixture
    def pixels(self) -> Pixels:
        return _pixels


class TestInProcessZoom(ZoomBackendContract):
    @pytest.fixture(params=[InlineOffload, ThreadOffload])
    def backend(self, request: pytest.FixtureRequest) -> InProcessZoom:
        return InProcessZoom(codec=PillowCodec(), offload=request.param())

    @pytest.fixture
    def picture(self) -> Callable[[int, int], EncodedImage]:
        return lambda height, width: EncodedImage(
            data=png_of(numbered(height, width)), media_type="image/png", size_hw=(height, width)
        )

    @pytest.fixture
    def pixels(self) -> Pixels:
        return _pixels


class TestFakeZoom(ZoomBackendContract):
    @pytest.fixture
    def backend(self) -> FakeZoom:
        return FakeZoom(FakeCodec())

    @pytest.fixture
    def picture(self) -> Callable[[int, int], EncodedImage]:
        return lambda height, width: EncodedImage(
            data=fake_image(height, width), media_type="image/png", size_hw=(height, width)
        )

    @pytest.fixture
    def pixels(self) -> None:
        return None
