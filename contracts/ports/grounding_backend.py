"""What every GroundingBackend promises.

Subclass `GroundingBackendContract` in a test module as `Test…` and supply two fixtures: `backend`, and `shown`, a picture
wider than high with what stands on it.
"""

from __future__ import annotations

import asyncio

import attrs
import numpy as np
import pytest

from openvlharness_core.errors import UnsupportedQueryError
from openvlharness_core.masks import decode_mask
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.perception import GroundingBackend


@attrs.frozen(kw_only=True)
class Shown:
    """A picture and what a backend finds on it.

    Attributes:
        image: wider than high.
        query: names `count` objects, at least two, all of which the backend can tell.
        count: how many.
        absent: names something the backend knows and the picture does not show.
        foreign: names something the backend does not know; `None` if it takes every query.
    """

    image: EncodedImage
    query: str
    count: int
    absent: str
    foreign: str | None = None


class GroundingBackendContract:
    """See the module."""

    async def test_it_finds_what_is_there(self, backend: GroundingBackend, shown: Shown) -> None:
        answered = await backend.ground(shown.image, shown.query, timeout_seconds=30.0)
        found = answered.value
        assert answered.backend
        assert len(found) == shown.count
        assert found.size_hw == shown.image.size_hw
        assert found.unnamed in (None, 0)

    async def test_boxes_are_pixels_of_the_picture_and_have_an_area(
        self, backend: GroundingBackend, shown: Shown
    ) -> None:
        boxes = (await backend.ground(shown.image, shown.query, timeout_seconds=30.0)).value.boxes_xyxy_px
        height, width = shown.image.size_hw
        assert (boxes[:, 2] - boxes[:, 0] >= 1).all()
        assert (boxes[:, 3] - boxes[:, 1] >= 1).all()
        assert (boxes >= 0).all()
        assert (boxes <= [width, height, width, height]).all()

    async def test_masks_if_any_fill_their_boxes(self, backend: GroundingBackend, shown: Shown) -> None:
        found = (await backend.ground(shown.image, shown.query, timeout_seconds=30.0)).value
        for box, rle in zip(found.boxes_xyxy_px, found.masks or (), strict=False):
            rows, columns = np.nonzero(decode_mask(rle))
            reach = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
            assert np.abs(reach - box).max() <= 1.0

    async def test_nothing_there_is_an_empty_result(self, backend: GroundingBackend, shown: Shown) -> None:
        found = (await backend.ground(shown.image, shown.absent, timeout_seconds=30.0)).value
        assert len(found) == 0
        assert found.size_hw == shown.image.size_hw
        assert not found.masks

    async def test_what_it_does_not_know_is_refused_in_words(self, backend: GroundingBackend, shown: Shown) -> None:
        if shown.foreign is None:
            return
        with pytest.raises(UnsupportedQueryError) as refusal:
            await backend.ground(shown.image, shown.foreign, timeout_seconds=30.0)
        assert refusal.value.reason

    async def test_several_at_once_find_the_same(self, backend: GroundingBackend, shown: Shown) -> None:
        answers = await asyncio.gather(
            *(backend.ground(shown.image, shown.query, timeout_seconds=30.0) for _ in range(4))
        )
        assert all(answered.value == answers[0].value for answered in answers)
