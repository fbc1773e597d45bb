"""Pictures through Pillow: taken in, cut, and as pixels for whoever computes with them."""

from __future__ import annotations

import attrs
import numpy as np
from PIL import Image

from openvlharness_adapters.imaging import data_urls
from openvlharness_adapters.imaging.cache import DecodedPictures, Pixels
from openvlharness_adapters.imaging.decoding import decode
from openvlharness_adapters.imaging.encoding import encoded, fits, fitted
from openvlharness_adapters.imaging.focal import carried_exif
from openvlharness_adapters.imaging.formats.layout import Layout
from openvlharness_adapters.imaging.normalising import Normalised
from openvlharness_adapters.imaging.scanning import scan
from openvlharness_core.errors import UnreadableImageError
from openvlharness_core.geometry import PixelBox
from openvlharness_core.pictures import SENDABLE_MEDIA_TYPES, EncodedImage, ImageHeader, ImageLimits, Picture, digest_of

MAX_PIXELS = 89_478_485
DECODED_CACHE_BYTES = 256 << 20  # seven photos of 12 megapixels


@attrs.define(kw_only=True, eq=False)
class PillowCodec:
    """The `ImageCodec` of the app, and the one door to decoded pixels for backends in this process. Any thread may call.

    Attributes:
        max_pixels: larger pictures are refused before anything is decoded.
        decoded_cache_bytes: bound of the pixels that are kept for the next call.
    """

    max_pixels: int = MAX_PIXELS
    decoded_cache_bytes: int = DECODED_CACHE_BYTES
    _decoded: DecodedPictures = attrs.field(init=False)

    @_decoded.default
    def _empty(self) -> DecodedPictures:
        return DecodedPictures(max_bytes=self.decoded_cache_bytes)

    @property
    def held_bytes(self) -> int:
        """Bytes of decoded pixels kept at the moment, never above `decoded_cache_bytes`."""
        return self._decoded.held_bytes

    def probe(self, data: bytes) -> ImageHeader:
        """See `ImageCodec`. Walks the file's structure; no pixel is decoded."""
        layout = scan(data, self.max_pixels)
        return ImageHeader(
            media_type=layout.media_type,
            size_hw=layout.upright_hw,
            orientation=layout.orientation,
            frames=layout.frames,
            sendable=_stays(layout) and not layout.has_alpha,
        )

    def take_in(self, data: bytes, limits: ImageLimits) -> Picture:
        """See `ImageCodec`. Sides and ratio of `limits` count here; `encoding.fitted` says how they are met."""
        layout = scan(data, self.max_pixels)
        notes = () if layout.frames == 1 else (f"first of {layout.frames} {layout.frames_are}",)
        digest = digest_of(data)
        found: Normalised | None = None
        if not _stays(layout) or layout.has_alpha:
            found = decode(layout)
        if _stays(layout) and (found is None or not found.changed):
            full = EncodedImage(data=data, media_type=layout.media_type, size_hw=layout.upright_hw)
        else:
            assert found is not None
            full = encoded(found.image, layout.media_type, found.icc_profile, carried_exif(data))
        sent = full
        if not fits(full.size_hw, limits):
            found = found or decode(layout)
            sent = encoded(fitted(found.image, limits), full.media_type, found.icc_profile)
        if found is not None and (full.data is data or full.media_type != "image/jpeg"):
            # Kept for the tools. Pixels that went through JPEG once more are not those of `full`: they must not stand in.
            self._decoded.put(full.digest, _pixels_of(found.image))
        return Picture(full=full, sent=sent, digest=digest, notes=notes)

    def data_of_url(self, url: str) -> bytes:
        """See `ImageCodec` and `data_urls.data_of_url`."""
        return data_urls.data_of_url(url)

    def crop(self, image: EncodedImage, region_xyxy_px: PixelBox) -> EncodedImage:
        """See `ImageCodec`.

        Raises:
            ValueError: a region that is empty or reaches beyond the picture.
        """
        x1, y1, x2, y2 = region_xyxy_px
        height, width = image.size_hw
        if not (0 <= x1 < x2 <= width and 0 <= y1 < y2 <= height):
            raise ValueError(f"region: expected pixels inside {width}x{height}, got {[x1, y1, x2, y2]}")
        return encoded(Image.fromarray(self.pixels(image)[y1:y2, x1:x2]), image.media_type)

    def pixels(self, image: EncodedImage) -> Pixels:
        """uint8, shape (height, width, 3), RGB, locked: copy before writing.

        Raises:
            UnreadableImageError: pixels that cannot be decoded, or not of `image.size_hw`.
        """
        return self._decoded.get(image.digest, lambda: self._decode(image))

    def decoded(self, image: EncodedImage) -> Image.Image:
        """The picture in mode RGB, the caller's own to draw on. Raises as `pixels`."""
        return Image.fromarray(self.pixels(image))

    def _decode(self, image: EncodedImage) -> Pixels:
        layout = scan(image.data, self.max_pixels)
        if layout.upright_hw != image.size_hw:
            (height, width), (got_height, got_width) = image.size_hw, layout.upright_hw
            raise UnreadableImageError(f"expected {width}x{height} pixels, got {got_width}x{got_height}")
        return _pixels_of(decode(layout).image)


def _stays(layout: Layout) -> bool:
    """Whether the bytes can be shown as they are, unless a pixel turns out to be transparent."""
    return (
        layout.media_type in SENDABLE_MEDIA_TYPES
        and layout.orientation == 1
        and layout.frames == 1
        and layout.is_common
    )


def _pixels_of(image: Image.Image) -> Pixels:
    pixels: Pixels = np.asarray(image if image.mode == "RGB" else image.convert("RGB"), dtype=np.uint8)
    pixels.setflags(write=False)
    return pixels
