"""The suite of CameraBackend, bound to the embedded one and to the fake."""

from __future__ import annotations

import functools

import pytest

from contracts.ports.camera_backend import CameraBackendContract, Views
from contracts.ports.pictures import png_of
from openvlharness_adapters.backends.embedded.camera import EmbeddedCamera
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_core.pictures import EncodedImage, ImageLimits
from openvlharness_core.testing.cameras import FakeCamera
from openvlharness_core.testing.images import FakeCodec, fake_image
from tests.support.scenes import Camera, some_scene, turn

_SIZES = ((240, 320), (240, 320), (300, 400))


@functools.cache
def _views() -> Views:
    scene = some_scene(9)
    first, second, third = (
        EncodedImage(
            data=png_of(scene.view(Camera(centre=(0.35 * n, 0, 0), rotation=turn(yaw=-2 * n), size_hw=size))),
            media_type="image/png",
            size_hw=size,
        )
        for n, size in enumerate(_SIZES)
    )
    return first, second, third


class TestEmbeddedCamera(CameraBackendContract):
    @pytest.fixture
    def backend(self) -> EmbeddedCamera:
        return EmbeddedCamera(
            pixels=PillowCodec().pixels, offload=ThreadOffload(), focal=lambda image: float(max(image.size_hw))
        )

    @pytest.fixture
    def views(self) -> Views:
        return _views()


class TestFakeCamera(CameraBackendContract):
    @pytest.fixture
    def backend(self) -> FakeCamera:
        return FakeCamera()

    @pytest.fixture
    def views(self) -> Views:
        first, second, third = (
            FakeCodec().take_in(fake_image(*size, content=str(size)), ImageLimits()).full for size in _SIZES
        )
        return first, second, third
