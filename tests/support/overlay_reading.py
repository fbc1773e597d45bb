"""Scenes with objects anywhere on texture, drawn over and read back by the OCR that runs in this process.

A number counts as read where text that covers the middle of its tag says that number, so a number read off another tag does
not help. The whole drawing is looked at first. Tags that nobody read are looked at again as the zoom tool shows them: cut out
with their surroundings, twice as large.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from openvlharness_adapters.backends.embedded.ocr import SCORE_FLOOR
from openvlharness_adapters.backends.embedded.reading_order import Cell
from openvlharness_adapters.imaging.lettering import Lettering
from openvlharness_adapters.imaging.overlays import draw_overlay
from openvlharness_adapters.imaging.palette import Rgb
from openvlharness_core.geometry import Box
from tests.support import evidence_scenes as scenes

Pixels = NDArray[np.uint8]
Tag = tuple[int, tuple[int, int, int, int]]
"""A number and the rectangle of its tag, x1, y1, x2, y2 in pixels of the drawing."""

_AROUND_WH = (7, 4)  # tag heights that a zoom shows to either side of a tag's middle
_ZOOM = 2


@attrs.frozen(kw_only=True)
class Look:
    """What was drawn on one scene and read off it.

    Attributes:
        drawn: how many numbers.
        unread: numbers that the whole drawing did not give.
        unread_enlarged: those of them that a zoom did not give either.
    """

    drawn: int
    unread: tuple[int, ...]
    unread_enlarged: tuple[int, ...]


def noting_tags(patch: pytest.MonkeyPatch) -> list[Tag]:
    """A list to which every tag that is drawn from now on is added."""
    drawn: list[Tag] = []
    paste = Lettering.paste_number

    def noting(lettering: Lettering, canvas: Image.Image, corner: tuple[int, int], number: int, colour: Rgb) -> None:
        width, height = lettering.number_wh(number)
        drawn.append((number, (*corner, corner[0] + width, corner[1] + height)))
        paste(lettering, canvas, corner, number, colour)

    patch.setattr(Lettering, "paste_number", noting)
    return drawn


def textured(size_hw: tuple[int, int], seed: int) -> Pixels:
    """Coloured texture from coarse to fine, as busy as a photo of foliage, uint8 (height, width, 3)."""
    height, width = size_hw
    chance = np.random.default_rng(seed)
    total = np.full((height, width, 3), 128.0, dtype=np.float32)
    for waves, strength in ((4, 60), (16, 35), (64, 25)):
        rows, columns = (min(side, waves * side // max(size_hw) + 2) for side in size_hw)
        coarse = chance.normal(0, strength, (rows, columns, 3)) + chance.normal(0, strength, (rows, columns, 1))
        for channel in range(3):
            plane = Image.fromarray(coarse[:, :, channel].astype(np.float32))
            total[:, :, channel] += np.asarray(plane.resize((width, height), Image.Resampling.BICUBIC))
    return scenes.jpeg_like(np.clip(total, 0, 255).astype(np.uint8), seed)


def scattered(count: int, size_hw: tuple[int, int], seed: int) -> list[Box]:
    """Boxes anywhere, over each other too, of 0.3 to 1.3 times the size that would tile the picture; sorted."""
    height, width = size_hw
    chance = np.random.default_rng(seed)
    sides = np.sqrt(height * width / count) * chance.uniform(0.3, 1.3, (count, 2))
    sides = np.clip(sides, 1, (width * 0.9, height * 0.9))
    corners = chance.uniform(0, 1, (count, 2)) * ((width, height) - sides)
    return sorted((x, y, x + w, y + h) for (x, y), (w, h) in zip(corners.tolist(), sides.tolist(), strict=True))


def scene(count: int, size_hw: tuple[int, int], seed: int) -> tuple[list[Box], Pixels]:
    """That many objects on texture; scattered where `seed` is odd, else each in a cell of its own."""
    boxes = scattered(count, size_hw, seed) if seed % 2 else scenes.ellipses(count, size_hw, seed=seed)
    pixels = textured(size_hw, seed)
    chance = np.random.default_rng(seed)
    for x1, y1, x2, y2 in boxes:
        left, top = int(x1), int(y1)
        part = pixels[top : int(y2) + 1, left : int(x2) + 1]
        inside = scenes.ellipse((x1 - left, y1 - top, x2 - left, y2 - top), *part.shape[:2])
        part[inside] = part[inside] // 2 + chance.integers(0, 128, 3, dtype=np.uint8)
    return boxes, pixels


def look_at(
    count: int,
    size_hw: tuple[int, int],
    seed: int,
    *,
    has_masks: bool,
    recognise: Callable[[Pixels], list[Cell]],
    through: Callable[[Image.Image], Pixels],
) -> Look:
    """Draw over `scene` and read the drawing; `through` encodes a drawing and decodes it."""
    boxes, pixels = scene(count, size_hw, seed)
    with pytest.MonkeyPatch.context() as patch:
        tags = noting_tags(patch)
        shown = through(draw_overlay(pixels, scenes.detected(boxes, size_hw, has_masks=has_masks)))
    cells = recognise(shown)
    unread = [tag for tag in tags if not _is_read(tag, cells)]
    still = [tag for tag in unread if not _is_read_enlarged(tag, shown, recognise)]
    return Look(drawn=len(tags), unread=tuple(tag[0] for tag in unread), unread_enlarged=tuple(tag[0] for tag in still))


def _is_read(tag: Tag, cells: list[Cell]) -> bool:
    number, (x1, y1, x2, y2) = tag
    middle = np.array([(x1 + x2) / 2, (y1 + y2) / 2])
    return any(
        number in {int(digits) for digits in re.findall(r"\d+", cell.text)}
        for cell in cells
        if cell.score >= SCORE_FLOOR
        and (cell.corners.min(axis=0) <= middle).all()
        and (cell.corners.max(axis=0) >= middle).all()
    )


def _is_read_enlarged(tag: Tag, shown: Pixels, recognise: Callable[[Pixels], list[Cell]]) -> bool:
    number, (x1, y1, x2, y2) = tag
    reach_x, reach_y = (many * (y2 - y1) for many in _AROUND_WH)
    left, top = max(0, (x1 + x2) // 2 - reach_x), max(0, (y1 + y2) // 2 - reach_y)
    part = Image.fromarray(shown[top : (y1 + y2) // 2 + reach_y, left : (x1 + x2) // 2 + reach_x])
    larger = part.resize((part.width * _ZOOM, part.height * _ZOOM), Image.Resampling.BICUBIC)
    moved = tuple(_ZOOM * (at - start) for at, start in zip((x1, y1, x2, y2), (left, top) * 2, strict=True))
    return _is_read((number, (moved[0], moved[1], moved[2], moved[3])), recognise(np.asarray(larger)))
