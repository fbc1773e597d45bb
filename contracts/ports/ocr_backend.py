"""What every OcrBackend promises.

Subclass `OcrBackendContract` in a test module as `Test…` and supply a fixture `stage` that gives an `OcrStage`: readers of
your kind and pictures for them. The tests are coroutines, for pytest-asyncio or a runner of your own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Protocol

import pytest

from openvlharness_core.errors import UnreadableImageError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.perception import OcrBackend
from openvlharness_core.results import Transcription

PAGE = ("Harbour walk 47", "Open daily", "Entry: 12.50")
TIMEOUT_SECONDS = 120.0


class OcrStage(Protocol):
    """Makes readers and pictures."""

    def reader(self, page: Sequence[str]) -> OcrBackend:
        """A reader; one that cannot really read is told what `page` says."""
        ...

    def picture(self, page: Sequence[str], height: int = 240, width: int = 480) -> EncodedImage:
        """A picture that shows these lines well apart, in plain large print, from top to bottom; a blank one for none."""
        ...

    def damaged(self) -> EncodedImage | None:
        """A picture whose pixels cannot be decoded; `None` where pictures have no pixels."""
        ...


def _letters(text: str) -> str:
    return "".join(text.split()).casefold()


def _check(found: Transcription, image: EncodedImage) -> None:
    height, width = image.size_hw
    if found.lines is None:
        return
    assert found.text == "\n".join(line.text for line in found.lines)
    for line in found.lines:
        x1, y1, x2, y2 = line.box_xyxy_px
        assert 0 <= x1 < x2 <= width
        assert 0 <= y1 < y2 <= height
        assert "\n" not in line.text


class OcrBackendContract:
    """See the module."""

    async def test_a_page_is_read_in_order_and_by_several_at_once(self, stage: OcrStage) -> None:
        image, reader = stage.picture(PAGE), stage.reader(PAGE)
        answers = await asyncio.gather(*(reader.read(image, timeout_seconds=TIMEOUT_SECONDS) for _ in range(2)))
        for answered in answers:
            assert [_letters(line) for line in answered.value.text.split("\n")] == [_letters(line) for line in PAGE]
            assert answered.backend
            json.dumps(dict(answered.sidecars))
            _check(answered.value, image)
        assert answers[0].value == answers[1].value

    async def test_lines_stand_where_they_are_shown(self, stage: OcrStage) -> None:
        image = stage.picture(PAGE)
        found = (await stage.reader(PAGE).read(image, timeout_seconds=TIMEOUT_SECONDS)).value
        if found.lines is not None:
            middles = [(line.box_xyxy_px[1] + line.box_xyxy_px[3]) / 2 for line in found.lines]
            assert middles == sorted(middles)
            thirds = [int(3 * middle / image.size_hw[0]) for middle in middles]
            assert thirds == [0, 1, 2]

    @pytest.mark.parametrize(("height", "width"), [(240, 480), (1, 1), (5, 2000), (2000, 5)])
    async def test_nothing_to_read_is_an_empty_text(self, stage: OcrStage, height: int, width: int) -> None:
        image = stage.picture((), height, width)
        found = (await stage.reader(()).read(image, timeout_seconds=TIMEOUT_SECONDS)).value
        assert found.text == ""
        assert not found.lines

    async def test_pixels_that_cannot_be_decoded_are_said(self, stage: OcrStage) -> None:
        image = stage.damaged()
        if image is not None:
            with pytest.raises(UnreadableImageError):
                await stage.reader(PAGE).read(image, timeout_seconds=TIMEOUT_SECONDS)
