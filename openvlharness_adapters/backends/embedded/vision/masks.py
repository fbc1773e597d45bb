"""Masks of things in pixels of the picture, from the size at which it was looked at.

From an enlarged picture a pixel belongs to a thing if half of it does. From a shrunk one, the pixels along the rim are
looked at again in the picture itself, and go to whichever side they are more like.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.labels import boxes_of, is_among
from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.regions import Box
from openvlharness_adapters.backends.embedded.vision.scene import Scene
from openvlharness_adapters.backends.embedded.vision.things import Thing
from openvlharness_adapters.backends.embedded.vision.working import Pixels

Mask = NDArray[np.bool_]


def full_masks(scene: Scene, things: Sequence[Thing], pixels: Pixels) -> list[Mask]:
    """One mask of the picture's size for each thing, none of them empty."""
    boxes = dict(boxes_of(scene.labels))
    return [_full_mask(scene, thing, _around([boxes[label] for label in thing.labels]), pixels) for thing in things]


def _around(boxes: Sequence[Box]) -> Box:
    rows, columns = zip(*boxes, strict=True)
    return _span(rows), _span(columns)


def _span(slices: Sequence[slice]) -> slice:
    return slice(min(each.start for each in slices), max(each.stop for each in slices))


def _full_mask(scene: Scene, thing: Thing, box: Box, pixels: Pixels) -> Mask:
    mask = np.zeros(scene.size_hw, np.bool_)
    if scene.scale >= 1:
        factor = round(scene.scale)
        rows, columns = (slice(side.start // factor, -(-side.stop // factor)) for side in box)
        part = scene.labels[_times(rows, factor), _times(columns, factor)]
        tall, wide = rows.stop - rows.start, columns.stop - columns.start
        blocks = is_among(part, thing.labels).reshape(tall, factor, wide, factor)
        share = blocks.sum(axis=(1, 3), dtype=np.int32) if factor > 1 else blocks[:, 0, :, 0].astype(np.int32)
        own = share * 2 >= factor * factor
        mask[rows, columns] = own if own.any() else share == share.max()
        return mask
    reach = int(np.ceil(1.5 / scene.scale)) + 1
    rows, columns = (
        slice(max(0, int(side.start / scene.scale) - 4 * reach), min(most, int(side.stop / scene.scale) + 4 * reach))
        for side, most in zip(box, scene.size_hw, strict=True)
    )
    mask[rows, columns] = _refined(_enlarged(scene, thing.labels, (rows, columns)), pixels[rows, columns], reach)
    return mask


def _times(side: slice, factor: int) -> slice:
    return slice(side.start * factor, side.stop * factor)


def _enlarged(scene: Scene, labels: Sequence[int], box: Box) -> Mask:
    """Where a box of the picture is more of `labels` than not, by bilinear interpolation of a smaller label map."""
    (above, below, down), (before, after, right) = (
        _between(side, most, working)
        for side, most, working in zip(box, scene.size_hw, scene.labels.shape, strict=True)
    )
    small = is_among(scene.labels[above[0] : below[-1] + 1, before[0] : after[-1] + 1], labels).astype(np.float32)
    above, below, before, after = above - above[0], below - above[0], before - before[0], after - before[0]
    tall = small[above] * (1 - down)[:, None] + small[below] * down[:, None]
    return np.asarray(tall[:, before] * (1 - right) + tall[:, after] * right >= 0.5)


def _between(side: slice, most: int, working: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
    """For each pixel of a side of a box, the working pixels before and behind its middle, and how far between them."""
    middle = (np.arange(side.start, side.stop) + 0.5) * (working / most) - 0.5
    before = np.floor(middle).astype(np.intp)
    share = (middle - before).astype(np.float32)
    return np.clip(before, 0, working - 1), np.clip(before + 1, 0, working - 1), share


def _refined(rough: Mask, pixels: Pixels, reach: int) -> Mask:
    """`rough` with the pixels within `reach` of its rim given to the side whose colour, nearby, they are more like."""
    cv2 = opencv()
    kernel = np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
    inside = cv2.erode(rough.astype(np.uint8), kernel)
    outside = cv2.erode((~rough).astype(np.uint8), kernel)
    if not inside.any() or not outside.any():
        return rough
    side = 6 * reach + 1
    band = (inside | outside) == 0
    seen = pixels[band].astype(np.float32)
    unlike = []
    for part in (inside, outside):
        weight = cv2.blur(part.astype(np.float32), (side, side))[band]
        total = cv2.blur(cv2.bitwise_and(pixels, pixels, mask=part).astype(np.float32), (side, side))[band]
        off = np.abs(seen - total / np.maximum(weight, 1e-6)[:, None])
        unlike.append(np.where(weight > 1e-5, off[:, 0] + off[:, 1] + off[:, 2], np.inf))
    refined = rough.copy()
    is_known = np.isfinite(unlike[0]) & np.isfinite(unlike[1])
    refined[band] = np.where(is_known, unlike[0] <= unlike[1], rough[band])
    return refined
