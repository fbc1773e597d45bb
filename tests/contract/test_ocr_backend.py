"""The suite of the OcrBackend port, bound to the embedded reader, which reads for real, and to the fake."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import pytest
from PIL import Image, ImageDraw, ImageFont

from contracts.ports.ocr_backend import OcrBackendContract
from openvlharness_adapters.backends.embedded.ocr import EmbeddedOcr
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.backends import FakeOcr
from openvlharness_core.testing.images import fake_image


def _encoded(image: Image.Image) -> EncodedImage:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return EncodedImage(data=buffer.getvalue(), media_type="image/png", size_hw=(image.height, image.width))


class EmbeddedStage:
    def __init__(self, offload: ThreadOffload) -> None:
        self.offload = offload

    def reader(self, page: Sequence[str]) -> EmbeddedOcr:
        return EmbeddedOcr(pixels=PillowCodec().pixels, offload=self.offload)

    def picture(self, page: Sequence[str], height: int = 240, width: int = 480) -> EncodedImage:
        image = Image.new("RGB", (width, height), "white")
        for at, line in enumerate(page):
            ImageDraw.Draw(image).text(
                (30, height * at // len(page) + 20), line, "black", ImageFont.load_default(size=34)
            )
        return _encoded(image)

    def damaged(self) -> EncodedImage:
        whole = self.picture(("cut off",)).data
        return EncodedImage(data=whole[: len(whole) // 2], media_type="image/png", size_hw=(240, 480))


class FakeStage:
    def reader(self, page: Sequence[str]) -> FakeOcr:
        return FakeOcr(lines=tuple(page))

    def picture(self, page: Sequence[str], height: int = 240, width: int = 480) -> EncodedImage:
        return EncodedImage(data=fake_image(height, width), media_type="image/png", size_hw=(height, width))

    def damaged(self) -> None:
        return None


class TestEmbeddedOcr(OcrBackendContract):
    @pytest.fixture
    def stage(self) -> Iterator[EmbeddedStage]:
        pytest.importorskip("rapidocr", reason="needs the extra: pip install 'openvlharness[embedded]'")
        offload = ThreadOffload(threads=2)
        yield EmbeddedStage(offload)
        offload.close()


class TestFakeOcr(OcrBackendContract):
    @pytest.fixture
    def stage(self) -> FakeStage:
        return FakeStage()
