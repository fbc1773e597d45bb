"""Our raw servers of space, Depth Anything 3 and VGGT alike: they speak one wire."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from openvlharness_adapters.imaging.planes import resampled_plane
from openvlharness_adapters.router_client.caller import Caller
from openvlharness_adapters.wire import camera_pose, depth
from openvlharness_adapters.wire.raw_servers import depth_from_wire
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.depth import DepthMap
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.offload import Offload
from openvlharness_core.results import Answered


@attrs.frozen(kw_only=True)
class SceneDepthBackend:
    """The `DepthBackend` behind `POST /depth`: a map that came smaller is brought to the picture's size here.

    Attributes:
        caller: reaches it.
        offload: where maps are resampled.
    """

    caller: Caller
    offload: Offload

    async def estimate(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[DepthMap]:
        """See `DepthBackend`."""
        reply = await self.caller.call(depth.args_to_wire(image), timeout_seconds=timeout_seconds)
        answered = reply.answered(depth_from_wire)
        raw = answered.value
        if raw.size_hw != image.size_hw:
            expected = f"{list(image.size_hw)} like the picture, got {list(raw.size_hw)}"
            raise MalformedResultError("size", expected, usage=answered.usage)
        plane = await self.offload.run(lambda: resampled_plane(raw.values, raw.size_hw))
        sidecars = {**answered.sidecars, "worked_size": list(raw.values.shape)}
        try:
            value = DepthMap(values=plane, is_metric=raw.is_metric)
        except MalformedResultError as error:
            raise MalformedResultError(error.field, error.expected, usage=answered.usage) from None
        return Answered(
            value=value,
            backend=answered.backend,
            envelope=answered.envelope,
            sidecars=sidecars,
            usage=answered.usage,
        )


@attrs.frozen(kw_only=True)
class SceneCameraBackend:
    """The `CameraBackend` behind `POST /poses`.

    Attributes:
        caller: reaches it.
    """

    caller: Caller

    async def trace(self, images: Sequence[EncodedImage], *, timeout_seconds: float) -> Answered[CameraTrajectory]:
        """See `CameraBackend`."""
        reply = await self.caller.call(camera_pose.args_to_wire(tuple(images)), timeout_seconds=timeout_seconds)
        answered = reply.answered(camera_pose.result_from_wire)
        sizes = tuple(image.size_hw for image in images)
        if answered.value.sizes_hw != sizes:
            expected = f"{[list(size) for size in sizes]} like the pictures"
            got = [list(size) for size in answered.value.sizes_hw]
            raise MalformedResultError("sizes", f"{expected}, got {got!s:.200}", usage=answered.usage)
        return answered
