from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from openvlharness_adapters.imaging.palette import BLACK, INKS, WHITE, Rgb, ink_of, luminance

# Linear RGB as dichromats see it; G. Machado, M. Oliveira and L. Fernandes (2009), severity 1.0.
_BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "none": np.eye(3).tolist(),
}


def contrast(one: Rgb, other: Rgb) -> float:
    """Contrast ratio of two colours as WCAG 2 defines it, 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _lab(colour: Rgb, matrix: list[list[float]]) -> np.ndarray:
    """CIE L*a*b* (D65) of an sRGB colour seen through `matrix`."""
    srgb = np.array(colour) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(matrix) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = (to_xyz @ seen) / np.array([0.9505, 1.0, 1.089])
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def test_contrast_is_that_of_wcag() -> None:
    assert contrast(BLACK, WHITE) == pytest.approx(21)
    assert contrast(WHITE, (119, 119, 119)) == pytest.approx(4.48, abs=0.01)  # the usual example of just too little
    assert luminance((255, 0, 0)) == pytest.approx(0.2126)


def test_lines_show_on_black_and_on_white() -> None:
    assert min(contrast(ink, paper) for ink in INKS for paper in (BLACK, WHITE)) >= 2


@pytest.mark.parametrize("kind", _BLINDNESS)
def test_colour_blind_eyes_tell_fills_apart(kind: str) -> None:
    seen = [_lab(ink, _BLINDNESS[kind]) for ink in INKS]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) > 12


def test_a_careless_palette_would_not_pass() -> None:
    red, green = ((204, 51, 17), (110, 90, 20))
    seen = [_lab(colour, _BLINDNESS["protanopia"]) for colour in (red, green)]
    assert float(np.linalg.norm(seen[0] - seen[1])) < 12


def test_inks_come_again_in_turn() -> None:
    assert [ink_of(n) for n in range(2 * len(INKS))] == [*INKS, *INKS]
