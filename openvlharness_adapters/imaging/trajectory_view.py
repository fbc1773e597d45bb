"""A camera trajectory from above: places, headings and path in the frame of the first camera, x right and z forward.

The sheet is ruled in squares of one round length, which a bar names. Cameras whose place is unknown stand below the plane
in rows of their own, with nothing but their headings; so do many cameras at one place, whose wedges would hide each other.
Lines are drawn twice as large and shrunk, so that they are smooth;
lettering is drawn afterwards, so that it stays sharp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from openvlharness_adapters.imaging.birds_eye import BirdsEye, Floats, seen_from_above
from openvlharness_adapters.imaging.camera_marks import Brush, draw_camera, draw_path, is_steep, tip_of
from openvlharness_adapters.imaging.lettering import Lettering, shown
from openvlharness_adapters.imaging.palette import BLACK, WHITE, Rgb
from openvlharness_adapters.imaging.placing import Rectangle, Spot, place
from openvlharness_adapters.imaging.round_numbers import in_words, round_length
from openvlharness_core.cameras import CameraTrajectory

_WIDTH, _PLANE_HEIGHT = 960, 760
_MARGIN_X, _MARGIN_TOP, _MARGIN_BOTTOM = 130, 110, 120  # between the outermost cameras and the edges of the plane
_SQUARE = 150  # pixels that a square of the ruling has at most, and the bar of the scale
_CELL_HEIGHT, _LEAST_CELL_WIDTH, _ABOVE_CELLS = 108, 112, 40  # of cameras without a place
_MOST_AT_ONE_PLACE = 4  # cameras whose wedges can be told apart around one dot
_RULE: Rgb = (228, 228, 228)
_GREY: Rgb = (90, 90, 90)
_WORDS = Lettering(size=17)
_TITLE = Lettering(size=19)
_LABEL_SIZES = (17, 14, 12, 10)
_NEAR = 40.0  # pixels of a line between a label and its camera that an eye follows in a row of cameras


@attrs.frozen(kw_only=True, eq=False)
class _Sheet:
    """Where things lie on the sheet, in pixels.

    Attributes:
        origin_xy: the first camera's place.
        per_unit: pixels of one unit of the trajectory.
        square: length of a square's side, in units.
        is_one_place: whether all cameras with a known place stand at one.
        is_on_plane: bool (N,), which cameras are drawn on the plane; the others have cells below it.
    """

    origin_xy: tuple[float, float]
    per_unit: float
    square: float
    is_one_place: bool
    is_on_plane: NDArray[np.bool_]

    def at(self, place_xz: Floats) -> tuple[float, float]:
        """Pixels of a place; z runs upwards."""
        return (
            self.origin_xy[0] + float(place_xz[0]) * self.per_unit,
            self.origin_xy[1] - float(place_xz[1]) * self.per_unit,
        )


def draw_trajectory(trajectory: CameraTrajectory, labels: Sequence[str]) -> Image.Image:
    """The sheet, mode RGB, 960 pixels wide; its height depends on how many cameras have no place.

    Raises:
        ValueError: not one label a camera.
    """
    if len(labels) != len(trajectory):
        raise ValueError(f"labels: expected one for each of {len(trajectory)} cameras, got {len(labels)}")
    view = seen_from_above(trajectory)
    texts = [_text(view, camera, label) for camera, label in enumerate(labels)]
    sheet = _sheet(view)
    unplaced = np.flatnonzero(~sheet.is_on_plane).tolist()
    cells = _cells([texts[camera] for camera in unplaced])
    brush = Brush((_WIDTH, _PLANE_HEIGHT if not cells else round(cells[-1][1]) + _CELL_HEIGHT // 2))
    _rule(brush, sheet)
    _draw_placed(brush, view, sheet)
    for camera, middle in zip(unplaced, cells, strict=True):
        draw_camera(brush, (middle[0], middle[1] - 12), view, camera)
    if unplaced:
        brush.line((0, _PLANE_HEIGHT), (_WIDTH, _PLANE_HEIGHT), _GREY, 1)
    canvas = brush.finished()
    draw = ImageDraw.Draw(canvas)
    _label_placed(canvas, view, sheet, texts, _furniture(draw, view, sheet, shown(labels[0]), trajectory.is_metric))
    if unplaced:
        _WORDS.draw_text(draw, (12, _PLANE_HEIGHT + 10), _heading_of_cells(view, sheet), BLACK)
    for camera, (x, y) in zip(unplaced, cells, strict=True):
        _WORDS.draw_text(draw, (round(x) - _WORDS.text_wh(texts[camera])[0] // 2, round(y) + 26), texts[camera], BLACK)
    return canvas


def _heading_of_cells(view: BirdsEye, sheet: _Sheet) -> str:
    if view.is_placed.all():
        return "Headings at that one place (up is Z forward):"
    if (view.is_placed == sheet.is_on_plane).all():
        return "Place unknown, heading only (up is Z forward):"
    return "Headings of the others, at that place or at one unknown (up is Z forward):"


def _text(view: BirdsEye, camera: int, label: str) -> str:
    """The label, or a number where it is empty; where there is no heading, what there is instead."""
    text = shown(label) or str(camera + 1)
    if not is_steep(view, camera):
        return text
    return f"{text}, looks {'down' if view.looks_down[camera] > 0 else 'up'}"


def _sheet(view: BirdsEye) -> _Sheet:
    places = view.places_xz[view.is_placed]
    low, high = places.min(axis=0), places.max(axis=0)
    room_x = _WIDTH - 2 * _MARGIN_X
    room_y = _PLANE_HEIGHT - _MARGIN_TOP - _MARGIN_BOTTOM
    per_unit = min(
        (room / span for room, span in zip((room_x, room_y), (high - low).tolist(), strict=True) if span > 0),
        default=_SQUARE,
    )
    middle = (low + high) / 2
    is_one_place = bool((high == low).all())
    is_on_plane = view.is_placed.copy()
    if is_one_place and np.count_nonzero(is_on_plane) > _MOST_AT_ONE_PLACE:
        is_on_plane[1:] = False
    return _Sheet(
        origin_xy=(
            _MARGIN_X + room_x / 2 - float(middle[0]) * per_unit,
            _MARGIN_TOP + room_y / 2 + float(middle[1]) * per_unit,
        ),
        per_unit=per_unit,
        square=round_length(_SQUARE / per_unit),
        is_one_place=is_one_place,
        is_on_plane=is_on_plane,
    )


def _rule(brush: Brush, sheet: _Sheet) -> None:
    """Squares through the first camera's place."""
    step = sheet.square * sheet.per_unit
    for axis, side in ((0, _WIDTH), (1, _PLANE_HEIGHT)):
        start = sheet.origin_xy[axis] % step
        for nth in range(int((side - start) // step) + 1):
            at = start + nth * step
            start_xy, end_xy = ((at, 0), (at, _PLANE_HEIGHT)) if axis == 0 else ((0, at), (_WIDTH, at))
            brush.line(start_xy, end_xy, _RULE, 1)


def _draw_placed(brush: Brush, view: BirdsEye, sheet: _Sheet) -> None:
    placed = np.flatnonzero(sheet.is_on_plane).tolist()
    points = [sheet.at(view.places_xz[camera]) for camera in placed]
    draw_path(brush, points)
    for camera, point in reversed(list(zip(placed, points, strict=True))):  # the first camera lies on top
        draw_camera(brush, point, view, camera)


def _furniture(
    draw: ImageDraw.ImageDraw, view: BirdsEye, sheet: _Sheet, first: str, is_metric: bool
) -> list[Rectangle]:
    """Title, axes and scale; returns what they cover."""
    title = f"Cameras from above, in the frame of {first}"
    _TITLE.draw_text(draw, (12, 10), title, BLACK)
    held: list[Rectangle] = [(0, 0, 24 + _TITLE.text_wh(title)[0], 44)]
    note = _note(view, sheet)
    if note:
        _WORDS.draw_text(draw, (12, 40), note, _GREY)
        held.append((0, 36, 24 + _WORDS.text_wh(note)[0], 70))
    held.append(_draw_axes(draw))
    held.append(_draw_scale(draw, sheet, is_metric))
    return held


def _note(view: BirdsEye, sheet: _Sheet) -> str:
    if not view.is_placed[1:].any():
        return "No translation is known: headings only."
    if not sheet.is_one_place:
        return ""
    return "All cameras stand at one place." if view.is_placed.all() else "All cameras with a known place stand at one."


def _draw_axes(draw: ImageDraw.ImageDraw) -> Rectangle:
    x, y = 34, _PLANE_HEIGHT - 40
    for end in ((x + 70, y), (x, y - 70)):
        draw.line((x, y, *end), fill=BLACK, width=3)
    draw.polygon((x + 82, y, x + 66, y - 6, x + 66, y + 6), fill=BLACK)
    draw.polygon((x, y - 82, x - 6, y - 66, x + 6, y - 66), fill=BLACK)
    _WORDS.draw_text(draw, (x + 30, y + 8), "X right", BLACK)
    _WORDS.draw_text(draw, (x + 6, y - 92), "Z forward", BLACK)
    return (0, y - 96, 150, _PLANE_HEIGHT)


def _draw_scale(draw: ImageDraw.ImageDraw, sheet: _Sheet, is_metric: bool) -> Rectangle:
    """A bar as long as a square of the ruling."""
    length = round(sheet.square * sheet.per_unit)
    text = f"{in_words(sheet.square)} m" if is_metric else f"{in_words(sheet.square)} (scale unknown)"
    width, _ = _WORDS.text_wh(text)
    right, y = _WIDTH - 24, _PLANE_HEIGHT - 24
    left = right - length
    draw.line((left, y, right, y), fill=BLACK, width=3)
    for x in (left, right):
        draw.line((x, y - 7, x, y + 7), fill=BLACK, width=3)
    text_x = min(left, right - width)
    _WORDS.draw_text(draw, (text_x, y - 34), text, BLACK)
    return (text_x - 8, y - 36, _WIDTH, _PLANE_HEIGHT)


def _label_placed(
    canvas: Image.Image, view: BirdsEye, sheet: _Sheet, texts: list[str], furniture: list[Rectangle]
) -> None:
    """One tag a camera, in the largest lettering with which all find room near their cameras, or else the nearest."""
    placed = np.flatnonzero(sheet.is_on_plane).tolist()
    points = [sheet.at(view.places_xz[camera]) for camera in placed]
    tips = [tip_of(point, view, camera) for point, camera in zip(points, placed, strict=True)]
    held = furniture + [_around(point, tip) for point, tip in zip(points, tips, strict=True)]
    named = np.array([(x - 5, y - 5, x + 5, y + 5) for x, y in tips])
    tried = []
    for size in _LABEL_SIZES:
        lettering = Lettering(size=size)
        sizes = np.array([lettering.text_wh(texts[camera]) for camera in placed], dtype=np.int64)
        spots = place(named, sizes, (_WIDTH, _PLANE_HEIGHT), 3, held)
        longest = max(math.dist(_start(*each), each[1]) for each in zip(spots, tips, sizes.tolist(), strict=True))
        tried.append((sum(not spot.is_free for spot in spots), longest, lettering, spots, sizes))
        if tried[-1][:2] <= (0, _NEAR):
            break
    *_, lettering, spots, sizes = min(tried, key=lambda trial: trial[:2])
    draw = ImageDraw.Draw(canvas)
    for spot, tip, size_wh in zip(spots, tips, sizes.tolist(), strict=True):
        if spot.is_far:
            _leader(draw, spot, tip, size_wh)
    for spot, camera, (width, height) in zip(spots, placed, sizes.tolist(), strict=True):
        x, y = spot.corner_xy
        draw.rectangle((x, y, x + width - 1, y + height - 1), fill=WHITE, outline=_GREY)
        lettering.draw_text(draw, (x, y), texts[camera], BLACK)


def _around(point: tuple[float, float], tip: tuple[float, float]) -> Rectangle:
    """What a camera's mark covers, nearly; its tip is left free, for a label may touch it."""
    x, y = (0.35 * at + 0.65 * end for at, end in zip(point, tip, strict=True))
    return (min(point[0] - 5, x - 9), min(point[1] - 5, y - 9), max(point[0] + 5, x + 9), max(point[1] + 5, y + 9))


def _leader(draw: ImageDraw.ImageDraw, spot: Spot, tip: tuple[float, float], size_wh: list[int]) -> None:
    """A thin line from a tag's edge to the tip of its camera."""
    draw.line((*_start(spot, tip, size_wh), *tip), fill=_GREY, width=1)


def _start(spot: Spot, tip: tuple[float, float], size_wh: list[int]) -> tuple[float, float]:
    """The place on a tag that is nearest to the tip of its camera."""
    x, y = (
        min(max(end, corner), corner + side) for end, corner, side in zip(tip, spot.corner_xy, size_wh, strict=True)
    )
    return x, y


def _cells(texts: list[str]) -> list[tuple[float, float]]:
    """Middles of the cells of cameras without a place, in rows below the plane."""
    if not texts:
        return []
    width = max(_LEAST_CELL_WIDTH, max(_WORDS.text_wh(text)[0] for text in texts) + 16)
    columns = max(1, _WIDTH // width)
    top = _PLANE_HEIGHT + _ABOVE_CELLS + _CELL_HEIGHT / 2
    return [((nth % columns + 0.5) * width, top + nth // columns * _CELL_HEIGHT) for nth in range(len(texts))]
