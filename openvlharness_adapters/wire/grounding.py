"""Grounding: ``{image, query}`` and back boxes with scores, and masks where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from openvlharness_adapters.wire.arrays import numbers_from_wire
from openvlharness_adapters.wire.fields import Fields, got
from openvlharness_adapters.wire.images import TakeIn, bytes_from_wire, image_to_wire
from openvlharness_core.detections import Detections
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.perception import GroundingBackend
from openvlharness_core.results import Answered


@attrs.frozen(kw_only=True)
class GroundingCall:
    """What a caller asks; `image` holds the encoded bytes."""

    image: bytes = attrs.field(repr=False)
    query: str

    async def ask(self, backend: GroundingBackend, take_in: TakeIn, timeout_seconds: float) -> Answered[Detections]:
        return await backend.ground(await take_in(self.image), self.query, timeout_seconds=timeout_seconds)


def args_to_wire(image: EncodedImage, query: str) -> dict[str, object]:
    return {"image": image_to_wire(image), "query": query}


def args_from_wire(args: object) -> GroundingCall:
    """Raises MalformedResultError."""
    fields = Fields.of(args, "").only("image", "query")
    return GroundingCall(image=bytes_from_wire(fields.value("image"), "image"), query=fields.text("query"))


def result_to_wire(found: Detections) -> dict[str, object]:
    """Boxes are x1, y1, x2, y2 in pixels; `unnamed` is null where the backend does not tell."""
    height, width = found.size_hw
    masks = None if found.masks is None else [_mask_to_wire(mask) for mask in found.masks]
    return {
        "pred_boxes": found.boxes_xyxy_px.tolist(),
        "pred_scores": found.scores.tolist(),
        "pred_masks": masks,
        "num_masks": None if masks is None else len(masks),
        "orig_img_h": height,
        "orig_img_w": width,
        "unnamed": found.unnamed,
    }


def result_from_wire(result: object) -> Detections:
    """Raises MalformedResultError."""
    fields = Fields.of(result, "")
    masks = fields.value("pred_masks")
    if masks is not None:
        masks = fields.items("pred_masks")
    number = fields.value("num_masks")
    if type(number) is bool or number != (None if masks is None else len(masks)):
        expected = "null like pred_masks" if masks is None else f"{len(masks)} like pred_masks"
        raise MalformedResultError("num_masks", f"{expected}, got {got(number)}")
    sides = (fields.count("orig_img_h"), fields.count("orig_img_w"))
    if not all(sides):
        raise MalformedResultError("orig_img_h, orig_img_w", f"sides above 0, got {list(sides)}")
    return Detections(
        boxes_xyxy_px=numbers_from_wire(fields.value("pred_boxes"), "pred_boxes"),
        scores=numbers_from_wire(fields.value("pred_scores"), "pred_scores"),
        masks=masks,
        size_hw=sides,
        unnamed=fields.find_count("unnamed"),
    )


def _mask_to_wire(mask: Mapping[str, Any]) -> dict[str, object]:
    counts = mask["counts"]
    if isinstance(counts, bytes):
        counts = counts.decode("ascii")
    elif not isinstance(counts, str):
        counts = [int(count) for count in counts]
    return {"size": [int(side) for side in mask["size"]], "counts": counts}
