"""A fake renderer: drawings in the tiny format of `fake_image`, whose bytes say what was drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import attrs

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.imaging import Colormap, RenderedImage
from openvlharness_core.testing.images import fake_image

_READABLE_SIDE = 640


@attrs.define
class FakeRenderer:
    """Draws nothing: the picture it hands out has the right size and names what it should show. Remembers its calls."""

    drawn: list[str] = attrs.field(factory=list, init=False)

    def overlay(self, image: EncodedImage, detections: Detections) -> RenderedImage:
        """`overlay of N objects on DIGEST`."""
        if image.size_hw != detections.size_hw:
            raise ValueError(f"image: expected {list(detections.size_hw)} [height, width], got {list(image.size_hw)}")
        boxes = detections.boxes_xyxy_px.tolist()
        return self._rendered(image.size_hw, f"overlay of {len(detections)} objects on {image.digest[:12]}: {boxes}")

    def depth_view(self, depth: DepthMap, colormap: Colormap) -> RenderedImage:
        """`depth from NEAREST to FARTHEST in COLORMAP`."""
        if colormap not in get_args(Colormap):
            raise ValueError(f"colormap: expected one of {', '.join(get_args(Colormap))}, got {colormap!r}")
        near, far = float(depth.values.min()), float(depth.values.max())
        return self._rendered(depth.size_hw, f"depth from {near:g} to {far:g} in {colormap}")

    def trajectory_view(self, trajectory: CameraTrajectory, labels: Sequence[str]) -> EncodedImage:
        """`trajectory of LABELS`."""
        if len(labels) != len(trajectory):
            raise ValueError(f"labels: expected one for each of {len(trajectory)} cameras, got {len(labels)}")
        return self._image((_READABLE_SIDE, _READABLE_SIDE), f"trajectory of {', '.join(labels)}")

    def _rendered(self, source_hw: tuple[int, int], content: str) -> RenderedImage:
        factor = max(1, -(-_READABLE_SIDE // max(source_hw)))
        image = self._image((source_hw[0] * factor, source_hw[1] * factor), content)
        return RenderedImage(image=image, to_source=((1 / factor, 0.0, 0.0), (0.0, 1 / factor, 0.0)))

    def _image(self, size_hw: tuple[int, int], content: str) -> EncodedImage:
        self.drawn.append(content)
        return EncodedImage(data=fake_image(*size_hw, content), media_type="image/png", size_hw=size_hw)
