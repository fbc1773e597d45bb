"""The ports of the domain behind a wire: each says how its call travels, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from openvlharness_adapters.router_client.caller import Caller
from openvlharness_adapters.wire import camera_pose, coding, depth, found, grounding, image_search, ocr, web_visit
from openvlharness_adapters.wire import text_search as text_searching
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered, Attempt, Transcription
from openvlharness_core.seeking import SearchResults, SearchType, VisitedPage


@attrs.frozen
class RemoteGrounding:
    """The `GroundingBackend` behind `caller`."""

    caller: Caller

    async def ground(self, image: EncodedImage, query: str, *, timeout_seconds: float) -> Answered[Detections]:
        """See `GroundingBackend`."""
        reply = await self.caller.call(grounding.args_to_wire(image, query), timeout_seconds=timeout_seconds)
        return reply.answered(grounding.result_from_wire)


@attrs.frozen
class RemoteOcr:
    """The `OcrBackend` behind `caller`."""

    caller: Caller

    async def read(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[Transcription]:
        """See `OcrBackend`."""
        reply = await self.caller.call(ocr.args_to_wire(image), timeout_seconds=timeout_seconds)
        return reply.answered(ocr.result_from_wire)


@attrs.frozen
class RemoteDepth:
    """The `DepthBackend` behind `caller`."""

    caller: Caller

    async def estimate(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[DepthMap]:
        """See `DepthBackend`."""
        reply = await self.caller.call(depth.args_to_wire(image), timeout_seconds=timeout_seconds)
        return reply.answered(depth.result_from_wire)


@attrs.frozen
class RemoteCamera:
    """The `CameraBackend` behind `caller`."""

    caller: Caller

    async def trace(self, images: Sequence[EncodedImage], *, timeout_seconds: float) -> Answered[CameraTrajectory]:
        """See `CameraBackend`."""
        reply = await self.caller.call(camera_pose.args_to_wire(tuple(images)), timeout_seconds=timeout_seconds)
        return reply.answered(camera_pose.result_from_wire)


@attrs.frozen
class RemoteTextSearch:
    """The `TextSearchBackend` behind `caller`."""

    caller: Caller

    async def search(self, query: str, search_type: SearchType, *, timeout_seconds: float) -> Answered[SearchResults]:
        """See `TextSearchBackend`."""
        args = text_searching.args_to_wire(query, search_type)
        return (await self.caller.call(args, timeout_seconds=timeout_seconds)).answered(found.result_from_wire)


@attrs.frozen
class RemoteImageSearch:
    """The `ImageSearchBackend` behind `caller`."""

    caller: Caller

    async def search(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[SearchResults]:
        """See `ImageSearchBackend`."""
        args = image_search.args_to_wire(image)
        return (await self.caller.call(args, timeout_seconds=timeout_seconds)).answered(found.result_from_wire)


@attrs.frozen
class RemotePages:
    """The `PageBackend` behind `caller`."""

    caller: Caller

    async def visit(
        self, urls: Sequence[str], goal: str, *, timeout_seconds: float
    ) -> Answered[tuple[VisitedPage, ...]]:
        """See `PageBackend`."""
        reply = await self.caller.call(web_visit.args_to_wire(urls, goal), timeout_seconds=timeout_seconds)
        answered = reply.answered(web_visit.result_from_wire)
        if len(answered.value) != len(urls):
            expected = f"one for each of {len(urls)} URLs, got {len(answered.value)}"
            raise MalformedResultError("pages", expected, usage=answered.usage)
        return answered


@attrs.frozen
class RemoteCodeGenerator:
    """The `CodeGenerator` behind `caller`; descriptors travel, values never do."""

    caller: Caller

    async def write(
        self,
        objective: str,
        descriptors: Mapping[str, Mapping[str, object]],
        attempts: Sequence[Attempt] = (),
        *,
        timeout_seconds: float,
    ) -> Answered[str]:
        """See `CodeGenerator`."""
        args = coding.args_to_wire(objective, descriptors, attempts)
        return (await self.caller.call(args, timeout_seconds=timeout_seconds)).answered(coding.result_from_wire)
