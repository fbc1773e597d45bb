"""Masks onto a picture: a translucent fill, and an edge in full colour.

First a map says for every pixel which object is on top there; it is written run by run, so a mask costs what it covers
and no more. Then edges and colours of all objects are found in one pass over the map, in strips of rows, so that a large
picture needs little memory beside itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from openvlharness_adapters.imaging.enlarging import enlarged
from openvlharness_adapters.imaging.palette import INKS
from openvlharness_core.masks import MaskRuns

_FILL, _EDGE = 96, 255  # opacity, of 255: the surface stays visible through a fill
_AT_A_TIME = 2_000_000  # pixels
_EDGE_BIT = 128
_MARKS = (_EDGE_BIT - 1) // len(INKS) * len(INKS)
"""How many objects are told apart before marks come again; a multiple of the inks, so that a mark says its ink."""
_SHADES = [0, 0, 0, 0] + [channel for ink in INKS for channel in (*ink, _FILL)] * (_MARKS // len(INKS))
_PALETTE = [*_SHADES, *[0] * (4 * _EDGE_BIT - len(_SHADES))]
_PALETTE += [_EDGE if at % 4 == 3 and shade else shade for at, shade in enumerate(_PALETTE)]
"""Red, green, blue and opacity of every mark, and of every mark with the bit of an edge."""

Whole = NDArray[np.int64]
Tops = NDArray[np.uint8]
"""uint8 (height, width): 0 where there is no object, else the mark of the topmost."""


def topmost(runs: MaskRuns, layers: NDArray[np.int64]) -> Tops:
    """The map of what is on top.

    Args:
        runs: of N masks.
        layers: int64 (N,), for each mask how many lie below it.
    """
    height, width = runs.size_hw
    tops: Tops = np.zeros(height * width, dtype=np.uint8)
    order = np.argsort(layers[runs.owners], kind="stable")
    owners, columns, rows, lengths = _within_columns(runs.owners[order], runs.starts[order], runs.ends[order], height)
    starts = rows * width + columns
    marks = (owners % _MARKS + 1).astype(np.uint8)
    totals = np.cumsum(lengths)
    first = 0
    while first < len(starts):
        done = int(totals[first] - lengths[first])
        last = max(first + 1, int(np.searchsorted(totals, done + _AT_A_TIME)))
        part = slice(first, last)
        before = totals[part] - lengths[part] - done
        pixels = np.repeat(starts[part] - before * width, lengths[part])
        pixels += np.arange(0, pixels.size * width, width)
        tops[pixels] = np.repeat(marks[part], lengths[part])  # of equal pixels the last one stays, as numpy promises
        first = last
    return tops.reshape(height, width)


def _within_columns(owners: Whole, starts: Whole, ends: Whole, height: int) -> tuple[Whole, Whole, Whole, Whole]:
    """Runs cut where they go on in the next column: owner, column, first row and length of each piece."""
    columns, lasts = starts // height, (ends - 1) // height
    pieces = lasts - columns + 1
    if (pieces > 1).any():
        nth = np.arange(int(pieces.sum())) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        columns = np.repeat(columns, pieces) + nth
        owners = np.repeat(owners, pieces)
        starts = np.maximum(np.repeat(starts, pieces), columns * height)
        ends = np.minimum(np.repeat(ends, pieces), (columns + 1) * height)
    return owners, columns, starts - columns * height, ends - starts


def paint(canvas: Image.Image, tops: Tops, weight: int, factor: int) -> None:
    """Fill and edge every object of the map on a canvas, mode RGB, that is `factor` times as large.

    Args:
        canvas: drawn on.
        tops: the map.
        weight: pixels of the canvas that an edge is wide.
        factor: whole factor of enlargement.
    """
    height, width = tops.shape
    rows = max(1, _AT_A_TIME // (width * factor * factor))
    margin = -(-weight // factor)
    for top in range(0, height, rows):
        bottom = min(height, top + rows)
        first, last = max(0, top - margin), min(height, bottom + margin)
        around = enlarged(tops[first:last], factor)
        own = slice((top - first) * factor, (bottom - first) * factor)
        marks = around[own] | (_edges(around, weight)[own].view(np.uint8) << 7)
        drawn = Image.fromarray(marks)
        drawn.putpalette(_PALETTE, "RGBA")
        shaded = drawn.convert("RGBA")
        canvas.paste(shaded, (0, top * factor), shaded)


def _edges(tops: Tops, weight: int) -> NDArray[np.bool_]:
    """Where another object, or none, is `weight` pixels away in one of four directions; beyond the map is none."""
    edges = np.zeros(tops.shape, dtype=bool)
    for ahead, marked in ((tops, edges), (tops.T, edges.T)):
        differs = ahead[weight:] != ahead[:-weight]
        marked[:-weight] |= differs
        marked[weight:] |= differs
        marked[:weight] = True
        marked[-weight:] = True
    return edges
