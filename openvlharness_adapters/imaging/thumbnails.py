"""Pixels of encoded bytes, and small encoded copies of pixels, for whoever keeps many pictures."""

from __future__ import annotations

import attrs
import numpy as np
from PIL import Image

from openvlharness_adapters.imaging.cache import Pixels
from openvlharness_adapters.imaging.codec import MAX_PIXELS
from openvlharness_adapters.imaging.decoding import decode
from openvlharness_adapters.imaging.encoding import JPEG, encoded
from openvlharness_adapters.imaging.scanning import scan

THUMBNAIL_SIDE = 256


@attrs.frozen(kw_only=True)
class Thumbnails:
    """Decodes bytes without keeping anything, and makes small copies. Any thread may call.

    Attributes:
        max_pixels: larger pictures are refused before anything is decoded.
        side: longer side of a small copy; a picture that is smaller keeps its size.
    """

    max_pixels: int = MAX_PIXELS
    side: int = attrs.field(default=THUMBNAIL_SIDE, validator=attrs.validators.ge(1))

    def decoded(self, data: bytes) -> Pixels:
        """uint8, shape (height, width, 3), RGB: upright, opaque, the first frame.

        Raises:
            UnreadableImageError: no picture, damaged, or too large.
        """
        image = decode(scan(data, self.max_pixels)).image
        return np.asarray(image if image.mode == "RGB" else image.convert("RGB"), dtype=np.uint8)

    def small(self, pixels: Pixels) -> bytes:
        """A JPEG of at most `side` pixels on the longer side."""
        image = Image.fromarray(np.ascontiguousarray(pixels))
        image.thumbnail((self.side, self.side), Image.Resampling.LANCZOS, reducing_gap=2.0)
        return encoded(image, JPEG).data
