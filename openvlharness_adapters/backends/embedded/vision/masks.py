"""Masks of things in pixels of the picture, from the size at which it was looked at.

From an enlarged picture a pixel belongs to a thing if half of it does. From a shrunk one, the pixels along the rim are
looked at again in the picture itself, and go to whichever side they are more like.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.scene import Scene
from openvlharness_adapters.backends.embedded.vision.things import Thing
from openvlharness_adapters.backends.embedded.vision.working import Pixels

Mask = NDArray[np.bool_]


def full_masks(scene: Scene, things: Sequence[Thing], pixels: Pixels) -> list[Mask]:
    """One mask of the picture's size for each thing, none of them empty."""
    return [_full_mask(scene, thing, pixels) for thing in things]


def _full_mask(scene: Scene, thing: Thing, pixels: Pixels) -> Mask:
    cv2 = opencv()
    height, width = scene.size_hw
    small = np.isin(scene.labels, thing.labels).astype(np.uint8)
    if small.shape == (height, width):
        return small.astype(bool)
    if scene.scale > 1:
        factor = round(scene.scale)
        share = small.reshape(height, factor, width, factor).sum(axis=(1, 3), dtype=np.int32)
        mask = share * 2 >= factor * factor
        return np.asarray(mask if mask.any() else share == share.max())
    rough = cv2.resize(small * 255, (width, height), interpolation=cv2.INTER_LINEAR) >= 128
    rows, columns = np.flatnonzero(rough.any(axis=1)), np.flatnonzero(rough.any(axis=0))
    reach = int(np.ceil(1.5 / scene.scale)) + 1
    box = (
        slice(max(0, rows[0] - 3 * reach), rows[-1] + 1 + 3 * reach),
        slice(max(0, columns[0] - 3 * reach), columns[-1] + 1 + 3 * reach),
    )
    rough[box] = _refined(rough[box], pixels[box], reach)
    return np.asarray(rough)


def _refined(rough: Mask, pixels: Pixels, reach: int) -> Mask:
    """`rough` with the pixels within `reach` of its rim given to the side whose colour, nearby, they are more like."""
    cv2 = opencv()
    kernel = np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
    inside = cv2.erode(rough.astype(np.uint8), kernel)
    outside = cv2.erode((~rough).astype(np.uint8), kernel)
    if not inside.any() or not outside.any():
        return rough
    side = 6 * reach + 1
    levels = pixels.astype(np.float32)
    unlike = []
    for part in (inside, outside):
        weight = cv2.blur(part.astype(np.float32), (side, side))
        mean = cv2.blur(levels * part[..., None], (side, side)) / np.maximum(weight, 1e-6)[..., None]
        unlike.append(np.where(weight > 1e-5, np.abs(levels - mean).sum(axis=2), np.inf))
    band = (inside == 0) & (outside == 0) & np.isfinite(unlike[0]) & np.isfinite(unlike[1])
    return np.asarray(np.where(band, unlike[0] <= unlike[1], rough))
