"""From the points of an outline to the shapes it may be.

Every shape is a model with few numbers, fitted by least squares to the points: an ellipse, a triangle, a rectangle, and
regular star, pentagon and hexagon. What counts is how far the points lie from the best fit. The right model lies within
a quarter of a pixel of them, whatever the size, and the next one twice as far or more unless the thing is a dot. Several
models may pass, then; the outline may be any of them.
"""

from __future__ import annotations

import math
from typing import Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.queries import Shape
from openvlharness_adapters.backends.embedded.vision.ranks import percentile_of

Points = NDArray[np.float64]
Numbers = NDArray[np.float64]
Family = Literal["ellipse", "triangle", "rectangle", "star", "pentagon", "hexagon"]

_CORNERS: dict[Family, int] = {"star": 10, "pentagon": 5, "hexagon": 6}
_TOWARD: dict[Family, NDArray[np.complex128]] = {
    "star": np.exp(2j * np.pi / 5 * np.arange(3))[:, None],
    "pentagon": np.exp(2j * np.pi / 5 * (np.arange(3) + 0.5))[:, None],
    "hexagon": np.exp(2j * np.pi / 6 * (np.arange(3) + 0.5))[:, None],
}
"""Directions from the middle of a regular shape to a star's tips, to the others' sides; the rest by symmetry."""
_MOST_POINTS = 110
_TRIES: dict[Family, NDArray[np.float64]] = {
    family: np.array(
        [
            [0, 0, 0.97, inner, turn * 2 * math.pi / (5 if family == "star" else count) / 8]
            for turn in range(8)
            for inner in ((0.34, 0.45, 0.56) if family == "star" else (0.0,))
        ]
    )
    for family, count in _CORNERS.items()
}
"""Numbers of regular shapes that may lie in a unit circle around the origin."""
_NEXT = [1, 2, 0]
_OUT = np.array([1.0, -1.0])
_STEPS = 8
_NUDGE = 0.05  # working pixels, for slopes


@attrs.frozen(kw_only=True)
class Fit:
    """A model at its best.

    Attributes:
        family: which model.
        numbers: three corners of a triangle; of the others x, y, two half-axes or radii, and the angle.
        mean: mean distance of the points, in working pixels.
        worst: distance that one in fifty points exceeds.
    """

    family: Family
    numbers: Numbers
    mean: float
    worst: float

    @property
    def corners(self) -> Points:
        """The outline as a polygon, shape (n, 2), x and y in working pixels; an ellipse as 72 points."""
        return np.asarray(corners_at(self.family, self.numbers[None])[0])

    def shapes(self, unit: float) -> frozenset[Shape | None]:
        """Which shapes this fit may be, by its proportions; `None` among them for none of the vocabulary."""
        if self.family == "ellipse":
            return _by_ratio(self.numbers[2], self.numbers[3], unit, "circle", "ellipse")
        if self.family == "rectangle":
            return _by_ratio(self.numbers[2], self.numbers[3], unit, "square", "rectangle")
        if self.family == "triangle":
            sharp = _least_angle(self.corners) < 0.25
            return frozenset({"triangle", None}) if sharp else frozenset({"triangle"})
        if self.family == "star":
            inner, outer = sorted(np.abs(self.numbers[2:4]).tolist())
            slim = inner / max(outer, 1e-6)
            return frozenset() if not 0.15 < slim < 0.74 else frozenset({"star", None} if slim > 0.66 else {"star"})
        return frozenset({self.family})


def _by_ratio(one: float, other: float, unit: float, equal: Shape, unequal: Shape) -> frozenset[Shape | None]:
    """By half-axes in working pixels."""
    short, long = sorted((abs(float(one)), abs(float(other))))
    ratio, doubt = long / max(short, 1e-6), 0.4 * unit / max(long, 1e-6)
    shapes: set[Shape | None] = set()
    if ratio <= 1.09 + doubt:
        shapes.add(equal)
    if ratio >= 1.035 + doubt:
        shapes.add(unequal)
    if ratio > 10 or short < 1.5 * unit:
        shapes.add(None)  # a line is no rectangle
    return frozenset(shapes)


def _least_angle(corners: Points) -> float:
    sides = np.roll(corners, -1, axis=0) - corners
    angles = np.arctan2(sides[:, 1], sides[:, 0])
    turns = np.abs((np.roll(angles, -1) - angles + np.pi) % (2 * np.pi) - np.pi)
    return float(np.pi - turns.max())


def thinned(points: Points) -> Points:
    """At most `_MOST_POINTS` of them, evenly spread."""
    return np.ascontiguousarray(points[:: max(1, math.ceil(len(points) / _MOST_POINTS))])


def corners_at(family: Family, numbers: Numbers) -> Points:
    """The polygons, shape (k, n, 2), of k sets of numbers, shape (k, p)."""
    if family == "triangle":
        return numbers.reshape(-1, 3, 2)
    x, y, one, two, angle = (column[:, None] for column in numbers.T)
    if family == "rectangle":
        u, v = one * [1.0, -1, -1, 1], two * [1.0, 1, -1, -1]
    else:
        count = _CORNERS.get(family, 72)
        turns = (np.arange(count) * 2 * np.pi / count)[None]
        if family == "ellipse":
            across = two
        elif family == "star":
            one = np.where(np.arange(count) % 2 == 0, one, two)
            across = one
        else:
            across = one
        u, v = one * np.cos(turns), across * np.sin(turns)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([x + u * cos - v * sin, y + u * sin + v * cos], axis=2)


def offsets_from(family: Family, numbers: Numbers, points: Points) -> NDArray[np.float64]:
    """Signed offsets, shape (k, m), of m points from the outlines of k sets of numbers, outside positive.

    They vary smoothly with the numbers, which least squares needs: a point belongs to a side of a regular shape by its
    direction from the middle, not by which side is nearest, and is measured at right angles to that side's line.
    """
    if family == "triangle":
        return _from_triangles(numbers.reshape(-1, 3, 2), points)
    one, two = numbers[:, 2:3], numbers[:, 3:4]
    # As complex numbers, one product turns all: the model's first axis, or first tip, then points to the right.
    turned = (_complex(points) - _complex(numbers[:, None, :2])) * np.exp(-1j * numbers[:, 4:5])
    along, across = np.abs(turned.real), np.abs(turned.imag)
    if family == "rectangle":
        beside, above = along - np.abs(one), across - np.abs(two)
        corner = np.sqrt(np.maximum(beside, 0) ** 2 + np.maximum(above, 0) ** 2)
        return np.asarray(corner + np.minimum(np.maximum(beside, above), 0))
    if family == "ellipse":
        one, two = np.maximum(np.abs(one), 0.5), np.maximum(np.abs(two), 0.5)
        u, v = along / one, across / two
        slope = 2 * np.sqrt((u / one) ** 2 + (v / two) ** 2)
        return np.asarray((u * u + v * v - 1) / np.maximum(slope, 1e-6))
    half = math.pi / (5 if family == "star" else _CORNERS[family])
    toward = (turned.real[:, None] * _TOWARD[family].real + across[:, None] * _TOWARD[family].imag).max(axis=1)
    if family != "star":
        return np.asarray(toward - one * math.cos(half))
    aside = np.sqrt(np.maximum(along**2 + across**2 - toward**2, 0))
    to_x, to_y = two * math.cos(half) - one, two * math.sin(half)
    length = np.maximum(np.sqrt(to_x**2 + to_y**2), 1e-9)
    return np.asarray(toward * (to_y / length) - aside * (to_x / length) - one * (to_y / length))


def _complex(pairs: Points) -> NDArray[np.complex128]:
    """Pairs of x and y, shape (..., 2), as one number each."""
    return np.asarray(pairs.view(np.complex128)[..., 0])


def _from_triangles(corners: Points, points: Points) -> NDArray[np.float64]:
    sides = corners[:, _NEXT] - corners
    lengths = np.maximum(np.hypot(sides[..., 0], sides[..., 1]), 1e-9)
    doubled = sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0]
    outward = np.where(doubled > 0, 1.0, -1.0)[:, None] / lengths
    normals = sides[..., ::-1] * outward[..., None] * _OUT
    off = (normals.reshape(-1, 2) @ points.T).reshape(*lengths.shape, -1)
    off -= (normals * corners).sum(axis=2)[..., None]
    return np.asarray(off.max(axis=1))


def fitted(family: Family, start: Numbers, points: Points) -> Fit:
    """The model at its least squares from `start`, by damped Gauss-Newton steps."""
    numbers, damping = start.astype(np.float64), 1e-3
    scale = np.ones(len(numbers))
    used = np.arange(len(numbers))
    if family != "triangle":
        scale[4] = 1 / max(1.0, float(np.abs(numbers[2:4]).max()))  # an angle moves the outline by the radius
    if family in ("pentagon", "hexagon"):
        used = np.array([0, 1, 2, 4])
    # In one go where the outline is, and where it would be with each number nudged: the calls cost more than the numbers.
    nudges = np.zeros((1 + len(used), len(numbers)))
    nudges[np.arange(len(used)) + 1, used] = _NUDGE * scale[used]
    around = offsets_from(family, numbers + nudges, points)
    offsets = around[0]
    cost = float(offsets @ offsets) / len(points)
    for _ in range(_STEPS):
        slopes = (around[1:] - offsets) / _NUDGE
        normal = slopes @ slopes.T
        diagonal = normal.reshape(-1)[:: len(used) + 1]
        diagonal *= 1 + damping
        diagonal += 1e-6
        trial = numbers.copy()
        trial[used] -= np.linalg.solve(normal, slopes @ offsets) * scale[used]
        new = offsets_from(family, trial + nudges, points)
        better = float(new[0] @ new[0]) / len(points)
        if not better < cost:
            damping *= 30
            if damping > 1e3:
                break
            continue
        gain, cost, damping = cost - better, better, damping * 0.3
        numbers, around, offsets = trial, new, new[0]
        if gain < 0.01 * cost + 1e-4:
            break
    off = np.abs(offsets)
    return Fit(family=family, numbers=numbers, mean=float(off.mean()), worst=percentile_of(off, 98))


def _starts(points: Points) -> list[tuple[float, Family, Numbers]]:
    """Where to begin each fit, for points all around an outline or along the most of it, and how far off that is."""
    cv2 = opencv()
    flat = points.astype(np.float32).reshape(-1, 1, 2)
    (x, y), (wide, high), degrees = cv2.minAreaRect(flat)
    rectangle = np.array([x, y, max(wide, 1) / 2, max(high, 1) / 2, math.radians(degrees)])
    tries: dict[Family, Numbers] = {"rectangle": rectangle[None], "ellipse": _ellipse_start(flat, rectangle)[None]}
    area, triangle = cv2.minEnclosingTriangle(flat)
    if triangle is not None and area > 0:
        tries["triangle"] = triangle.reshape(1, 6).astype(np.float64)
    (x, y), radius = cv2.minEnclosingCircle(flat)
    for family, of_unit_circle in _TRIES.items():
        tries[family] = np.array([x, y, 0, 0, 0]) + of_unit_circle * np.array([1, 1, radius, radius, 1])
    starts: list[tuple[float, Family, Numbers]] = []
    for family, several in tries.items():
        offsets = offsets_from(family, several, points)
        best = int((offsets**2).sum(axis=1).argmin())
        starts.append((float(np.abs(offsets[best]).mean()), family, several[best]))
    return starts


def _ellipse_start(flat: NDArray[np.float32], rectangle: Numbers) -> Numbers:
    if len(flat) >= 6:
        (x, y), (wide, high), degrees = opencv().fitEllipseDirect(flat)
        if all(map(math.isfinite, (x, y, wide, high, degrees))) and min(wide, high) > 1 and max(wide, high) < 1e4:
            return np.array([x, y, wide / 2, high / 2, math.radians(degrees)])
    return rectangle


def all_fits(points: Points, hopeless: float) -> list[Fit]:
    """Every model at its best, the best first.

    Args:
        points: of an outline or of the most of one, shape (n, 2).
        hopeless: mean distance of the points from where a fit begins over which it is not tried.
    """
    points = thinned(points)
    fits: list[Fit] = []
    for off, family, start in sorted(_starts(points), key=lambda each: each[0]):
        limit = hopeless if not fits else min(hopeless, 5 * min(fit.mean for fit in fits) + 1.5)
        if off <= limit:
            fits.append(fitted(family, start, points))
    return sorted(fits, key=lambda fit: fit.mean)
