"""Depth: how far every pixel of a picture is, as a coloured map and as an array for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import attrs
import numpy as np

from openvlharness_core.calls import Findings, NewBinding, NewImage, Registered
from openvlharness_core.capabilities.answered import value_of
from openvlharness_core.capabilities.base import IMAGE_ID, object_schema
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.regions import region_note, to_source_field, to_source_note
from openvlharness_core.depth import DepthMap
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ImagePart, Part, TextPart
from openvlharness_core.ports.imaging import COLORMAPS, Colormap, EvidenceRenderer
from openvlharness_core.ports.perception import DepthBackend
from openvlharness_core.prompts import PromptBundle

_PARAMETERS = object_schema(
    {
        "image_id": IMAGE_ID,
        "colormap": {
            "type": "string",
            "enum": list(COLORMAPS),
            "default": "inferno",
            "description": "Colours of the map; closer is brighter in each.",
        },
    },
    ("image_id",),
)
_NOTES = {
    "depth_meters": "distance of each pixel, [y, x] in pixels of image_id, larger is farther; metres only if is_metric",
    "depth_shape": "[height, width] of depth_meters",
    "size": "[height, width] of image_id",
    "is_metric": "whether distances are metres; otherwise only their order and ratios mean something",
}


@attrs.frozen(kw_only=True)
class DepthCapability:
    """Estimates the depth of a picture.

    Canonical data: `image_id`, `colormap`, `depth_shape` and `size` ([height, width]), `is_metric`, `nearest`,
    `median`, `farthest`, `binding`; the array is in the binding `depth_result`.
    """

    backend: DepthBackend
    renderer: EvidenceRenderer
    timeout_seconds: float = 300.0
    key: str = attrs.field(default="depth", init=False)
    name: str = attrs.field(default="Depth_Estimation_Tool", init=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        """An image and a colour map."""
        return _PARAMETERS

    def description(self, prompts: PromptBundle) -> str:
        """In the bundle's words."""
        return prompts.text("tool_depth")

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        """Ask the backend and colour its map."""
        colormap = cast(Colormap, arguments["colormap"])
        record, picture = await hands.image(str(arguments["image_id"]))
        answered = await hands.within(
            self.timeout_seconds, "depth", self.backend.estimate(picture.full, timeout_seconds=self.timeout_seconds)
        )
        depth = value_of(answered, DepthMap, "depth")
        if depth.size_hw != picture.full.size_hw:
            expected = f"the size of {record.handle}, {list(picture.full.size_hw)}, got {list(depth.size_hw)}"
            raise MalformedResultError("depth.values", expected, usage=answered.usage)
        drawn = await hands.offload.run(lambda: self.renderer.depth_view(depth, colormap))
        nearest, median, farthest = await hands.offload.run(lambda: _spread(depth))
        drawing = await hands.take_in(drawn.image.data)
        size = list(depth.size_hw)
        fields = {
            "depth_meters": depth.values,
            "depth_shape": size,
            "size": size,
            "is_metric": depth.is_metric,
            "colormap": colormap,
            "image_id": record.handle,
        } | to_source_field(record.handle, hands.workspace)
        notes = _NOTES | to_source_note(record.handle, hands.workspace)
        binding = NewBinding(stem="depth_result", fields=fields, notes=notes, image_id=record.handle)
        data = {
            "image_id": record.handle,
            "colormap": colormap,
            "depth_shape": size,
            "size": size,
            "is_metric": depth.is_metric,
            "nearest": nearest,
            "median": median,
            "farthest": farthest,
            "binding": hands.workspace.name_for(binding),
        }
        image = NewImage(picture=drawing, parents=(record.handle,), to_source=drawn.to_source)
        return Findings.of(answered, data, images=(image,), bindings=(binding,))

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        """Shape, range and the coloured map."""
        data, drawing = findings.data, registered.images[0]
        handle = str(data["image_id"])
        metric = bool(data["is_metric"])
        text = prompts.text(
            "depth_metric" if metric else "depth_relative",
            image=handle,
            shape=data["depth_shape"],
            nearest=_rounded(data["nearest"]),
            median=_rounded(data["median"]),
            farthest=_rounded(data["farthest"]),
        )
        if data["binding"]:
            text += "\n" + prompts.text("kept_in_binding", binding=data["binding"])
        picture = workspace.images.resolve(drawing).picture
        assert picture is not None
        return (
            TextPart(text=text),
            *region_note(handle, workspace, prompts),
            TextPart(text=prompts.text("depth_picture", handle=drawing)),
            ImagePart(handle=drawing, image=picture.sent),
        )


def _spread(depth: DepthMap) -> tuple[float, float, float]:
    median = float(np.median(depth.values.astype(np.float64)))  # float32 could not add the two in the middle
    return float(depth.values.min()), median, float(depth.values.max())


def _rounded(value: object) -> str:
    number = cast(float, value)
    return f"{number:.0f}" if 1e4 <= number < 1e15 else f"{number:.4g}"
