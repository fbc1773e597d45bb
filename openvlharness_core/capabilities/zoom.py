"""Zoom: a region of a picture as a picture of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import attrs

from openvlharness_core.calls import Findings, NewImage, Registered
from openvlharness_core.capabilities.answered import value_of
from openvlharness_core.capabilities.base import IMAGE_ID, object_schema
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.regions import region_note
from openvlharness_core.errors import MalformedResultError, ToolFailure, UnreadableImageError
from openvlharness_core.geometry import Box, grid_to_pixels, translation
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ImagePart, Part, TextPart
from openvlharness_core.pictures import Picture
from openvlharness_core.ports.perception import ZoomBackend
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.results import Crop
from openvlharness_core.usage import Spent

_PARAMETERS = object_schema(
    {
        "image_id": IMAGE_ID,
        "coords": {
            "type": "array",
            "items": {"type": "number", "minimum": 0, "maximum": 1000},
            "minItems": 4,
            "maxItems": 4,
            "description": "[x1, y1, x2, y2] on the 0-1000 grid, x first; x1 < x2 and y1 < y2.",
        },
        "padding": {
            "type": "integer",
            "minimum": 0,
            "default": 0,
            "description": "Pixels of the source image to add on each side.",
        },
    },
    ("image_id", "coords"),
)


@attrs.frozen(kw_only=True)
class ZoomCapability:
    """Cuts the region `coords`, given on the 0-1000 grid, out of a picture.

    Canonical data: `image_id`, `coords`, `padding`, `region_xyxy_px` in source pixels, `size_hw` of the crop.
    """

    backend: ZoomBackend
    timeout_seconds: float = 300.0
    key: str = attrs.field(default="zoom", init=False)
    name: str = attrs.field(default="Zoom_In_Tool", init=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        return _PARAMETERS

    def description(self, prompts: PromptBundle) -> str:
        return prompts.text("tool_zoom")

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        record, picture = await hands.image(str(arguments["image_id"]))
        coords = cast(Box, tuple(cast("list[float]", arguments["coords"])))
        padding = cast(int, arguments["padding"])
        try:
            asked = grid_to_pixels(coords, picture.full.size_hw, padding)
        except ValueError as error:
            raise ToolFailure("invalid_tool_arguments", f"coords: {error}") from None
        answered = await hands.within(
            self.timeout_seconds,
            "zoom",
            self.backend.crop(picture.full, coords, padding, timeout_seconds=self.timeout_seconds),
        )
        cut = value_of(answered, Crop, "zoom")
        region = cut.region_xyxy_px
        if tuple(region) != asked:
            expected = f"{list(asked)}, the pixels under the box that was asked for, got {list(region)!s:.80}"
            raise MalformedResultError("region", expected, usage=answered.usage)
        crop = NewImage(
            picture=await _taken_in(cut, hands, answered.usage),
            parents=(record.handle,),
            to_source=translation(region[0], region[1]),
        )
        data = {
            "image_id": record.handle,
            "coords": list(coords),
            "padding": padding,
            "region_xyxy_px": list(region),
            "size_hw": list(cut.image.size_hw),
        }
        return Findings.of(answered, data, images=(crop,))

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        data, handle = findings.data, registered.images[0]
        height, width = cast("list[int]", data["size_hw"])
        text = prompts.text(
            "zoom", image=data["image_id"], handle=handle, region=data["region_xyxy_px"], size=f"{width}x{height}"
        )
        picture = workspace.images.resolve(handle).picture
        assert picture is not None
        source = str(data["image_id"])
        of_crop = region_note(handle, workspace, prompts) if workspace.images.origin(source)[0] != source else ()
        return TextPart(text=text), *of_crop, ImagePart(handle=handle, image=picture.sent)


async def _taken_in(cut: Crop, hands: Hands, usage: tuple[Spent, ...]) -> Picture:
    """The crop as a picture, if it is one of the size that it claims."""
    try:
        picture = await hands.take_in(cut.image.data)
    except UnreadableImageError as error:
        raise MalformedResultError("image", f"the crop as a picture, got {error.problem:.200}", usage=usage) from error
    if picture.full.size_hw != cut.image.size_hw:
        expected = f"{list(cut.image.size_hw)} [height, width] as it says, got {list(picture.full.size_hw)}"
        raise MalformedResultError("image.size", expected, usage=usage)
    return picture
