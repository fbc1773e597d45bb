"""Decoding and encoding pictures. Plain calls: whoever calls them on a loop goes through `Offload`."""

from __future__ import annotations

from typing import Protocol

from openvlharness_core.pictures import EncodedImage, ImageHeader, ImageLimits, Picture


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
