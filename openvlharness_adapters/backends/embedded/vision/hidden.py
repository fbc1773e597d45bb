"""What an outline may be: seen whole, or where something in front, or the picture's edge, hides a part of it.

An outline that was cut can look like another shape seen whole: a square half behind a wall is a rectangle. So a side
that lies against a neighbour from end to end is not taken for the thing's own, unless the neighbour bends around the
corner there, which nothing in front would do. What is not the thing's own is left out of the fit; a fitted model must
then hide its missing part behind neighbours or beyond the edge, and must show a piece of every side.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.labels import Labels, is_among
from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.outlines import Fit, all_fits
from openvlharness_adapters.backends.embedded.vision.queries import SHAPES, Shape
from openvlharness_adapters.backends.embedded.vision.regions import Region

ANYTHING: frozenset[Shape | None] = frozenset((*SHAPES, None))

_LEAST_SIZE = 6.0  # picture pixels; below, nothing is named
_LEAST_HIDDEN_SIZE = 14.0  # the same, for what is partly hidden
_AGAINST = 0.6  # of a side
_LEAST_SHOWN = 0.55  # of an outline
_LEAST_SIDE_SHOWN = 0.25
_LEAST_SEEN = 0.45  # of the area: a sliver may be the rim of anything
_HIDDEN_TOLERANCE = 0.9  # of what is tolerated in a whole outline: less is seen, so it has to agree better


@attrs.frozen(kw_only=True)
class Guess:
    """What an outline may be.

    Attributes:
        shapes: every possibility; `None` among them for anything outside the vocabulary, or several things in one.
        fit: the best model, if one fits.
        off: its mean distance in parts of what is tolerated, 0 to 1.
    """

    shapes: frozenset[Shape | None]
    fit: Fit | None = None
    off: float = 1.0


@attrs.frozen(kw_only=True)
class Tolerance:
    """How far outlines may lie from models, in working pixels.

    Attributes:
        unit: working pixels of a picture pixel, at least 1.
        noise: levels that smoothing left.
    """

    unit: float
    noise: float = 0.0

    def mean(self, size: float) -> float:
        """On average, for a thing of that size."""
        return (0.34 + 0.02 * min(self.noise, 10)) * self.unit + 0.0025 * size

    def worst(self, size: float) -> float:
        """For all but one in fifty points."""
        return (1.1 + 0.05 * min(self.noise, 10)) * self.unit + 0.006 * size


def guess_of(
    region: Region,
    labels: Labels,
    ground: frozenset[int],
    kin: NDArray[np.int64],
    tolerance: Tolerance,
    dividers: frozenset[int] = frozenset(),
) -> Guess:
    """What a region's outline may be.

    Args:
        region: which.
        labels: of the picture.
        ground: labels that lie behind it for sure: what surrounds it, and the background.
        kin: for each label, one that stands for all of its colour.
        tolerance: of the picture.
        dividers: of `kin`, what another region of this one's colour touches too, and may lie in front of both.
    """
    if region.size < _LEAST_SIZE * tolerance.unit:
        return Guess(shapes=ANYTHING)
    foreign = ~is_among(region.beside, (*ground, region.label))
    whole = _passing(all_fits(region.outline, 1.5 + 0.1 * region.size), region.size, tolerance)
    whole = [fit for fit in whole if _covers(fit, region, tolerance)]
    if not foreign.any() and whole:
        return _guess(whole, region.size, tolerance)
    if not foreign.any():
        return Guess(shapes=ANYTHING)
    if whole and all(_is_own(fit, region, foreign, kin, dividers) for fit in whole):
        return _guess(whole, region.size, tolerance)
    return _behind(region, labels, ground, _widened(foreign, 2.5 * tolerance.unit), tolerance)


def _guess(fits: list[Fit], size: float, tolerance: Tolerance) -> Guess:
    shapes = frozenset[Shape | None]().union(*(fit.shapes(tolerance.unit) for fit in fits))
    return Guess(shapes=shapes or ANYTHING, fit=fits[0], off=min(1.0, fits[0].mean / tolerance.mean(size)))


def _passing(fits: list[Fit], size: float, tolerance: Tolerance) -> list[Fit]:
    """Fits within tolerance and not clearly worse than the best."""
    fits = [fit for fit in fits if fit.shapes(tolerance.unit)]
    if not fits:
        return []
    limit = min(tolerance.mean(size), 1.7 * fits[0].mean + 0.08 * tolerance.unit)
    return [fit for fit in fits if fit.mean <= limit and fit.worst <= tolerance.worst(size)]


def _covers(fit: Fit, region: Region, tolerance: Tolerance) -> bool:
    """Whether model and region are alike in area, so that no part of the model lacks points."""
    cv2 = opencv()
    area = abs(float(cv2.contourArea(fit.corners.astype(np.float32))))
    seen = float(cv2.contourArea(region.outline.astype(np.float32)))
    return abs(area - seen) <= 0.03 * seen + 0.3 * tolerance.unit * region.perimeter


def _sides(fit: Fit, points: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """For each point, the nearest side of the model and how far along it, 0 to 1."""
    corners = fit.corners
    sides = np.roll(corners, -1, axis=0) - corners
    lengths = np.maximum((sides**2).sum(axis=1), 1e-9)
    away = points[:, None] - corners[None]
    along = np.clip((away * sides).sum(axis=2) / lengths, 0, 1)
    distance = ((away - along[..., None] * sides) ** 2).sum(axis=2)
    side = distance.argmin(axis=1)
    return side, along[np.arange(len(points)), side]


def _is_own(
    fit: Fit, region: Region, foreign: NDArray[np.bool_], kin: NDArray[np.int64], dividers: frozenset[int]
) -> bool:
    """Whether no side of the model can be the rim of something in front, or the picture's edge.

    Between the tips of a star in front, what is seen of a thing may have the star bend around its corner.
    """
    if fit.family not in ("triangle", "rectangle"):  # no straight cut leaves a whole star, and no likely one an ellipse
        return True
    side, along = _sides(fit, region.outline)
    count, beside = len(fit.corners), kin[region.beside]
    for each in range(count):
        on = side == each
        if not on.any() or float(foreign[on].mean()) < _AGAINST:
            continue
        labels, sizes = np.unique(beside[on & foreign], return_counts=True)
        against = int(labels[sizes.argmax()])
        before, after = (each - 1) % count, (each + 1) % count
        bends = [
            near.any() and float((beside[near] == against).mean()) > 0.6
            for near in ((side == before) & (along > 0.75), (side == after) & (along < 0.25))
        ]
        if against == 0 or against in dividers or not any(bends):
            return False
    return True


def _widened(foreign: NDArray[np.bool_], reach: float) -> NDArray[np.bool_]:
    """Also the points within `reach` steps of a foreign one: the blur of a corner belongs to nobody."""
    steps = int(reach)
    return np.asarray(np.any([np.roll(foreign, step) for step in range(-steps, steps + 1)], axis=0))


def _behind(
    region: Region, labels: Labels, ground: frozenset[int], foreign: NDArray[np.bool_], tolerance: Tolerance
) -> Guess:
    own = region.outline[~foreign]
    if region.size < _LEAST_HIDDEN_SIZE * tolerance.unit or len(own) < 24 or len(own) < 0.3 * len(region.outline):
        return Guess(shapes=ANYTHING)
    fits = _passing(all_fits(own, 1.5 + 0.12 * region.size), region.size, tolerance)
    fits = [fit for fit in fits if fit.mean <= _HIDDEN_TOLERANCE * tolerance.mean(region.size)]
    fits = [fit for fit in fits if _hides_the_rest(fit, region, labels, ground, tolerance)]
    if not fits:
        return Guess(shapes=ANYTHING)
    guess = _guess(fits, region.size, tolerance)
    shown = [_shown(fit, own, tolerance) for fit in fits]
    if all(_is_enough(fit, share, each) for fit, (share, each) in zip(fits, shown, strict=True)):
        return guess
    if {fit.family for fit in fits} == {"rectangle"}:
        return _open_ended(fits[0], shown[0][1], own, guess)
    return Guess(shapes=ANYTHING)


def _open_ended(fit: Fit, shown: NDArray[np.float64], own: NDArray[np.float64], guess: Guess) -> Guess:
    """A rectangle that shows one side and its two corners, and hides the side opposite."""
    far = int(shown.argmin())
    near, beside = (far + 2) % 4, ((far + 1) % 4, (far + 3) % 4)
    if guess.off > 0.8 or shown[near] < 0.85 or min(shown[each] for each in beside) < _LEAST_SIDE_SHOWN:
        return Guess(shapes=ANYTHING)
    corners = fit.corners
    start, end = corners[near], corners[(near + 1) % 4]
    across = end - start
    long = float(np.hypot(*across))
    depth = np.abs((own - start) @ np.array([-across[1], across[0]]) / max(long, 1e-6))
    wide_enough = float(np.percentile(depth, 98)) > 1.2 * long
    shapes: frozenset[Shape | None] = frozenset({"rectangle"}) if wide_enough else frozenset({"square", "rectangle"})
    return attrs.evolve(guess, shapes=shapes)


def _hides_the_rest(fit: Fit, region: Region, labels: Labels, ground: frozenset[int], tolerance: Tolerance) -> bool:
    """Whether what the model has and the region lacks lies behind neighbours or outside, and nothing sticks out."""
    cv2 = opencv()
    corners = fit.corners
    if np.abs(corners - region.middle).max() > 4 * max(labels.shape):
        return False
    if region.area < _LEAST_SEEN * float(cv2.contourArea(corners.astype(np.float32))):
        return False
    low = np.floor(np.minimum(corners.min(axis=0), region.outline.min(axis=0))).astype(int) - 2
    high = np.ceil(np.maximum(corners.max(axis=0), region.outline.max(axis=0))).astype(int) + 3
    wide, tall = (high - low).tolist()
    model = np.zeros((tall, wide), np.uint8)
    cv2.fillPoly(model, [np.round((corners - low) * 16).astype(np.int32)], 1, shift=4)
    seen = np.zeros((tall, wide), np.uint8)
    shift = region.outline - low
    cv2.fillPoly(seen, [shift.astype(np.int32)], 1)
    behind = np.zeros((tall, wide), np.uint8)  # what nothing can hide behind
    x1, y1 = max(0, low[0]), max(0, low[1])
    x2, y2 = min(labels.shape[1], high[0]), min(labels.shape[0], high[1])
    part = is_among(labels[y1:y2, x1:x2], ground)
    behind[y1 - low[1] : y2 - low[1], x1 - low[0] : x2 - low[0]] = part
    slack = np.ones((2 * int(1.5 * tolerance.unit) + 1,) * 2, np.uint8)
    bare = cv2.erode(model & (1 - seen) & behind, slack)
    beyond = cv2.erode(seen & (1 - model), slack)
    return not bare.any() and not beyond.any()


def _shown(fit: Fit, own: NDArray[np.float64], tolerance: Tolerance) -> tuple[float, NDArray[np.float64]]:
    """Which part of the model the points stand along, 0 to 1: of all of it, and of each of its sides."""
    corners = fit.corners
    ends = np.roll(corners, -1, axis=0)
    count = np.maximum(2, (np.hypot(*(ends - corners).T) / 2).astype(int))
    marks = np.concatenate(
        [
            a + (b - a) * np.linspace(0, 1, n, endpoint=False)[:, None]
            for a, b, n in zip(corners, ends, count, strict=True)
        ]
    )
    side = np.repeat(np.arange(len(corners)), count)
    reach = 2.0 + tolerance.unit
    if fit.family == "ellipse":
        near = _near(marks, own, reach)
    else:  # at a sharp corner the points of one side lie near the other too, and show nothing of it
        near = np.zeros(len(marks), np.bool_)
        belongs = _sides(fit, own)[0]
        for each in range(len(corners)):
            points = own[belongs == each]
            if len(points):
                near[side == each] = _near(marks[side == each], points, reach)
    return float(near.mean()), np.bincount(side, weights=near, minlength=len(corners)) / count


def _is_enough(fit: Fit, share: float, each: NDArray[np.float64]) -> bool:
    """Whether a model is told from all others by what it shows."""
    if share < _LEAST_SHOWN:
        return False
    if fit.family == "ellipse":
        return True
    few = 0 if fit.family in ("rectangle", "triangle") else len(each) // 5  # regular shapes have sides to spare
    return int((each < _LEAST_SIDE_SHOWN).sum()) <= few


def _near(marks: NDArray[np.float64], points: NDArray[np.float64], reach: float) -> NDArray[np.bool_]:
    step = max(1, len(points) // 400)
    distance = ((marks[:, None] - points[None, ::step]) ** 2).sum(axis=2).min(axis=1)
    return np.asarray(distance <= (reach + step - 1) ** 2)
