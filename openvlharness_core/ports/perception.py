"""Looking at pictures. All pictures are upright, opaque and 8-bit."""

from __future__ import annotations

from typing import Protocol

from openvlharness_core.geometry import Box
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered, Crop, Transcription


class OcrBackend(Protocol):
    """Reads text; called by the OCR capability, several at once."""

    async def read(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[Transcription]:
        """Return the text of `image` in reading order; nothing readable is an empty text, not a failure.

        Raises:
            BackendError: no usable answer, the adapter's own retries included.
            MalformedResultError: an answer that breaks the rules of `Transcription`.
            UnreadableImageError: pixels that cannot be decoded.
        """
        ...


class ZoomBackend(Protocol):
    """Cuts out regions; called by the zoom capability, several at once."""

    async def crop(
        self, image: EncodedImage, box_xyxy_grid: Box, padding: int, *, timeout_seconds: float
    ) -> Answered[Crop]:
        """Return the pixels under a box on the 0-1000 grid, widened by `padding` pixels and clipped to the picture.

        The region is that of `geometry.grid_to_pixels`; pixels are neither scaled nor turned.

        Raises:
            ToolExecutionError: a box without area or off the grid.
            BackendError: no usable answer, the adapter's own retries included.
            MalformedResultError: a crop that does not have the size of its region.
            UnreadableImageError: pixels that cannot be decoded.
        """
        ...
