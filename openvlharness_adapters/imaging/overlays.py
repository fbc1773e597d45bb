"""Detections drawn over their picture: filled where there are masks, outlined, numbered from 1 in the order given."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from openvlharness_adapters.imaging.cache import Pixels
from openvlharness_adapters.imaging.enlarging import enlarged, whole_factor
from openvlharness_adapters.imaging.lettering import Lettering
from openvlharness_adapters.imaging.mask_painting import paint, topmost
from openvlharness_adapters.imaging.palette import Rgb, ink_of
from openvlharness_adapters.imaging.placing import Floats, Spot, place
from openvlharness_core.detections import Detections
from openvlharness_core.masks import runs_of_all

_LINE_SHARE = 1 / 400  # of the longer side
_LARGEST_LETTERING, _LEAST_LETTERING = 1 / 37, 1 / 64  # of the longer side: what suits the eye, and what it needs
_AIR = 0.2  # of an em, around a number on its tag
_EASY_LETTERING = 22  # pixels of an em at which text detectors find a tag that stands alone
_HARD_LETTERING = 16  # and one among many
_SQUEEZED = 0.75  # of the least lettering, where a crowd leaves no room for more
_LABELLED_AREA = 0.15  # of the picture, that all labels together may take before they shrink
_FEW = 20  # one label in so many may lie away from its object before smaller letters are tried
_NARROW = 24  # pixels of the shorter side below which tags fill it
_CROWD = 60  # objects from which lines are drawn finer


def draw_overlay(pixels: Pixels, detections: Detections) -> Image.Image:
    """The picture, enlarged by `whole_factor`, with every detection on it, in mode RGB.

    Args:
        pixels: uint8 (height, width, 3), RGB, of the size that `detections` says.
        detections: number i on the drawing is the detection at position i - 1; none is no fault, nothing is drawn then.

    Raises:
        ValueError: pixels of another size.
        MalformedResultError: a mask that is not COCO's format.
    """
    size_hw = (pixels.shape[0], pixels.shape[1])
    if size_hw != detections.size_hw:
        (height, width), (got_height, got_width) = detections.size_hw, size_hw
        raise ValueError(f"image: expected {width}x{height} pixels as the detections say, got {got_width}x{got_height}")
    factor = whole_factor(size_hw)
    canvas = Image.fromarray(enlarged(pixels, factor))
    if not len(detections):
        return canvas
    boxes = _drawn_boxes(detections.boxes_xyxy_px, factor, canvas.size)
    line = _line_width(canvas.size, len(boxes))
    _draw_objects(canvas, boxes, detections, line, factor)
    _draw_labels(canvas, boxes, line)
    return canvas


def _drawn_boxes(boxes_xyxy_px: NDArray[np.float32], factor: int, room_wh: tuple[int, int]) -> Floats:
    """(N, 4) whole pixels of the canvas, rounded outward, clipped to it, at least one pixel wide and high."""
    boxes = boxes_xyxy_px.astype(np.float64) * factor
    room = np.array(room_wh, dtype=np.float64)
    low = np.clip(np.floor(boxes[:, :2]), 0, room - 1)
    high = np.clip(np.ceil(boxes[:, 2:]), low + 1, room)
    return np.concatenate([low, high], axis=1)


def _line_width(room_wh: tuple[int, int], count: int) -> int:
    width = max(room_wh) * _LINE_SHARE
    return max(1, round(width if count < _CROWD else width * 0.6))


def _draw_objects(canvas: Image.Image, boxes: Floats, detections: Detections, line: int, factor: int) -> None:
    """Outlines and fills, large objects first, so that small ones on them stay visible."""
    order = np.argsort(-(boxes[:, 2:] - boxes[:, :2]).prod(axis=1), kind="stable")
    bare = np.ones(len(boxes), dtype=bool)
    if detections.masks is not None:
        runs = runs_of_all(detections.masks, detections.size_hw, "pred_masks")
        bare[runs.owners] = False
        paint(canvas, topmost(runs, order.argsort()), line, factor)
    draw = ImageDraw.Draw(canvas)
    for position in order[bare[order]].tolist():
        _outline(draw, boxes[position].astype(int).tolist(), ink_of(position), line)


def _outline(draw: ImageDraw.ImageDraw, box: list[int], colour: Rgb, line: int) -> None:
    x1, y1, x2, y2 = box
    width = max(1, min(line, min(x2 - x1, y2 - y1) // 6))
    draw.rectangle((x1, y1, x2 - 1, y2 - 1), outline=colour, width=width)


def _draw_labels(canvas: Image.Image, boxes: Floats, line: int) -> None:
    lettering, spots = _labels(boxes, canvas.size)
    draw = ImageDraw.Draw(canvas)
    for position, spot in enumerate(spots):
        if spot.is_far:
            width, height = lettering.number_wh(position + 1)
            middle = (spot.corner_xy[0] + width // 2, spot.corner_xy[1] + height // 2)
            _leader(draw, middle, boxes[position], ink_of(position), line)
    for position, spot in enumerate(spots):
        lettering.paste_number(canvas, spot.corner_xy, position + 1, ink_of(position))


def _leader(draw: ImageDraw.ImageDraw, start: tuple[int, int], box: Floats, colour: Rgb, line: int) -> None:
    """A line from a label to its object, with a dot where it ends, just inside the object."""
    x1, y1, x2, y2 = box.tolist()
    inset_x, inset_y = min((x2 - x1) / 2, 3 * line), min((y2 - y1) / 2, 3 * line)
    x = min(max(start[0], x1 + inset_x), x2 - inset_x)
    y = min(max(start[1], y1 + inset_y), y2 - inset_y)
    draw.line((*start, x, y), fill=colour, width=line)
    dot = line + 1
    draw.ellipse((x - dot, y - dot, x + dot, y + dot), fill=colour)


def _labels(boxes: Floats, room_wh: tuple[int, int]) -> tuple[Lettering, list[Spot]]:
    """The largest lettering with which labels find room beside their objects, or else the one that comes nearest to it."""
    numbers = range(1, len(boxes) + 1)
    lettering, smallest = _letterings(len(boxes), room_wh)
    best: tuple[Lettering, list[Spot]] | None = None
    least = (0, 0)
    while True:
        sizes = np.array(lettering.numbers_wh(numbers), dtype=np.int64)
        spots = place(boxes, sizes, room_wh, max(1, lettering.size // 4))
        crowded = sum(not spot.is_free for spot in spots), sum(spot.is_far for spot in spots) * _FEW // len(spots)
        if best is None or crowded < least:
            best, least = (lettering, spots), crowded
        if lettering.size <= smallest or crowded == (0, 0):
            return best
        lettering = attrs.evolve(lettering, size=max(smallest, lettering.size * 7 // 8))


def _letterings(count: int, room_wh: tuple[int, int]) -> tuple[Lettering, int]:
    """The largest lettering to try for that many labels, and the smallest size of an em, in pixels."""
    shorter, longer = sorted(room_wh)
    least = max(_HARD_LETTERING, round(longer * _LEAST_LETTERING))
    signs = count * (len(str(count)) + 2)  # the number sign, and air as wide as one more
    by_area = math.sqrt(_LABELLED_AREA * room_wh[0] * room_wh[1] / (0.75 * signs))
    largest = max(least, round(min(max(longer * _LARGEST_LETTERING, _EASY_LETTERING), by_area)))
    if shorter >= _NARROW:
        lettering = Lettering(size=largest, air=_AIR)
        most = _fitting(count, (round(room_wh[0] * 0.8), round(room_wh[1] * 0.8)), lettering)
    else:  # every pixel goes to the digits
        lettering = Lettering(size=largest, air=0.0)
        most = _fitting(count, room_wh, lettering)
    return attrs.evolve(lettering, size=min(largest, most)), min(round(least * _SQUEEZED), most)


def _fitting(number: int, room_wh: tuple[int, int], largest: Lettering) -> int:
    """The largest size up to that of `largest` whose tags fit into a narrow strip; 4 pixels at least."""
    for size in range(largest.size, 4, -1):
        width, height = attrs.evolve(largest, size=size).number_wh(number)
        if width <= room_wh[0] and height <= room_wh[1]:
            return size
    return 4
