"""What every ZoomBackend promises.

Subclass `ZoomBackendContract` in a test module as `Test…` and supply two fixtures: `backend`, and `picture`, a function
from height and width to an `EncodedImage` of that size that `backend` can cut. A third, `pixels`, gives the uint8 pixels
(height, width, 3) of an `EncodedImage`, or is `None` where pictures have none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from openvlharness_core.errors import ToolExecutionError
from openvlharness_core.geometry import Box, grid_to_pixels
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.perception import ZoomBackend

Picture = Callable[[int, int], EncodedImage]
Pixels = Callable[[EncodedImage], NDArray[np.uint8]] | None


class ZoomBackendContract:
    """See the module."""

    async def test_a_wide_picture_is_scaled_by_each_of_its_sides(self, backend: ZoomBackend, picture: Picture) -> None:
        answered = await backend.crop(picture(100, 2000), (100, 0, 200, 1000), 0, timeout_seconds=10.0)
        assert answered.value.region_xyxy_px == (200, 0, 400, 100)
        assert answered.value.image.size_hw == (100, 200)
        assert answered.backend

    @pytest.mark.parametrize(
        ("box", "padding"),
        [((0, 0, 1000, 1000), 0), ((333.3, 0.5, 334, 999.5), 0), ((0, 0, 1, 1), 3), ((990, 990, 1000, 1000), 9)],
    )
    async def test_the_region_is_that_of_the_geometry(
        self, backend: ZoomBackend, picture: Picture, box: Box, padding: int
    ) -> None:
        image = picture(37, 53)
        crop = (await backend.crop(image, box, padding, timeout_seconds=10.0)).value
        x1, y1, x2, y2 = crop.region_xyxy_px
        assert crop.region_xyxy_px == grid_to_pixels(box, image.size_hw, padding)
        assert crop.image.size_hw == (y2 - y1, x2 - x1)

    async def test_pixels_are_neither_scaled_nor_turned(
        self, backend: ZoomBackend, picture: Picture, pixels: Pixels
    ) -> None:
        image = picture(40, 60)
        crop = (await backend.crop(image, (250, 500, 750, 1000), 1, timeout_seconds=10.0)).value
        assert crop.region_xyxy_px == (14, 19, 46, 40)
        if pixels is not None:
            assert (pixels(crop.image) == pixels(image)[19:40, 14:46]).all()

    @pytest.mark.parametrize(
        "box",
        [
            (0, 0, 0, 10),
            (10, 0, 5, 10),
            (0, 0, 10, 1001),
            (-1, 0, 10, 10),
            (0, 0, float("inf"), 10),
            (0, float("nan"), 9, 9),
        ],
    )
    async def test_a_bad_box_is_refused_in_words(self, backend: ZoomBackend, picture: Picture, box: Box) -> None:
        with pytest.raises(ToolExecutionError) as refusal:
            await backend.crop(picture(40, 60), box, 0, timeout_seconds=10.0)
        assert refusal.value.reason

    async def test_several_at_once(self, backend: ZoomBackend, picture: Picture) -> None:
        image = picture(40, 60)
        crops = await asyncio.gather(
            *(backend.crop(image, (0, 0, 100 * n, 1000), 0, timeout_seconds=10.0) for n in range(1, 9))
        )
        assert [crop.value.region_xyxy_px[2] for crop in crops] == [6 * n for n in range(1, 9)]
