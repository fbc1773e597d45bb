"""Colours of drawings, safe for colour-blind eyes.

Six out of Paul Tol's qualitative scheme `vibrant` (its grey is left out, for it marks nothing), in an order in which
neighbours differ most. All are of middle lightness, so that they show on white paper as on a night photo.
"""

from __future__ import annotations

Rgb = tuple[int, int, int]

BLACK: Rgb = (0, 0, 0)
WHITE: Rgb = (255, 255, 255)
INKS: tuple[Rgb, ...] = (
    (0, 119, 187),  # blue
    (238, 119, 51),  # orange
    (0, 153, 136),  # teal
    (238, 51, 119),  # magenta
    (51, 187, 238),  # cyan
    (204, 51, 17),  # red
)


def ink_of(position: int) -> Rgb:
    """The ink of whatever stands at `position`, counted from 0."""
    return INKS[position % len(INKS)]


def luminance(colour: Rgb) -> float:
    """Relative luminance of an sRGB colour as WCAG 2 defines it, 0 to 1."""
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour))
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
