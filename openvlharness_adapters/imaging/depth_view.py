"""A depth map in colours: closer is brighter, with its scale inset.

Colours are spread linearly between two depths. These are the 2nd and the 98th percentile, so that a few stray pixels do
not squeeze all others into one colour; beyond them the end colours go on, and the scale says so with `<` and `>`. Where the
two percentiles are one (a small object before a flat wall), the least and the greatest depth take their place. Large maps
are sampled evenly for the percentiles.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from openvlharness_adapters.imaging.colormaps import ENTRIES, colours
from openvlharness_adapters.imaging.colour_bar import Scale, draw_bar
from openvlharness_adapters.imaging.enlarging import enlarged, whole_factor
from openvlharness_adapters.imaging.round_numbers import in_words
from openvlharness_core.depth import DepthMap
from openvlharness_core.ports.imaging import Colormap

PERCENTILES = (2.0, 98.0)
_SAMPLED = 1_000_000  # pixels that the percentiles are taken of, about
_ROUNDING = 1e-6  # of the depth: what float32 adds to a map that is flat
_STRIP_PIXELS = 1_000_000


@attrs.frozen(kw_only=True)
class Spread:
    """Between which depths the colours lie.

    Attributes:
        near, far: the depths of the brightest and of the darkest colour; equal for a flat map.
        is_cut_near, is_cut_far: whether there are depths beyond.
    """

    near: float
    far: float
    is_cut_near: bool = False
    is_cut_far: bool = False

    @property
    def is_flat(self) -> bool:
        """Whether all depths are one."""
        return self.near == self.far


def spread_of(values: NDArray[np.float32]) -> Spread:
    """The spread of a map, shape (height, width), finite and at least 0."""
    least, greatest = float(values.min()), float(values.max())
    if greatest - least <= _ROUNDING * greatest:
        middle = (least + greatest) / 2
        return Spread(near=middle, far=middle)
    step = max(1, round((values.size / _SAMPLED) ** 0.5))
    near, far = (float(v) for v in np.percentile(values[::step, ::step].astype(np.float64), PERCENTILES))
    if far - near <= _ROUNDING * far:
        return Spread(near=least, far=greatest)
    return Spread(near=near, far=far, is_cut_near=least < near, is_cut_far=greatest > far)


def draw_depth(depth: DepthMap, colormap: Colormap) -> Image.Image:
    """The map in mode RGB, enlarged by `whole_factor`.

    Raises:
        ValueError: an unknown colour map.
    """
    table = colours(colormap)
    spread = spread_of(depth.values)
    factor = whole_factor(depth.size_hw)
    entries = Image.fromarray(enlarged(_entries(depth.values, spread), factor))
    entries.putpalette(table.tobytes())
    canvas = entries.convert("RGB")
    draw_bar(canvas, table, _scale(spread, depth.is_metric))
    return canvas


def _entries(values: NDArray[np.float32], spread: Spread) -> NDArray[np.uint8]:
    """uint8 (height, width): the entry of every pixel, in strips so that a large map needs little memory."""
    if spread.is_flat:
        return np.full(values.shape, ENTRIES // 2, dtype=np.uint8)
    slope = (ENTRIES - 1) / (spread.far - spread.near)
    # float32 is exact enough, unless the depths lie so close together that the slope is beyond it.
    kind = np.dtype(np.float32 if slope < float(np.finfo(np.float32).max) else np.float64)
    entries = np.empty(values.shape, dtype=np.uint8)
    rows = max(1, _STRIP_PIXELS // values.shape[1])
    for top in range(0, len(values), rows):
        shades = np.subtract(spread.far, values[top : top + rows], dtype=kind)
        np.clip(shades, 0, spread.far - spread.near, out=shades)
        shades *= slope
        entries[top : top + rows] = np.rint(shades, out=shades)
    return entries


def _scale(spread: Spread, is_metric: bool) -> Scale:
    unit = "m" if is_metric else "(relative)"
    if spread.is_flat:
        value = in_words(spread.near)
        return Scale(near=value, middle=value, far=value, unit=unit, is_flat=True)
    resolution = (spread.far - spread.near) / 50
    near, middle, far = (in_words(v, resolution) for v in (spread.near, (spread.near + spread.far) / 2, spread.far))
    return Scale(
        near=f"<{near}" if spread.is_cut_near else near,
        middle=middle,
        far=f">{far}" if spread.is_cut_far else far,
        unit=unit,
    )
