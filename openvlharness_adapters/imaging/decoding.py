"""Decodes the first picture of a file, and translates whatever the decoders raise.

Decoders are opened by class, not by guessing, so that nothing but the format we found gets to see the bytes and the
library's own size warning, which is meant for unchecked files, is not raised: sizes are checked before we come here.
"""

from __future__ import annotations

from io import BytesIO

import attrs
from PIL import Image, ImageFile
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.IcoImagePlugin import IcoImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

from openvlharness_adapters.imaging.formats.layout import Decoder, Layout
from openvlharness_adapters.imaging.normalising import WHITE, Normalised, normalised, upright
from openvlharness_core.errors import UnreadableImageError

_CLASSES: dict[Decoder, type[ImageFile.ImageFile]] = {
    "BMP": BmpImageFile,
    "GIF": GifImageFile,
    "ICO": IcoImageFile,
    "JPEG": JpegImageFile,
    "PNG": PngImageFile,
    "TIFF": TiffImageFile,
    "WEBP": WebPImageFile,
}
_CHECK_AGAIN: dict[Decoder, int] = {"GIF": 1, "ICO": 1, "TIFF": 1, "WEBP": 2}
"""Decoders that check sizes themselves, and how many times the library's limit they take in silence."""


def decode(layout: Layout) -> Normalised:
    """The first picture of a file: upright, opaque, 8-bit grey or RGB, of size `layout.upright_hw`.

    Raises:
        UnreadableImageError: damage that only decoding shows, or more pixels than this format's decoder takes.
    """
    height, width = layout.size_hw
    limit = Image.MAX_IMAGE_PIXELS
    if layout.decoder in _CHECK_AGAIN and limit is not None and height * width > limit * _CHECK_AGAIN[layout.decoder]:
        most = limit * _CHECK_AGAIN[layout.decoder]
        raise UnreadableImageError(
            f"the decoder of {layout.media_type} takes at most {most} pixels, got {height * width}"
        )
    try:
        image = _open(layout)
        image.load()
        found = normalised(image, transparent=layout.transparent)
    except Exception as error:  # decoders answer damage with anything from SyntaxError to MemoryError
        reason = str(error) or type(error).__name__
        raise UnreadableImageError(f"damaged {layout.media_type}: its pixels cannot be decoded ({reason})") from error
    found = _on_canvas(found, layout)
    if found.image.size != (width, height):
        got = f"{found.image.width}x{found.image.height}"
        raise UnreadableImageError(f"damaged {layout.media_type}: expected {width}x{height} pixels, got {got}")
    return attrs.evolve(found, image=upright(found.image, layout.orientation))


def _open(layout: Layout) -> ImageFile.ImageFile:
    source = BytesIO(layout.still())
    if layout.decoder == "AVIF":
        from PIL.AvifImagePlugin import AvifImageFile  # here, for the library behind it is large and rarely needed

        return AvifImageFile(source)
    return _CLASSES[layout.decoder](source)


def _on_canvas(found: Normalised, layout: Layout) -> Normalised:
    """A first frame that covers only a part of its canvas lies on white."""
    height, width = layout.size_hw
    if layout.decoder != "GIF" or found.image.size == (width, height):
        return found
    canvas = Image.new(found.image.mode, (width, height), WHITE if found.image.mode == "L" else (WHITE,) * 3)
    canvas.paste(found.image, layout.placed_xy_px)
    return attrs.evolve(found, image=canvas)
