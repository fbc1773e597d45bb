"""Fake perception backends, good enough to run the whole stack."""

from __future__ import annotations

import attrs

from openvlharness_core.errors import ToolExecutionError
from openvlharness_core.geometry import Box, grid_to_pixels
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.results import Answered, Crop, TextLine, Transcription


@attrs.define
class FakeOcr:
    """Reads the same lines from every picture, evenly spread from top to bottom; counts its calls."""

    lines: tuple[str, ...] = ()
    calls: int = attrs.field(default=0, init=False)

    async def read(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[Transcription]:
        """The lines it was made with."""
        self.calls += 1
        height, width = image.size_hw
        step = height / max(1, len(self.lines))
        lines = tuple(
            TextLine(text=text, box_xyxy_px=(0.0, row * step, float(width), (row + 1) * step), score=0.9)
            for row, text in enumerate(self.lines)
        )
        return Answered(value=Transcription(text="\n".join(self.lines), lines=lines), backend="fake_ocr")


@attrs.define
class FakeZoom:
    """Crops through a codec, the fake one or a real one; counts its calls."""

    codec: ImageCodec
    calls: int = attrs.field(default=0, init=False)

    async def crop(
        self, image: EncodedImage, box_xyxy_grid: Box, padding: int, *, timeout_seconds: float
    ) -> Answered[Crop]:
        """The region under the box."""
        self.calls += 1
        try:
            region = grid_to_pixels(box_xyxy_grid, image.size_hw, padding)
        except ValueError as error:
            raise ToolExecutionError("fake_zoom", str(error)) from None
        crop = Crop(image=self.codec.crop(image, region), region_xyxy_px=region)
        return Answered(value=crop, backend="fake_zoom")
