"""Decoding, encoding and drawing pictures. Plain calls: whoever calls them on a loop goes through `Offload`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, get_args

import attrs

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.geometry import Affine
from openvlharness_core.pictures import EncodedImage, ImageHeader, ImageLimits, Picture

Colormap = Literal["inferno", "grayscale", "viridis", "turbo"]
COLORMAPS: tuple[Colormap, ...] = get_args(Colormap)


@attrs.frozen(kw_only=True)
class RenderedImage:
    """A drawing over a picture, and the map from its pixels to the picture's."""

    image: EncodedImage
    to_source: Affine


class ImageCodec(Protocol):
    """Bytes to pictures; called by intake and by capabilities that receive pictures from backends."""

    def probe(self, data: bytes) -> ImageHeader:
        """Say what `data` is from its header and its end, without decoding; quick enough for the loop.

        Raises:
            UnreadableImageError: empty, unknown format, SVG, truncated, zero size, or more pixels than allowed.
        """
        ...

    def take_in(self, data: bytes, limits: ImageLimits) -> Picture:
        """Return the picture in full and as sent.

        Turned upright by its orientation tag, transparency flattened on white, the first frame of an animation, 16-bit
        scaled to 8, CMYK to RGB. Bytes stay as they came where nothing had to change; pixels are decoded only where
        something has to. The sent copy is shrunk and padded to `limits`.

        Raises:
            UnreadableImageError: as `probe`, and damage that decoding shows, where it had to decode.
        """
        ...

    def data_of_url(self, url: str) -> bytes:
        """The bytes of a `data:` URL; the declared type is ignored.

        Raises:
            UnreadableImageError: not base64, or no data URL at all.
        """
        ...

    def crop(self, image: EncodedImage, region_xyxy_px: tuple[int, int, int, int]) -> EncodedImage:
        """The region as an encoded picture of its own: JPEG from JPEG, else PNG.

        Raises:
            UnreadableImageError: pixels that cannot be decoded.
        """
        ...


class EvidenceRenderer(Protocol):
    """Draws what was found so that a model, and a person, see it; called by the perception capabilities.

    Every picture keeps the aspect of its source. Sources whose longer side is under 640 pixels are enlarged by a whole
    factor; `RenderedImage.to_source` maps pixels of the drawing to pixels of the source.
    """

    def overlay(self, image: EncodedImage, detections: Detections) -> RenderedImage:
        """The picture with every detection outlined, filled where it has a mask, and numbered from 1 in the order given.

        Readable with one object and with 300: a palette safe for colour-blind eyes, labels that avoid each other,
        outlines by the size of the picture.

        Raises:
            UnreadableImageError: pixels that cannot be decoded.
        """
        ...

    def depth_view(self, depth: DepthMap, colormap: Colormap) -> RenderedImage:
        """The map in colours, closer is brighter, with an inset scale bar; a flat map is one middle colour."""
        ...

    def trajectory_view(self, trajectory: CameraTrajectory, labels: Sequence[str]) -> EncodedImage:
        """Camera positions from above on the first camera's x-z plane, with headings, axes and scale, one label a camera.

        Where translation is unknown only the headings are drawn, and the picture says so.
        """
        ...
