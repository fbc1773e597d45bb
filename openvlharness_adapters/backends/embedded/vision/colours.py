"""Names of colours, as sets.

People draw no sharp line between red and orange, so neither does this: around known examples in CIE Lab a colour has
one name, between them it has both, and far from all of them it may have none. Examples that people call by two names
carry both.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.queries import COLOURS, Colour, Tone

Rgb = tuple[int, int, int]

_EXAMPLES: dict[str, tuple[Rgb, ...]] = {
    "red": ((255, 0, 0), (220, 20, 60), (178, 34, 34), (139, 0, 0), (200, 30, 30), (220, 50, 47), (214, 39, 40),
            (244, 67, 54), (192, 0, 0), (255, 60, 60), (100, 0, 0),
            (230, 30, 30), (205, 48, 48), (190, 32, 32), (235, 20, 25), (240, 40, 45), (225, 35, 20), (210, 20, 40)),
    "red orange": ((255, 69, 0), (255, 87, 34), (255, 90, 20)),
    "red pink": ((233, 30, 99), (205, 92, 92), (240, 128, 128), (255, 110, 110)),
    "red pink orange": ((255, 99, 71), (250, 128, 114)),
    "red brown": ((128, 10, 10), (150, 25, 25), (110, 15, 15)),
    "orange": ((255, 165, 0), (255, 140, 0), (255, 127, 14), (255, 128, 0), (243, 156, 18), (230, 126, 34),
               (240, 140, 20), (255, 115, 0)),
    "orange yellow": ((255, 193, 7), (255, 200, 0), (255, 190, 60)),
    "orange brown": ((210, 105, 30), (205, 133, 63), (200, 120, 20), (184, 134, 11)),
    "orange pink": ((255, 160, 122), (255, 180, 140), (255, 218, 185)),
    "yellow": ((255, 255, 0), (240, 240, 0), (241, 206, 25), (255, 235, 59), (250, 220, 40), (230, 220, 30), (210, 205, 50),
               (255, 255, 153), (255, 215, 0), (255, 225, 25), (240, 230, 80)),
    "yellow white": ((255, 255, 224), (255, 250, 205)),
    "yellow green": ((154, 205, 50), (173, 255, 47), (190, 220, 40), (200, 255, 60)),
    "yellow green brown": ((128, 128, 0), (150, 140, 20), (189, 183, 107)),
    "green": ((0, 128, 0), (0, 255, 0), (0, 100, 0), (34, 139, 34), (50, 205, 50), (144, 238, 144), (46, 204, 113),
              (44, 160, 44), (76, 175, 80), (60, 179, 113), (0, 200, 0), (0, 180, 60), (39, 174, 96), (0, 70, 0),
              (110, 200, 60), (85, 130, 50), (0, 150, 0)),
    "green blue nothing": ((0, 128, 128), (0, 255, 255), (64, 224, 208), (32, 178, 170), (26, 188, 156), (0, 200, 170),
                           (23, 190, 207), (0, 90, 90), (175, 238, 238)),
    "blue": ((0, 0, 255), (0, 0, 139), (0, 0, 100), (65, 105, 225), (30, 144, 255), (31, 119, 180), (52, 152, 219),
             (33, 150, 243), (70, 130, 180), (135, 206, 235), (173, 216, 230), (100, 149, 237), (0, 0, 205),
             (30, 60, 200), (0, 102, 204), (41, 128, 185), (20, 40, 120), (30, 60, 255), (50, 100, 255), (100, 150, 255), (160, 200, 240), (150, 190, 255),
             (50, 50, 200), (0, 120, 255), (0, 160, 240), (60, 90, 220)),
    "blue purple": ((75, 0, 130), (106, 90, 205), (90, 0, 220), (72, 61, 139), (110, 40, 240), (150, 140, 230)),
    "purple": ((128, 0, 128), (148, 103, 189), (155, 89, 182), (156, 39, 176), (138, 43, 226), (147, 112, 219),
               (102, 51, 153), (160, 32, 240), (142, 68, 173), (120, 40, 160), (75, 0, 100), (186, 85, 211),
               (150, 50, 200), (145, 30, 180)),
    "purple pink": ((255, 0, 255), (238, 130, 238), (218, 112, 214), (199, 21, 133), (190, 30, 140), (221, 160, 221)),
    "purple pink grey": ((216, 191, 216),),
    "pink": ((255, 192, 203), (255, 182, 193), (255, 105, 180), (255, 20, 147), (227, 119, 194), (255, 150, 180),
             (240, 140, 180), (219, 112, 147), (244, 143, 177), (255, 170, 200)),
    "brown": ((165, 42, 42), (139, 69, 19), (150, 75, 0), (160, 82, 45), (101, 67, 33), (140, 86, 75), (121, 85, 72),
              (110, 70, 40), (92, 64, 51), (130, 80, 40), (120, 60, 20), (90, 45, 15)),
    "brown nothing": ((210, 180, 140), (188, 143, 143), (222, 184, 135)),
    "black brown": ((50, 30, 20),),
    "black": ((0, 0, 0), (15, 15, 15), (30, 30, 30), (38, 38, 38), (30, 22, 20), (20, 24, 32), (22, 30, 22)),
    "black grey": ((52, 52, 52), (62, 62, 62)),
    "black blue": ((20, 20, 60), (10, 10, 50)),
    "black green": ((15, 45, 15),),
    "black red": ((55, 5, 5),),
    "black purple": ((40, 5, 45),),
    "grey": (*((level, level, level) for level in range(76, 217, 7)), (149, 165, 166), (127, 140, 141), (112, 112, 122),
             (145, 135, 130), (175, 170, 180)),
    "grey blue": ((112, 128, 144), (176, 196, 222), (140, 155, 175)),
    "grey brown": ((140, 125, 115),),
    "grey white": ((225, 225, 225), (232, 232, 232)),
    "white": ((255, 255, 255), (248, 248, 248), (241, 241, 241), (250, 250, 242), (242, 246, 250), (250, 244, 246)),
    "white nothing": ((245, 245, 220), (250, 235, 215), (230, 230, 250), (240, 255, 240)),
}  # fmt: skip
"""Examples by the names that people give them; `nothing` stands for a colour that the vocabulary does not name."""

_CLEARLY_CLOSER = 1.5
_WITHIN_NOISE = 4.0
_FAR = 32.0
_NO_HUE = 9.0  # chroma under which nobody sees a hue
_WITHOUT_HUE = ("black", "white", "grey")

# (dark for sure up to, not dark from) of the brightest channel, 0 to 1. A plain green or purple is darker than a plain red.
_DARK: dict[Colour, tuple[float, float]] = {
    "red": (0.58, 0.75), "orange": (0.6, 0.8), "yellow": (0.6, 0.8), "green": (0.42, 0.48), "blue": (0.58, 0.75),
    "purple": (0.36, 0.46), "pink": (0.6, 0.8), "brown": (0.37, 0.48), "black": (1.0, 1.1), "white": (-1.0, 0.0),
    "grey": (0.36, 0.46),
}  # fmt: skip
# (not light up to, light for sure from) of the darkest channel in parts of the brightest; of the channel itself for grey.
_LIGHT: dict[Colour, tuple[float, float]] = {
    "red": (0.3, 0.42), "orange": (0.3, 0.45), "yellow": (0.3, 0.45), "green": (0.32, 0.45), "blue": (0.35, 0.5),
    "purple": (0.35, 0.55), "pink": (0.62, 0.8), "brown": (0.4, 0.6), "black": (1.0, 1.1), "white": (-1.0, 0.0),
    "grey": (0.66, 0.78),
}  # fmt: skip


def lab_of(rgb: NDArray[Any]) -> NDArray[np.float64]:
    """CIE Lab (D65) of RGB values 0-255, shape (..., 3)."""
    linear = np.asarray(rgb, np.float64) / 255
    linear = np.where(linear <= 0.04045, linear / 12.92, ((linear + 0.055) / 1.055) ** 2.4)
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = linear @ matrix.T / np.array([0.9505, 1.0, 1.089])
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = np.moveaxis(root, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


@cache
def _examples() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Lab of every example, and which of the names (those of COLOURS, then nothing) it carries."""
    names = (*COLOURS, "nothing")
    values = [rgb for group in _EXAMPLES.values() for rgb in group]
    carries = [[name in said.split() for name in names] for said, group in _EXAMPLES.items() for _ in group]
    return lab_of(np.array(values)), np.array(carries)


def names_of(rgb: NDArray[Any]) -> frozenset[Colour | None]:
    """The names that RGB values, 0-255, shape (3,) or (n, 3), may carry; `None` among them if one may have none here."""
    lab, carries = _examples()
    seen = lab_of(np.atleast_2d(rgb))
    distances = np.sqrt(((lab - seen[:, None]) ** 2).sum(axis=2))
    nearest = np.where(carries, distances[..., None], np.inf).min(axis=1)
    hueless = np.hypot(seen[:, 1], seen[:, 2]) < _NO_HUE
    has_hue = np.array([name not in _WITHOUT_HUE for name in (*COLOURS, None)])
    nearest[hueless[:, None] & has_hue] = np.inf
    least = nearest.min(axis=1)
    may = nearest <= (least * _CLEARLY_CLOSER + _WITHIN_NOISE)[:, None]
    may[:, -1] |= least > _FAR
    return frozenset(name for name, is_said in zip((*COLOURS, None), may.any(axis=0), strict=True) if is_said)


def has_tone(rgb: NDArray[Any], tone: Tone, colour: Colour | None) -> bool | None:
    """Whether one RGB value is dark or light, as this colour or, without one, at all; `None` if it cannot be told."""
    low, high = float(np.min(rgb)) / 255, float(np.max(rgb)) / 255
    if colour is None:
        lightness = float(lab_of(np.asarray(rgb))[0])
        return _beyond(lightness, 30, 48, below=True) if tone == "dark" else _beyond(lightness, 58, 74, below=False)
    if tone == "dark":
        return _beyond(high, *_DARK[colour], below=True)
    return _beyond(low if colour == "grey" else low / max(high, 1e-6), *_LIGHT[colour], below=False)


def _beyond(value: float, low: float, high: float, *, below: bool) -> bool | None:
    if low < value < high:
        return None
    return (value <= low) is below
