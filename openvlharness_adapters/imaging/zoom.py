"""Zoom in this process: cuts the pixels under a box."""

from __future__ import annotations

import attrs

from openvlharness_core.errors import ToolExecutionError
from openvlharness_core.geometry import Box, grid_to_pixels
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.ports.offload import Offload
from openvlharness_core.results import Answered, Crop

NAME = "zoom_in_image_by_bbox"


@attrs.frozen(kw_only=True)
class InProcessZoom:
    """The `ZoomBackend` that needs no service.

    Attributes:
        codec: cuts.
        offload: where it cuts.
    """

    codec: ImageCodec
    offload: Offload

    async def crop(
        self, image: EncodedImage, box_xyxy_grid: Box, padding: int, *, timeout_seconds: float
    ) -> Answered[Crop]:
        """See `ZoomBackend`. A decode cannot be interrupted, so `timeout_seconds` is left to whoever waits."""
        if padding < 0:
            raise ToolExecutionError(NAME, f"padding: expected pixels from 0, got {padding}")
        try:
            region = grid_to_pixels(box_xyxy_grid, image.size_hw, padding)
        except ValueError as error:
            raise ToolExecutionError(NAME, f"coords: {error}") from error
        crop = await self.offload.run(lambda: self.codec.crop(image, region))
        return Answered(value=Crop(image=crop, region_xyxy_px=region), backend=NAME)
