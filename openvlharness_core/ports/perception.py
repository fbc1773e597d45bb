"""Looking at pictures. All pictures are upright, opaque and 8-bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
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


class GroundingBackend(Protocol):
    """Finds what a query names; called by the grounding capability, several at once."""

    async def ground(self, image: EncodedImage, query: str, *, timeout_seconds: float) -> Answered[Detections]:
        """Return the objects of `image` that `query` names, in pixels of `image`; none found is an empty result.

        Raises:
            UnsupportedQueryError: the query is outside what this backend understands; the reason says what it does.
            BackendError: no usable answer, the adapter's own retries included.
            MalformedResultError: an answer that breaks the rules of `Detections`.
            UnreadableImageError: pixels that cannot be decoded.
        """
        ...


class DepthBackend(Protocol):
    """Estimates depth; called by the depth capability, several at once."""

    async def estimate(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[DepthMap]:
        """Return a map with the height and width of `image`; the adapter resamples where its model works smaller.

        Raises:
            CapabilityUnavailableError: nothing here can estimate depth.
            BackendError: no usable answer, the adapter's own retries included.
            MalformedResultError: an answer that breaks the rules of `DepthMap`.
            UnreadableImageError: pixels that cannot be decoded.
        """
        ...


class CameraBackend(Protocol):
    """Recovers how the camera moved; called by the camera pose capability, several at once."""

    async def trace(self, images: Sequence[EncodedImage], *, timeout_seconds: float) -> Answered[CameraTrajectory]:
        """Return one camera a picture, in the order of `images`, at least two.

        Raises:
            ToolExecutionError: too few matches; the reason names both pictures by their position from 1, the matches
                found and those needed.
            BackendError: no usable answer, the adapter's own retries included.
            MalformedResultError: an answer that breaks the rules of `CameraTrajectory`.
            UnreadableImageError: pixels that cannot be decoded.
        """
        ...
