"""Evidence pictures through Pillow: each drawing has its own module, here they meet the encoded world."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from PIL import Image

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.depth_view import draw_depth
from openvlharness_adapters.imaging.encoding import PNG, encoded
from openvlharness_adapters.imaging.enlarging import back_to_source, whole_factor
from openvlharness_adapters.imaging.overlays import draw_overlay
from openvlharness_adapters.imaging.trajectory_view import draw_trajectory
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.imaging import Colormap, RenderedImage


@attrs.frozen(kw_only=True)
class PillowRenderer:
    """The `EvidenceRenderer` of the app. Any thread may call; equal arguments give equal bytes.

    Attributes:
        codec: decodes, and keeps what it decoded for the next call.
    """

    codec: PillowCodec

    def overlay(self, image: EncodedImage, detections: Detections) -> RenderedImage:
        """See `EvidenceRenderer` and `overlays.draw_overlay`. JPEG over a JPEG, else PNG.

        Raises:
            UnreadableImageError: pixels that cannot be decoded.
            ValueError: detections of a picture of another size.
        """
        return _rendered(draw_overlay(self.codec.pixels(image), detections), image.media_type, image.size_hw)

    def depth_view(self, depth: DepthMap, colormap: Colormap) -> RenderedImage:
        """See `EvidenceRenderer` and `depth_view.draw_depth`. PNG.

        Raises:
            ValueError: an unknown colour map.
        """
        return _rendered(draw_depth(depth, colormap), PNG, depth.size_hw)

    def trajectory_view(self, trajectory: CameraTrajectory, labels: Sequence[str]) -> EncodedImage:
        """See `EvidenceRenderer` and `trajectory_view.draw_trajectory`. PNG.

        Raises:
            ValueError: not one label a camera.
        """
        return encoded(draw_trajectory(trajectory, labels), PNG)


def _rendered(drawn: Image.Image, media_type: str, source_hw: tuple[int, int]) -> RenderedImage:
    return RenderedImage(image=encoded(drawn, media_type), to_source=back_to_source(whole_factor(source_hw)))
