"""What every DepthBackend promises.

Subclass `DepthBackendContract` in a test module as `Test…` and supply two fixtures: `backend`, and `image`, a picture that
is not square.
"""

from __future__ import annotations

import asyncio

import numpy as np

from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.perception import DepthBackend


class DepthBackendContract:
    """See the module."""

    async def test_the_map_has_a_distance_for_every_pixel(self, backend: DepthBackend, image: EncodedImage) -> None:
        answered = await backend.estimate(image, timeout_seconds=60.0)
        assert answered.value.values.shape == image.size_hw
        assert answered.value.values.dtype == np.float32
        assert answered.backend

    async def test_nobody_can_write_to_it(self, backend: DepthBackend, image: EncodedImage) -> None:
        assert not (await backend.estimate(image, timeout_seconds=60.0)).value.values.flags.writeable

    async def test_several_at_once_give_the_same(self, backend: DepthBackend, image: EncodedImage) -> None:
        first, second = await asyncio.gather(*(backend.estimate(image, timeout_seconds=60.0) for _ in range(2)))
        assert first.value == second.value
