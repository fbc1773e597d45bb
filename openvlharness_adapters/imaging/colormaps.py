"""Colour maps of depth as tables: 256 entries, dark to bright, none darker than the one before.

* `grayscale`: black to white.
* `inferno`, `viridis`: N. Smith and S. van der Walt for matplotlib (2015, CC0), through the polynomials of degree 6 that
  M. Zucker fitted to their tables (Shadertoy WlfXRN, CC0).
* `turbo`: A. Mikhailov (2019), through the polynomial of degree 5 that R. Du published with it. It runs from dark over
  yellow to dark red again, so that its end would look as far away as its start. Only the part that rises is used, from
  dark blue over cyan and green to its brightest yellow-green, spread over the whole table.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.imaging.palette import luminance
from openvlharness_core.ports.imaging import COLORMAPS, Colormap

ENTRIES = 256

_Coefficients = tuple[tuple[float, float, float], ...]  # of x^0, x^1, …, each for red, green and blue from 0 to 1

_INFERNO: _Coefficients = (
    (0.000218940, 0.001651005, -0.019480898),
    (0.106513419, 0.563956437, 3.932712389),
    (11.602493082, -3.972853966, -15.942394106),
    (-41.703996131, 17.436398882, 44.354145199),
    (77.162935699, -33.402358942, -81.807309257),
    (-71.319428245, 32.626064264, 73.209519858),
    (25.131126225, -12.242668952, -23.070325003),
)
_VIRIDIS: _Coefficients = (
    (0.277727327, 0.005407345, 0.334099805),
    (0.105093043, 1.404613530, 1.384590163),
    (-0.330861829, 0.214847559, 0.095095163),
    (-4.634230499, -5.799100973, -19.332440956),
    (6.228269936, 14.179933367, 56.690552601),
    (4.776384998, -13.745145378, -65.353032633),
    (-5.435455856, 4.645852612, 26.312435250),
)
_TURBO: _Coefficients = (
    (0.13572138, 0.09140261, 0.10667330),
    (4.61539260, 2.19418839, 12.64194608),
    (-42.66032258, 4.84296658, -60.58204836),
    (132.13108234, -14.18503333, 110.36276771),
    (-152.94239396, 4.27729857, -89.90310912),
    (59.28637943, 2.82956604, 27.34824973),
)
_GRAYSCALE: _Coefficients = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))

_TURBO_PEAK = 0.48
"""Where turbo is brightest: its relative luminance rises up to here and falls afterwards."""
_CURVES: dict[Colormap, tuple[_Coefficients, float]] = {
    "inferno": (_INFERNO, 1.0),
    "grayscale": (_GRAYSCALE, 1.0),
    "viridis": (_VIRIDIS, 1.0),
    "turbo": (_TURBO, _TURBO_PEAK),
}


@lru_cache(maxsize=len(COLORMAPS))
def colours(colormap: Colormap) -> NDArray[np.uint8]:
    """uint8 (256, 3), RGB, locked; 0 is darkest.

    Raises:
        ValueError: a name that is none of `COLORMAPS`.
    """
    if colormap not in _CURVES:
        raise ValueError(f"colormap: expected one of {', '.join(COLORMAPS)}, got {colormap!r}")
    coefficients, end = _CURVES[colormap]
    at = np.linspace(0.0, end, ENTRIES)[:, None]
    values = np.zeros((ENTRIES, 3))
    for row in reversed(coefficients):  # Horner
        values = values * at + np.array(row)
    table: NDArray[np.uint8] = np.rint(np.clip(values, 0.0, 1.0) * 255).astype(np.uint8)
    for entry in range(1, ENTRIES):  # the fits, rounded to 8 bits, fall by a hair here and there
        if _light(table[entry]) < _light(table[entry - 1]):
            table[entry] = table[entry - 1]
    table.setflags(write=False)
    return table


def _light(colour: NDArray[np.uint8]) -> float:
    red, green, blue = colour.tolist()
    return luminance((red, green, blue))
