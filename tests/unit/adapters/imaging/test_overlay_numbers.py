"""Numbers on overlays, read by the OCR that runs in this process; see `overlay_reading` for what counts as read.

`test_every_number_is_read` uses the whole picture, as the OCR tool gets it. The heavy tests also zoom: there, of all
numbers, at most `UNREAD_AT_FIRST` may need a second look, and none may stay unread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from openvlharness_adapters.backends.embedded.ocr import EmbeddedOcr
from openvlharness_adapters.backends.embedded.recogniser import shared_recogniser
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.lettering import Lettering
from openvlharness_adapters.imaging.renderer import PillowRenderer
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing import InlineOffload
from tests.support import evidence_scenes as scenes
from tests.support import overlay_reading as reading
from tests.unit.adapters.imaging.drawing import saved

pytest.importorskip("rapidocr")

UNREAD_AT_FIRST = 0.02
SMALL, MIDDLE, LARGE = (32, 32), (768, 1024), (6000, 8000)
Case = tuple[int, tuple[int, int], int, bool]
"""Objects, size, seed, masks."""


def looks(cases: Sequence[Case]) -> dict[Case, reading.Look]:
    """Each case drawn, sent through a JPEG and read."""

    def through(drawn: Image.Image) -> np.ndarray:
        with Image.open(BytesIO(saved(drawn, "JPEG", quality=90))) as opened:
            return np.array(opened)

    recognise = shared_recogniser()
    return {
        case: reading.look_at(case[0], case[1], case[2], has_masks=case[3], recognise=recognise, through=through)
        for case in cases
    }


def assert_all_read(cases: Sequence[Case]) -> None:
    seen = looks(cases)
    assert [look.drawn for look in seen.values()] == [count for count, *_ in cases]
    assert {case: look.unread_enlarged for case, look in seen.items() if look.unread_enlarged} == {}
    unread = {case: look.unread for case, look in seen.items() if look.unread}
    most = UNREAD_AT_FIRST * sum(look.drawn for look in seen.values())
    assert sum(map(len, unread.values())) <= most, unread


@pytest.mark.parametrize(
    ("count", "size_hw", "has_masks", "kind"),
    [(9, SMALL, True, "PNG"), (12, (32, 24), False, "PNG"), (20, MIDDLE, False, "JPEG"), (100, MIDDLE, True, "JPEG")],
)
async def test_every_number_is_read(count: int, size_hw: tuple[int, int], has_masks: bool, kind: str) -> None:
    boxes, pixels = reading.scene(count, size_hw, 40)
    codec = PillowCodec()
    image = EncodedImage(data=saved(Image.fromarray(pixels), kind), media_type=f"image/{kind.lower()}", size_hw=size_hw)
    drawn = PillowRenderer(codec=codec).overlay(image, scenes.detected(boxes, size_hw, has_masks=has_masks)).image
    ocr = EmbeddedOcr(pixels=codec.pixels, offload=InlineOffload())
    answered = await ocr.read(drawn, timeout_seconds=60.0)
    assert {int(digits) for digits in re.findall(r"\d+", answered.value.text)} >= set(range(1, count + 1))


def test_a_number_that_is_not_there_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    paste = Lettering.paste_number

    def wrong(lettering: Lettering, canvas: Image.Image, corner: tuple[int, int], number: int, colour: object) -> None:
        paste(lettering, canvas, corner, 3 if number == 4 else number, colour)  # type: ignore[arg-type]

    monkeypatch.setattr(Lettering, "paste_number", wrong)
    (look,) = looks([(6, (48, 64), 40, False)]).values()
    assert look.unread_enlarged == (4,)


@pytest.mark.heavy
@pytest.mark.parametrize("has_masks", [False, True])
@pytest.mark.parametrize("size_hw", [SMALL, MIDDLE, LARGE])
def test_few_numbers_are_read(size_hw: tuple[int, int], has_masks: bool) -> None:
    cases = [(count, size_hw, seed, has_masks) for seed in (41, 42, 43) for count in (1, 5, 9, 20)]
    assert_all_read(cases if size_hw != LARGE else cases[:4])


@pytest.mark.heavy
@pytest.mark.parametrize("has_masks", [False, True])
@pytest.mark.parametrize("size_hw", [SMALL, MIDDLE])
def test_numbers_of_crowds_are_read(size_hw: tuple[int, int], has_masks: bool) -> None:
    assert_all_read([(count, size_hw, seed, has_masks) for count, seed in ((100, 42), (300, 41), (300, 42))])


@pytest.mark.heavy
def test_numbers_of_crowds_on_a_very_large_picture_are_read() -> None:
    """Few masks, for each takes as long to make as the whole drawing."""
    assert_all_read([(60, LARGE, 42, True), (300, LARGE, 41, False)])


@pytest.mark.heavy
@pytest.mark.parametrize("size_hw", [(200, 8000), (8000, 200), (24, 400), (600, 90)])
def test_numbers_on_strips_are_read(size_hw: tuple[int, int]) -> None:
    assert_all_read([(12, size_hw, seed, has_masks) for seed in (41, 42) for has_masks in (False, True)])
