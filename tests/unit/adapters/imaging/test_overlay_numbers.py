"""Numbers on overlays, read by the OCR that runs in this process."""

from __future__ import annotations

import re

import pytest
from PIL import Image

from openvlharness_adapters.backends.embedded.ocr import EmbeddedOcr
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.renderer import PillowRenderer
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing import InlineOffload
from tests.support import evidence_scenes as scenes
from tests.unit.adapters.imaging.drawing import saved

pytest.importorskip("rapidocr")


async def read_numbers(count: int, size_hw: tuple[int, int], kind: str) -> set[int]:
    boxes = scenes.ellipses(count, size_hw)
    codec = PillowCodec()
    data = saved(Image.fromarray(scenes.jpeg_like(scenes.painted(boxes, size_hw))), kind)
    image = EncodedImage(data=data, media_type=f"image/{kind.lower()}", size_hw=size_hw)
    drawn = PillowRenderer(codec=codec).overlay(image, scenes.detected(boxes, size_hw)).image
    ocr = EmbeddedOcr(pixels=codec.pixels, offload=InlineOffload())
    answered = await ocr.read(drawn, timeout_seconds=60.0)
    return {int(number) for number in re.findall(r"\d+", answered.value.text)}


@pytest.mark.parametrize(
    ("count", "size_hw", "kind"), [(9, (32, 32), "PNG"), (12, (32, 24), "PNG"), (20, (768, 1024), "JPEG")]
)
async def test_every_number_is_read(count: int, size_hw: tuple[int, int], kind: str) -> None:
    assert await read_numbers(count, size_hw, kind) >= set(range(1, count + 1))


@pytest.mark.heavy
async def test_every_number_is_read_off_a_very_large_picture() -> None:
    assert await read_numbers(20, (6000, 8000), "JPEG") >= set(range(1, 21))


@pytest.mark.heavy
async def test_nearly_every_number_of_a_crowd_is_read() -> None:
    """The reader takes 99 for 66 upside down, and loses a digit here and there; a drawing cannot mend that."""
    for count in (134, 300):
        missed = set(range(1, count + 1)) - await read_numbers(count, (768, 1024), "JPEG")
        assert len(missed) <= 0.06 * count, sorted(missed)
