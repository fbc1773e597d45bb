"""Marks of a trajectory view: cameras as wedges that open as wide as they see, and the path between them."""

from __future__ import annotations

import math
from itertools import pairwise

from PIL import Image, ImageDraw

from openvlharness_adapters.imaging.birds_eye import BirdsEye
from openvlharness_adapters.imaging.palette import INKS, WHITE, Rgb

_SMOOTHING = 2  # how many times as large lines are drawn
_REACH, _SHORTEST_REACH = 36.0, 14.0  # pixels of a wedge whose camera looks level, and of one that looks far up or down
_STEEP = 0.12  # of the viewing direction: what has to lie in the plane for a heading to mean anything
_NARROWEST, _WIDEST = math.radians(10), math.radians(60)  # half angle of a drawn wedge
_DOT = 5.0
_FIRST, _OTHERS = INKS[1], INKS[0]
_PATH: Rgb = (120, 120, 120)
_ARROW = 8.0

Point = tuple[float, float]


class Brush:
    """A white sheet that takes places in its own pixels and draws them smoothly."""

    def __init__(self, size_wh: tuple[int, int]) -> None:
        self._size_wh = size_wh
        self._sheet = Image.new("RGB", (size_wh[0] * _SMOOTHING, size_wh[1] * _SMOOTHING), WHITE)
        self._draw = ImageDraw.Draw(self._sheet, "RGBA")

    def line(self, start: Point, end: Point, colour: Rgb, width: float) -> None:
        """A straight line."""
        self._draw.line(_scaled(start, end), fill=colour, width=max(1, round(width * _SMOOTHING)))

    def polygon(self, points: list[Point], fill: tuple[int, int, int, int], edge: Rgb | None, width: float) -> None:
        """A filled polygon; the fill's last number is its opacity, 0 to 255."""
        self._draw.polygon(_scaled(*points), fill=fill)
        if edge is not None:
            self._draw.line(
                _scaled(*points, points[0]), fill=edge, width=max(1, round(width * _SMOOTHING)), joint="curve"
            )

    def disc(self, middle: Point, radius: float, fill: Rgb, edge: Rgb) -> None:
        """A dot with an edge."""
        x, y = middle
        box = _scaled((x - radius, y - radius), (x + radius, y + radius))
        self._draw.ellipse(box, fill=fill, outline=edge, width=_SMOOTHING)

    def ring(self, middle: Point, radius: float, colour: Rgb, width: float) -> None:
        """A circle."""
        x, y = middle
        box = _scaled((x - radius, y - radius), (x + radius, y + radius))
        self._draw.ellipse(box, outline=colour, width=max(1, round(width * _SMOOTHING)))

    def finished(self) -> Image.Image:
        """The sheet at its own size, mode RGB."""
        return self._sheet.resize(self._size_wh, Image.Resampling.BOX)


def _scaled(*points: Point) -> list[float]:
    return [value * _SMOOTHING for point in points for value in point]


def is_steep(view: BirdsEye, camera: int) -> bool:
    """Whether a camera looks so far up or down that it has no heading."""
    return math.hypot(*view.headings_xz[camera].tolist()) < _STEEP


def tip_of(middle: Point, view: BirdsEye, camera: int) -> Point:
    """Where the camera's mark ends in the direction of its heading; the upper end of a ring."""
    if is_steep(view, camera):
        return middle[0], middle[1] - _SHORTEST_REACH
    x, z = view.headings_xz[camera].tolist()
    level = math.hypot(x, z)
    reach = max(_SHORTEST_REACH, _REACH * level) / level
    return middle[0] + x * reach, middle[1] - z * reach


def draw_camera(brush: Brush, middle: Point, view: BirdsEye, camera: int) -> None:
    """A wedge along the camera's heading, shorter the steeper it looks; a ring where it looks straight up or down."""
    colour = _FIRST if camera == 0 else _OTHERS
    if is_steep(view, camera):
        brush.ring(middle, _SHORTEST_REACH, colour, 2)
    else:
        tip = tip_of(middle, view, camera)
        reach, heading = math.dist(middle, tip), math.atan2(tip[0] - middle[0], middle[1] - tip[1])
        half = min(max(float(view.half_views[camera]), _NARROWEST), _WIDEST)
        rim = [heading + half * step / 4 for step in range(-4, 5)]
        points = [middle, *((middle[0] + reach * math.sin(a), middle[1] - reach * math.cos(a)) for a in rim)]
        brush.polygon(points, (*colour, 70), colour, 1.5)
    brush.disc(middle, _DOT, colour, WHITE)


def draw_path(brush: Brush, points: list[Point]) -> None:
    """Lines from each place to the next, with an arrow in the middle of those that have room for it."""
    for start, end in pairwise(points):
        brush.line(start, end, _PATH, 2)
        length = math.dist(start, end)
        if length > 5 * _ARROW:
            x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
            ahead = ((end[0] - start[0]) / length * _ARROW, (end[1] - start[1]) / length * _ARROW)
            aside = (-ahead[1] * 0.6, ahead[0] * 0.6)
            tip = (x + ahead[0], y + ahead[1])
            brush.polygon([tip, (x - aside[0], y - aside[1]), (x + aside[0], y + aside[1])], (*_PATH, 255), None, 1)
