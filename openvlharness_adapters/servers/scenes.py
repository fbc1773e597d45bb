"""Serving models of space: depth of one picture, cameras of several."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.imaging.framing import Framed, framed
from openvlharness_adapters.servers.host import ModelHost
from openvlharness_adapters.servers.pictures import PilImage, Preparing
from openvlharness_adapters.wire.raw_servers import RawDepth
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.errors import ToolExecutionError, ToolFailure
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered

Floats = NDArray[np.float32]


@attrs.frozen(kw_only=True)
class Cameras:
    """Cameras of N pictures of one size.

    Attributes:
        intrinsics: (N, 3, 3), for the pixels of the pictures as they were handed over.
        extrinsics_w2c: (N, 3, 4).
        is_metric: whether translations are metres.
    """

    intrinsics: Floats
    extrinsics_w2c: Floats
    is_metric: bool


class SceneModel(Protocol):
    """A loaded model of space."""

    def depth(self, image: PilImage) -> tuple[Floats, bool]:
        """(height, width) of any size over the whole picture, larger is farther; and whether that is metres."""
        ...

    def cameras(self, images: Sequence[PilImage]) -> Cameras:
        """One camera a picture; the pictures have one size."""
        ...


@attrs.frozen(kw_only=True)
class Surveying:
    """Answers `/depth` and `/poses`, as a `DepthBackend` and a `CameraBackend` would, but for the size of the depth.

    Attributes:
        host: whose model.
        preparing: makes its pictures.
        max_images: pictures of one call of `/poses`; memory grows with their square.
    """

    host: ModelHost[SceneModel]
    preparing: Preparing
    max_images: int = 32

    async def estimate(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[RawDepth]:
        """Raises what `ModelHost.run` raises, UnreadableImageError, and ToolExecutionError for numbers that are none."""
        shown = await self.preparing.prepared(image)
        values, is_metric = await self.host.run(lambda model: model.depth(shown))
        plane = np.maximum(np.asarray(values, dtype=np.float32), 0)  # heads without a floor dip below 0 at the horizon
        if plane.ndim != 2 or not plane.size or not np.isfinite(plane).all():
            raise ToolExecutionError(self.host.name, f"the model gave no finite depth, but {plane.shape}")
        return Answered(
            value=RawDepth(values=plane, size_hw=image.size_hw, is_metric=is_metric), backend=self.host.name
        )

    async def trace(self, images: Sequence[EncodedImage], *, timeout_seconds: float) -> Answered[CameraTrajectory]:
        """Raises as `estimate`, and ToolFailure for more pictures than `max_images`."""
        if len(images) > self.max_images:
            expected = f"at most {self.max_images} pictures at a time"
            raise ToolFailure("invalid_tool_arguments", f"images: expected {expected}, got {len(images)}")
        shown = await asyncio.gather(*map(self.preparing.prepared, images))
        views = await self.preparing.offload.run(lambda: framed(shown))
        found = await self.host.run(lambda model: model.cameras([view.image for view in views]))
        sizes = tuple(image.size_hw for image in images)
        value = trajectory_of(found, views, [(image.height, image.width) for image in shown], sizes, self.host.name)
        return Answered(value=value, backend=self.host.name)


def trajectory_of(
    found: Cameras,
    views: Sequence[Framed],
    shown_hw: Sequence[tuple[int, int]],
    sizes_hw: Sequence[tuple[int, int]],
    name: str,
) -> CameraTrajectory:
    """`found` for the pixels of the whole pictures, rotations made exactly orthonormal.

    Args:
        found: for the pixels of the canvases.
        views: the canvases.
        shown_hw: size of each picture on its canvas.
        sizes_hw: size of each whole picture.
        name: of the server, in errors.

    Raises:
        ToolExecutionError: numbers that are none.
        MalformedResultError: cameras that are none.
    """
    intrinsics = np.array(found.intrinsics, dtype=np.float64)
    extrinsics = np.array(found.extrinsics_w2c, dtype=np.float64)
    if not (np.isfinite(intrinsics).all() and np.isfinite(extrinsics).all()):
        raise ToolExecutionError(name, "the model gave cameras that are no finite numbers")
    for matrix, view, (shown_height, shown_width), (height, width) in zip(
        intrinsics, views, shown_hw, sizes_hw, strict=True
    ):
        matrix[:2, 2] -= view.offset_xy_px
        matrix[0] *= width / shown_width
        matrix[1] *= height / shown_height
    left, _, right = np.linalg.svd(extrinsics[:, :, :3])  # half precision leaves rotations a percent off
    extrinsics[:, :, :3] = left @ right
    return CameraTrajectory(
        intrinsics=intrinsics,
        extrinsics_w2c=extrinsics,
        sizes_hw=tuple(sizes_hw),
        is_metric=found.is_metric,
        translation_known=(True,) * len(sizes_hw),
    )
