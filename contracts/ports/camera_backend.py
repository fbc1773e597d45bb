"""What every CameraBackend promises.

Subclass `CameraBackendContract` in a test module as `Test…` and supply two fixtures: `backend`, and `views`, three
pictures of one scene, not all of one size, whose camera moves to the right in front of it.
"""

from __future__ import annotations

import asyncio

import numpy as np

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.perception import CameraBackend

Views = tuple[EncodedImage, EncodedImage, EncodedImage]


def centres(path: CameraTrajectory) -> np.ndarray:
    """(N, 3) in the first camera's frame."""
    rotations, shifts = path.extrinsics_w2c[:, :, :3].astype(float), path.extrinsics_w2c[:, :, 3].astype(float)
    world = -np.einsum("nij,ni->nj", rotations, shifts)
    found: np.ndarray = world @ rotations[0].T + shifts[0]
    return found


class CameraBackendContract:
    """See the module."""

    async def test_one_camera_a_picture_in_order(self, backend: CameraBackend, views: Views) -> None:
        answered = await backend.trace(views, timeout_seconds=30.0)
        path = answered.value
        assert len(path) == 3
        assert path.sizes_hw == tuple(view.size_hw for view in views)
        assert answered.backend

    async def test_intrinsics_belong_to_each_pictures_own_pixels(self, backend: CameraBackend, views: Views) -> None:
        path = (await backend.trace(views, timeout_seconds=30.0)).value
        for matrix, (height, width) in zip(path.intrinsics, path.sizes_hw, strict=True):
            assert 0.25 * width < matrix[0, 2] < 0.75 * width
            assert 0.25 * height < matrix[1, 2] < 0.75 * height
            assert 0.1 < matrix[0, 0] / max(height, width) < 50
            assert (matrix[2] == (0, 0, 1)).all()

    async def test_where_the_camera_went_is_world_to_camera(self, backend: CameraBackend, views: Views) -> None:
        path = (await backend.trace(views, timeout_seconds=30.0)).value
        for centre, known in zip(centres(path)[1:], path.translation_known[1:], strict=True):
            if known:
                assert centre.argmax() == 0
                assert np.abs(centre).argmax() == 0
            else:
                assert path.notes, "an unknown translation is explained"

    async def test_an_unknown_translation_is_zero(self, backend: CameraBackend, views: Views) -> None:
        path = (await backend.trace((views[0], views[0]), timeout_seconds=30.0)).value
        for matrix, known in zip(path.extrinsics_w2c[1:], path.translation_known[1:], strict=True):
            assert known or not matrix[:, 3].any()

    async def test_the_same_pictures_give_the_same_cameras(self, backend: CameraBackend, views: Views) -> None:
        first, second = await asyncio.gather(*(backend.trace(views[:2], timeout_seconds=30.0) for _ in range(2)))
        assert first.value == second.value
