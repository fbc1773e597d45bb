"""Colours of drawings: safe for colour-blind eyes, and grounds on which lettering stands out.

Six fills out of Paul Tol's qualitative scheme `vibrant` (its grey is left out, for it marks nothing), in an order in
which neighbours differ most. All are of middle lightness, so that they show on white paper as on a night photo.
"""

from __future__ import annotations

import attrs

Rgb = tuple[int, int, int]

BLACK: Rgb = (0, 0, 0)
WHITE: Rgb = (255, 255, 255)
LEAST_CONTRAST = 7.0
"""What WCAG 2 asks of text at its strictest (success criterion 1.4.6). At 4.5 to 6, readers began to miss digits."""

_TOWARDS_WHITE = 0.55


@attrs.frozen(kw_only=True)
class Ink:
    """One colour in its three uses.

    Attributes:
        fill: lines and areas.
        ground: the same hue so light that text reads on it.
        text: the black or white that reads on `ground`.
    """

    fill: Rgb
    ground: Rgb
    text: Rgb


def luminance(colour: Rgb) -> float:
    """Relative luminance of an sRGB colour as WCAG 2 defines it, 0 to 1."""
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour))
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: Rgb, other: Rgb) -> float:
    """Contrast ratio of two colours, 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _ink(fill: Rgb) -> Ink:
    red, green, blue = (round(value + (255 - value) * _TOWARDS_WHITE) for value in fill)
    ground = (red, green, blue)
    return Ink(fill=fill, ground=ground, text=max((BLACK, WHITE), key=lambda text: contrast(text, ground)))


INKS: tuple[Ink, ...] = tuple(
    _ink(fill)
    for fill in (
        (0, 119, 187),  # blue
        (238, 119, 51),  # orange
        (0, 153, 136),  # teal
        (238, 51, 119),  # magenta
        (51, 187, 238),  # cyan
        (204, 51, 17),  # red
    )
)


def ink_of(position: int) -> Ink:
    """The ink of whatever stands at `position`, counted from 0."""
    return INKS[position % len(INKS)]
