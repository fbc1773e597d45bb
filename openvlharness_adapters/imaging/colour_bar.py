"""The scale of a depth view: a strip of its colours with the values they stand for, in the smallest room that holds it."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from openvlharness_adapters.imaging.lettering import Lettering
from openvlharness_adapters.imaging.palette import Rgb

_GROUND: Rgb = (24, 24, 24)
_TEXT: Rgb = (255, 255, 255)
_LENGTH_SHARE = 0.6  # of the picture's width
_HELD_SHARE, _HELD_SHARE_OF_STRIP = 0.34, 0.9  # of the picture's shorter side, that a bar may take across
_STRIP = 96  # pixels of the shorter side
_SIZE_SHARE = 1 / 42  # of the longer side: the lettering
_SMALLEST = 9  # pixels of an em


@attrs.frozen(kw_only=True)
class Scale:
    """What the colours stand for.

    Attributes:
        near: text of the nearest value.
        middle: text of the value in the middle; of a flat map the only one.
        far: text of the farthest value.
        unit: what follows the values.
        is_flat: whether there is one value only.
    """

    near: str
    middle: str
    far: str
    unit: str
    is_flat: bool = False


def draw_bar(canvas: Image.Image, table: NDArray[np.uint8], scale: Scale) -> bool:
    """Draw the scale inside the lower right corner of a canvas, mode RGB; false where there is no room for it.

    Args:
        canvas: drawn on.
        table: uint8 (256, 3), dark to bright; the bar shows it from bright, at the left and near, to dark.
        scale: what it stands for.
    """
    for bar in _bars(canvas.size, table, scale):
        margin = min(max(canvas.size) // 80, (canvas.width - bar.width) // 2, (canvas.height - bar.height) // 2)
        canvas.paste(bar, (canvas.width - bar.width - margin, canvas.height - bar.height - margin))
        return True
    return False


def _bars(room_wh: tuple[int, int], table: NDArray[np.uint8], scale: Scale) -> Iterator[Image.Image]:
    """Bars that fit, the best first: with large letters, lying, in two rows; then smaller ones, in one row, standing."""
    largest = max(_SMALLEST, round(max(room_wh) * _SIZE_SHARE))
    sizes = sorted({largest, max(_SMALLEST, largest * 3 // 4), max(_SMALLEST, largest // 2), _SMALLEST}, reverse=True)
    for share in (_HELD_SHARE if min(room_wh) >= _STRIP else _HELD_SHARE_OF_STRIP, 1.0):
        for size in sizes:
            for is_standing in (False, True):
                length, across = room_wh if not is_standing else room_wh[::-1]
                for make in (_two_rows, _one_row):
                    bar = make(Lettering(size=size, air=0.25 if across > 3 * size else 0.0), length, table, scale)
                    if bar.width <= length and bar.height <= across * share:
                        yield bar.transpose(Image.Transpose.ROTATE_90) if is_standing else bar


def _two_rows(lettering: Lettering, length: int, table: NDArray[np.uint8], scale: Scale) -> Image.Image:
    """Colours above, values below."""
    texts = [f"{scale.middle} {scale.unit} everywhere"] if scale.is_flat else _three(scale)
    widths = [lettering.text_wh(text)[0] for text in texts]
    least = sum(widths) + lettering.size * (len(texts) - 1)
    width = max(least, min(round(length * _LENGTH_SHARE), lettering.size * 26)) if not scale.is_flat else least
    height, inset = lettering.height, max(1, lettering.padding)
    panel = Image.new("RGB", (width + 2 * inset, 2 * height + inset), _GROUND)
    panel.paste(_strip(table, width, height, scale), (inset, inset))
    draw = ImageDraw.Draw(panel)
    places = [0] if len(texts) == 1 else [0, (width - widths[1]) // 2, width - widths[2]]
    for place, text in zip(places, texts, strict=True):
        lettering.draw_text(draw, (inset + place, inset + height), text, _TEXT)
    return panel


def _one_row(lettering: Lettering, _: int, table: NDArray[np.uint8], scale: Scale) -> Image.Image:
    """Nearest value, colours, farthest value."""
    texts = [f"{scale.middle} {scale.unit}", ""] if scale.is_flat else [scale.near, f"{scale.far} {scale.unit}"]
    before, after = (lettering.text_wh(text)[0] if text else 0 for text in texts)
    height = lettering.height
    length = height * (1 if scale.is_flat else 5)
    panel = Image.new("RGB", (before + length + after, height), _GROUND)
    panel.paste(_strip(table, length, height, scale), (before, 0))
    draw = ImageDraw.Draw(panel)
    lettering.draw_text(draw, (0, 0), texts[0], _TEXT)
    if texts[1]:
        lettering.draw_text(draw, (before + length, 0), texts[1], _TEXT)
    return panel


def _three(scale: Scale) -> list[str]:
    return [f"near {scale.near}", scale.middle, f"far {scale.far} {scale.unit}"]


def _strip(table: NDArray[np.uint8], width: int, height: int, scale: Scale) -> Image.Image:
    entries = (
        np.full(width, len(table) // 2) if scale.is_flat else np.linspace(len(table) - 1, 0, width).round().astype(int)
    )
    return Image.fromarray(np.repeat(table[entries][None], height, axis=0))
