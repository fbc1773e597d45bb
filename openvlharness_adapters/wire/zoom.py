"""Zoom: ``{image, coords, padding}`` and back the crop with its region in pixels of the source."""

from __future__ import annotations

import attrs

from openvlharness_adapters.wire.fields import Fields, got
from openvlharness_adapters.wire.images import TakeIn, bytes_from_wire, image_from_wire, image_to_wire
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.geometry import Box
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.ports.perception import ZoomBackend
from openvlharness_core.results import Answered, Crop


@attrs.frozen(kw_only=True)
class ZoomCall:
    """What a caller asks; `image` holds the encoded bytes, the box stands on the 0-1000 grid."""

    image: bytes = attrs.field(repr=False)
    box_xyxy_grid: Box
    padding: int

    async def ask(self, backend: ZoomBackend, take_in: TakeIn, timeout_seconds: float) -> Answered[Crop]:
        image = await take_in(self.image)
        return await backend.crop(image, self.box_xyxy_grid, self.padding, timeout_seconds=timeout_seconds)


def args_to_wire(image: EncodedImage, box_xyxy_grid: Box, padding: int) -> dict[str, object]:
    return {"image": image_to_wire(image), "coords": list(box_xyxy_grid), "padding": padding}


def args_from_wire(args: object) -> ZoomCall:
    """`padding` may be left out. Raises MalformedResultError."""
    fields = Fields.of(args, "").only("image", "coords", "padding")
    x1, y1, x2, y2 = fields.numbers("coords", 4)
    image = bytes_from_wire(fields.value("image"), "image")
    return ZoomCall(image=image, box_xyxy_grid=(x1, y1, x2, y2), padding=fields.find_count("padding") or 0)


def result_to_wire(crop: Crop) -> dict[str, object]:
    """`region` is x1, y1, x2, y2 in whole pixels of the source."""
    return {"image": image_to_wire(crop.image), "region": list(crop.region_xyxy_px)}


def result_from_wire(result: object, codec: ImageCodec) -> Crop:
    """Raises MalformedResultError."""
    fields = Fields.of(result, "")
    region = fields.items("region")
    corners = [corner for corner in region if type(corner) is int]
    if len(corners) != 4 or len(region) != 4:
        raise MalformedResultError("region", f"[x1, y1, x2, y2] in whole pixels, got {got(region)}")
    x1, y1, x2, y2 = corners
    return Crop(image=image_from_wire(fields, "image", codec), region_xyxy_px=(x1, y1, x2, y2))
