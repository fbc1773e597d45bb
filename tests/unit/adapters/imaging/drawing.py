"""Pictures that the tests draw themselves."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from PIL import Image

RED, GREEN, BLUE, WHITE, BLACK = (255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)
EXIF_TO_STORED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
"""How an upright picture has to be turned before it is stored with this orientation tag."""


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    sink = BytesIO()
    image.save(sink, kind, **options)
    return sink.getvalue()


def opened(data: bytes) -> Image.Image:
    image = Image.open(BytesIO(data))
    image.load()
    return image


def quarter(width: int = 40, height: int = 20, colour: tuple[int, int, int] = RED) -> Image.Image:
    """White with one coloured quarter, upper left."""
    image = Image.new("RGB", (width, height), WHITE)
    image.paste(colour, (0, 0, width // 2, height // 2))
    return image


def noise(width: int, height: int, mode: str = "RGB", seed: int = 7) -> Image.Image:
    channels = {"L": (), "LA": (2,), "RGB": (3,), "RGBA": (4,)}[mode]
    values = np.random.default_rng(seed).integers(0, 256, (height, width, *channels), dtype=np.uint8)
    return Image.fromarray(values, mode=None)


def smooth(width: int, height: int) -> Image.Image:
    """A colour gradient, which JPEG keeps nearly as it is."""
    x, y = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([x, y, (x + y) / 2], axis=2).astype(np.uint8))


def exif(orientation: int) -> bytes:
    block = Image.Exif()
    block[0x0112] = orientation
    return block.tobytes()


def stored_with_orientation(upright: Image.Image, orientation: int, kind: str = "JPEG", **options: object) -> bytes:
    turn = EXIF_TO_STORED[orientation]
    stored = upright if turn is None else upright.transpose(turn)
    return saved(stored, kind, exif=exif(orientation), **options)


def one_of_each() -> dict[str, bytes]:
    """A small valid file of every format and of the variants that are read by other paths."""
    rgb, frames = smooth(24, 17), [quarter(24, 17, c) for c in (RED, GREEN, BLUE)]
    animated = {"save_all": True, "append_images": frames[1:], "duration": 50}
    grey16 = Image.fromarray((np.arange(24 * 17).reshape(17, 24) * 160).astype(np.uint16))
    return {
        "jpeg": saved(rgb, "JPEG", quality=90),
        "jpeg_progressive": saved(rgb, "JPEG", progressive=True),
        "jpeg_exif": stored_with_orientation(rgb, 6),
        "jpeg_cmyk": saved(rgb.convert("CMYK"), "JPEG"),
        "png": saved(rgb, "PNG"),
        "png_alpha": saved(noise(24, 17, "RGBA"), "PNG"),
        "png_palette": saved(rgb.quantize(16), "PNG", transparency=3),
        "png_16": saved(grey16, "PNG"),
        "apng": saved(frames[0], "PNG", **animated),
        "gif": saved(rgb, "GIF"),
        "gif_animated": saved(frames[0], "GIF", **animated),
        "webp": saved(rgb, "WEBP"),
        "webp_lossless": saved(noise(24, 17, "RGBA"), "WEBP", lossless=True),
        "webp_animated": saved(frames[0], "WEBP", **animated),
        "webp_exif": stored_with_orientation(rgb, 6, "WEBP"),
        "bmp": saved(rgb, "BMP"),
        "bmp_palette": saved(rgb.quantize(200), "BMP"),
        "tiff": saved(rgb, "TIFF"),
        "tiff_lzw": saved(rgb, "TIFF", compression="tiff_lzw"),
        "tiff_16": saved(grey16, "TIFF"),
        "tiff_big": saved(rgb, "TIFF", big_tiff=True),
        "ico": saved(noise(32, 32, "RGBA"), "ICO", sizes=[(16, 16), (32, 32)]),
        "ico_bmp": saved(noise(32, 32, "RGBA"), "ICO", sizes=[(32, 32)], bitmap_format="bmp"),
        "avif": saved(rgb, "AVIF"),
    }
