"""From whatever a decoder gives to upright, opaque 8-bit grey or RGB.

Colour: pixels with a profile are left as they are and the profile goes along, because models and tools read numbers and
not colours; only CMYK goes through its profile, since none of it survives the change to RGB.
Depth: 16 bits are divided by 257, so that 0 stays black and 65535 white. Whole and broken numbers of 32 bits say
nowhere what white is: 0 to 255 (0 to 1 if broken), else 0 to 65535, else from the smallest to the largest value.
"""

from __future__ import annotations

from io import BytesIO

import attrs
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

WHITE = 255
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_AS_IT_IS = {"L", "RGB"}
_ALPHA = {"RGBA", "LA", "PA", "RGBa", "La"}


@attrs.frozen(kw_only=True)
class Normalised:
    """A picture in mode L or RGB.

    Attributes:
        image: the pixels.
        changed: whether they say something else than the decoder's did; a fully opaque alpha channel says nothing.
        icc_profile: the colour profile that belongs to the pixels, if any.
    """

    image: Image.Image
    changed: bool
    icc_profile: bytes | None


def normalised(image: Image.Image, *, transparent: tuple[int, ...] | None = None) -> Normalised:
    """`image` as opaque 8-bit grey or RGB.

    Args:
        image: decoded, of any mode.
        transparent: the colour that means transparent, one number a channel of `image`.

    Raises:
        ValueError: a mode that has no way to RGB.
    """
    profile = image.info.get("icc_profile")
    alpha = None if transparent is None else _alpha_of_key(image, transparent)
    changed = False
    if image.mode in _ALPHA or (image.mode == "P" and "transparency" in image.info):
        image = image.convert("LA" if image.mode in ("LA", "La") else "RGBA")
        alpha = image.getchannel("A")
        image = image.convert("L" if image.mode == "LA" else "RGB")
    elif image.mode == "CMYK":
        image, changed = _rgb_of_cmyk(image, profile), True
        profile = None
    elif image.mode.startswith(("I", "F")):
        image, changed = _eight_bit(image), True
    elif image.mode not in _AS_IT_IS:
        grey = image.mode == "1"
        image = image.convert("L" if grey else "RGB")
    if alpha is not None and alpha.getextrema() != (255, 255):
        canvas = Image.new(image.mode, image.size, WHITE if image.mode == "L" else (WHITE,) * 3)
        canvas.paste(image, mask=alpha)
        image, changed = canvas, True
    return Normalised(image=image, changed=changed, icc_profile=_fitting(profile, image.mode))


def upright(image: Image.Image, orientation: int) -> Image.Image:
    """`image` turned as its EXIF orientation, 1 to 8, asks for."""
    turn = _TURNS.get(orientation)
    return image if turn is None else image.transpose(turn)


def _alpha_of_key(image: Image.Image, transparent: tuple[int, ...]) -> Image.Image:
    pixels = np.asarray(image if image.mode != "1" else image.convert("L"))
    is_key = pixels == np.array(transparent, dtype=np.int64) if pixels.ndim == 3 else pixels == transparent[0]
    hidden = is_key.all(axis=2) if is_key.ndim == 3 else is_key
    return Image.fromarray(np.where(hidden, 0, 255).astype(np.uint8))


def _rgb_of_cmyk(image: Image.Image, profile: bytes | None) -> Image.Image:
    """RGB of true ink amounts (the decoder has undone the inversion that JPEG files carry)."""
    if profile:
        try:
            converted = ImageCms.profileToProfile(
                image, ImageCms.ImageCmsProfile(BytesIO(profile)), ImageCms.createProfile("sRGB"), outputMode="RGB"
            )
        except (ImageCms.PyCMSError, OSError, ValueError):  # a broken profile must not cost the picture
            converted = None
        if converted is not None:
            return converted
    return image.convert("RGB")


def _eight_bit(image: Image.Image) -> Image.Image:
    values = np.asarray(image)
    if image.mode.startswith("I;16"):
        return Image.fromarray(((values.astype(np.uint32) + 128) // 257).astype(np.uint8))
    floats = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    return Image.fromarray(np.rint(_stretched(floats, is_broken=image.mode == "F")).astype(np.uint8))


def _stretched(values: NDArray[np.float64], *, is_broken: bool) -> NDArray[np.float64]:
    low, high = float(values.min()), float(values.max())
    if low >= 0:
        for white in (1.0, 255.0, 65535.0) if is_broken else (255.0, 65535.0):
            if high <= white:
                return values * (WHITE / white)
    # Halved first: the distance between two doubles can be more than a double holds.
    span = high / 2 - low / 2
    return (values / 2 - low / 2) * (WHITE / span) if span > 0 else np.full_like(values, WHITE / 2)


def _fitting(profile: bytes | None, mode: str) -> bytes | None:
    """The profile, if it describes this many channels: a wrong one turns colours upside down for whoever heeds it."""
    space = {"L": b"GRAY", "RGB": b"RGB "}[mode]
    return profile if isinstance(profile, bytes) and profile[16:20] == space else None
