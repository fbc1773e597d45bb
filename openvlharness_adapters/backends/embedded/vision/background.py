"""What lies behind everything, and what breaks through it.

The background is the region that the picture's edge runs along the most. Its colours are a smooth surface, which is
continued under whatever stands on it: a hole through which that surface shows can be told from a thing. Where pixels of
the background leave the surface, something stands there that made no region of its own.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.labels import Labels, highest, is_among
from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.ranks import median_of, percentile_of
from openvlharness_adapters.backends.embedded.vision.regions import Region
from openvlharness_adapters.backends.embedded.vision.working import Pixels, Working

_LEAST_SHARE = 0.5  # of the picture's edge
_LIKE_GROUND = 20.0  # levels
_LIKE_TINTED = 50.0
_POCKET = 4.0  # half-width in picture pixels
_OFF_GROUND = 34.0
_LEAST_SPOT = 10.0  # square pixels
_SAMPLES = 4_000
_COARSE = 8


@attrs.frozen(kw_only=True, eq=False)
class Background:
    """What lies behind everything.

    Attributes:
        ground: labels that are background.
        hollow: labels that look like it and are enclosed by something: holes, or things of its colour.
        spots: RGB values of what breaks through it, one for each spot.
    """

    ground: frozenset[int]
    hollow: frozenset[int]
    spots: tuple[NDArray[np.float64], ...]


def background_of(labels: Labels, regions: dict[int, Region], working: Working) -> Background | None:
    """The background, or `None` if no region runs along the most of the picture's edge."""
    rim = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    sizes = np.bincount(rim)
    label = int(sizes.argmax())
    if sizes[label] < _LEAST_SHARE * len(rim):
        return None
    off = highest(opencv().absdiff(working.pixels, _surface(labels == label, working.pixels)))
    like = {each for each, region in regions.items() if each == label or _is_like(region, off, label, working.unit)}
    # Cut off from the background by the edge it is the background; enclosed by something it may be a thing.
    ground = {each for each in like if each == label or regions[each].is_cut}
    spots = _spots(is_among(labels, ground).view(np.uint8), off, working)
    return Background(ground=frozenset(ground), hollow=frozenset(like - ground), spots=spots)


def _is_like(region: Region, off: NDArray[np.uint8], ground: int, unit: float) -> bool:
    """Whether a region has the background's colour; in a pocket between things, those tint it."""
    levels = off[region.box][region.own]
    is_pocket = region.half_width < _POCKET * unit and not {0, ground} & region.touched.keys()
    if is_pocket:
        return percentile_of(levels, 25) < _LIKE_TINTED
    return bool(median_of(levels) < _LIKE_GROUND)


def _surface(own: NDArray[np.bool_], pixels: Pixels) -> Pixels:
    """The colours of a region, continued over the whole picture as polynomials of the fourth degree."""
    cv2 = opencv()
    height, width = own.shape
    step = max(1, int(np.sqrt(height * width / _SAMPLES)))
    inner = cv2.erode(own.astype(np.uint8), np.ones((5, 5), np.uint8))[::step, ::step] > 0
    if inner.sum() < 40:
        inner = own[::step, ::step]
    rows, columns = np.nonzero(inner)
    terms = _terms(columns * (step / width), rows * (step / height))
    normal = terms.T @ terms + 1e-6 * np.eye(terms.shape[1])
    numbers = np.linalg.solve(normal, terms.T @ pixels[::step, ::step][inner].astype(np.float64))
    tall, wide = max(2, height // _COARSE), max(2, width // _COARSE)
    y, x = (np.mgrid[0:tall, 0:wide] + 0.5) / np.array([tall, wide])[:, None, None]
    coarse = np.clip(_terms(x, y) @ numbers, 0, 255).astype(np.float32)
    return np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR).round().astype(np.uint8))


def _terms(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([x**i * y**j for i in range(5) for j in range(5 - i)], axis=-1)


def _spots(ground: NDArray[np.uint8], off: NDArray[np.uint8], working: Working) -> tuple[NDArray[np.float64], ...]:
    cv2 = opencv()
    unit = working.unit
    side = 2 * int(2.5 * unit + 1) + 1  # an edge's blur is not the background's doing
    inner = cv2.erode(ground, np.ones((side, side), np.uint8), borderValue=1)
    odd = inner & (off > _OFF_GROUND + 3 * working.left).astype(np.uint8)
    count, comps, stats, _ = cv2.connectedComponentsWithStats(odd, connectivity=8)
    large = [comp for comp in range(1, count) if stats[comp, cv2.CC_STAT_AREA] >= _LEAST_SPOT * unit * unit]
    return tuple(np.median(working.pixels[comps == comp], axis=0) for comp in large[:50])
