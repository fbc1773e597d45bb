"""Our raw servers of detectors: SAM 3 with masks, Grounding DINO with boxes alone."""

from __future__ import annotations

import attrs

from openvlharness_adapters.router_client.caller import Caller
from openvlharness_adapters.wire.grounding import result_from_wire
from openvlharness_adapters.wire.raw_servers import detection_to_wire
from openvlharness_core.detections import Detections
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered


@attrs.frozen(kw_only=True)
class Sam3Backend:
    """The `GroundingBackend` behind `POST /segment`.

    Attributes:
        caller: reaches it.
        threshold: least score; `None` leaves it to the server.
    """

    caller: Caller
    threshold: float | None = None

    async def ground(self, image: EncodedImage, query: str, *, timeout_seconds: float) -> Answered[Detections]:
        """See `GroundingBackend`."""
        answered = await _asked(self.caller, image, query, self.threshold, timeout_seconds)
        if answered.value.masks is None:
            raise MalformedResultError("pred_masks", "a mask for each box, got null", usage=answered.usage)
        return answered


@attrs.frozen(kw_only=True)
class GroundingDinoBackend:
    """The `GroundingBackend` behind `POST /detect`: masks and their count are always null.

    Attributes:
        caller: reaches it.
        threshold: least score; `None` leaves it to the server.
    """

    caller: Caller
    threshold: float | None = None

    async def ground(self, image: EncodedImage, query: str, *, timeout_seconds: float) -> Answered[Detections]:
        """See `GroundingBackend`."""
        answered = await _asked(self.caller, image, query, self.threshold, timeout_seconds)
        if answered.value.masks is not None:
            got = f"null from a server of boxes, got a list of {len(answered.value.masks)}"
            raise MalformedResultError("pred_masks", got, usage=answered.usage)
        return answered


async def _asked(
    caller: Caller, image: EncodedImage, query: str, threshold: float | None, timeout_seconds: float
) -> Answered[Detections]:
    args = detection_to_wire(image, query, threshold)
    answered = (await caller.call(args, timeout_seconds=timeout_seconds)).answered(result_from_wire)
    if answered.value.size_hw != image.size_hw:
        expected = f"{list(image.size_hw)} like the picture, got {list(answered.value.size_hw)}"
        raise MalformedResultError("orig_img_h, orig_img_w", expected, usage=answered.usage)
    return answered
