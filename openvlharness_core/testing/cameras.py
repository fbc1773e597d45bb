"""A fake camera backend: the same known movement for every list of pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.errors import ToolExecutionError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered


@attrs.define
class FakeCamera:
    """Moves one step to the right and turns right by the same angle from picture to picture; counts its calls.

    Attributes:
        step: distance between neighbours, in metres where `is_metric`.
        yaw_degrees: turn between neighbours.
        is_metric: what it claims.
        notes: what it says with it.
    """

    step: float = 0.5
    yaw_degrees: float = 5.0
    is_metric: bool = False
    notes: tuple[str, ...] = ()
    calls: int = attrs.field(default=0, init=False)

    async def trace(self, images: Sequence[EncodedImage], *, timeout_seconds: float) -> Answered[CameraTrajectory]:
        """One camera a picture."""
        self.calls += 1
        if len(images) < 2:
            raise ToolExecutionError("fake_camera", f"images: expected at least 2, got {len(images)}")
        extrinsics, intrinsics = [], []
        for position, image in enumerate(images):
            angle = math.radians(self.yaw_degrees * position)
            c, s = math.cos(angle), math.sin(angle)
            rotation = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
            centre = np.array([self.step * position, 0, 0])
            extrinsics.append(np.hstack([rotation, -rotation @ centre[:, None]]))
            height, width = image.size_hw
            intrinsics.append([[max(height, width), 0, width / 2], [0, max(height, width), height / 2], [0, 0, 1]])
        trajectory = CameraTrajectory(
            intrinsics=np.array(intrinsics),
            extrinsics_w2c=np.array(extrinsics),
            sizes_hw=tuple(image.size_hw for image in images),
            is_metric=self.is_metric,
            translation_known=(True,) * len(images),
            notes=self.notes,
        )
        return Answered(value=trajectory, backend="fake_camera")
