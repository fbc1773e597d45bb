"""How two views differ: still, turned, moved, or moved in a direction that the pictures do not tell.

An essential matrix fits every pair of pictures, also one without any movement of the camera's centre, and then its
translation is made of noise. With a focal length that is off, even its residuals look fine. So a direction is claimed
only after the simpler explanations have failed, and only if nothing else explains the matches as well:

* matches that stay where they are: a still pair;
* matches that one rotation explains, at any focal length that may be the true one: a turn without visible parallax;
* else the pose is refined from many starts, at every focal length in question. All solutions that explain the matches
  nearly as well as the best have to agree with the one that is reported; a plane, whose pose is ambiguous, a short
  baseline and a guessed focal length all show up as disagreement. Its covariance has to be small as well.

A plane seen with a guessed focal length leaves a whole family of poses, more than starts can sample: of it no direction is
claimed at all.

Points are pixels of the working size, shape (N, 2), measured from the principal point; x right, y down. Poses map
points of the first camera to the second: x2 ~ R x1 + t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.pose_fitting import (
    Floats,
    angle_between,
    depths,
    fit_pose,
    fit_rotation,
    hidden_turn,
    homogeneous,
    nearest_rotation,
    rotation_angle,
    sampson,
    spreads,
)

Verdict = Literal["still", "turned", "moved", "uncertain"]

STILL_PX = 0.75
PARALLAX_PX = 1.2
PARALLAX_TO_NOISE = 3.0
INLIER_PX = 2.0
GRAINS, CUTS_PX = 6.0, (0.5, 2.0)
"""Residuals that count as wrong matches: so many times what matches are off by, within bounds."""
AS_GOOD = 1.3
"""A solution whose cost is below this many times the least one explains the matches as well."""
AS_GOOD_PX = 0.12
AGREEMENT_DEGREES = 7.5
SPREAD_DEGREES = 2.5
IN_FRONT = 0.85
"""Share of the points with parallax that must lie in front of both cameras."""
GUESSED_FACTORS = tuple(float(factor) for factor in np.geomspace(0.4, 3.0, 13))
"""What a guessed focal length may have to be multiplied with; ultra-wide phones to short telephoto lenses."""
KNOWN_FACTORS = (0.96, 1.0, 1.04)
"""Focal lengths in files are rounded."""
POSSIBLE = 0.5
"""With less than this share a pose fits its epipolar lines, but the scene would lie behind the cameras."""
_FINER_PX = (0.3, 0.1)
_MOST_POINTS = 300  # of which a pose is refined
_MOST = 80  # percentile that stands for "nearly all matches"


@attrs.frozen(kw_only=True, eq=False)
class TwoView:
    """What two views say of each other.

    Attributes:
        verdict: see the module.
        rotation: (3, 3), first camera to second.
        direction: unit vector (3,), translation of `x2 ~ R x1 + t`; zero unless the verdict is `moved`.
        inliers: (N,) which matches agree with it.
        rotation_span_degrees: how far rotations that explain the matches as well are from the one that is told, with
            twice their standard deviation or what a movement may hide in them.
        direction_span_degrees: the same of directions, with twice their standard deviation; 180 where none is told.
        parallax_px: what a mere turn leaves unexplained, of nearly all matches.
    """

    verdict: Verdict
    rotation: Floats
    direction: Floats
    inliers: NDArray[np.bool_]
    rotation_span_degrees: float
    direction_span_degrees: float
    parallax_px: float


def consistent(
    cv2: Any, first: Floats, second: Floats, focal_px: tuple[float, float], factors: Sequence[float]
) -> NDArray[np.bool_]:
    """Which matches some epipolar geometry or homography explains, at one focal length in question or another."""
    agreed = np.zeros(len(first), np.bool_)
    if len(first) < 8:
        return agreed
    tried = sorted({factors[0], factors[len(factors) // 2], factors[-1]})
    for factor in tried:
        mask = _essential(cv2, first, second, (focal_px[0] * factor, focal_px[1] * factor))[1]
        agreed |= mask
    _, mask = cv2.findHomography(first, second, cv2.USAC_MAGSAC, INLIER_PX, maxIters=2000, confidence=0.999)
    if mask is not None:
        agreed |= mask.ravel().astype(np.bool_)
    return agreed


def compare(
    cv2: Any,
    first: Floats,
    second: Floats,
    focal_px: tuple[float, float],
    *,
    guessed: tuple[bool, bool],
) -> TwoView:
    """Say how the second view differs from the first.

    Args:
        cv2: OpenCV.
        first: (N, 2) matches in the first picture, N at least 8, all of them `consistent`.
        second: the same in the second.
        focal_px: of both pictures, in pixels of the working size.
        guessed: whether those are guesses.
    """
    everything = np.ones(len(first), np.bool_)
    nothing = np.zeros(3)
    displacement = np.linalg.norm(second / focal_px[1] * focal_px[0] - first, axis=1)
    if np.percentile(displacement, _MOST) < STILL_PX:
        return TwoView(
            verdict="still",
            rotation=np.eye(3),
            direction=nothing,
            inliers=everything,
            rotation_span_degrees=0.0,
            direction_span_degrees=180.0,
            parallax_px=float(np.percentile(displacement, _MOST)),
        )
    factors = np.array(GUESSED_FACTORS if any(guessed) else KNOWN_FACTORS)
    factors = np.unique(np.append(factors, 1.0))
    told = int(np.flatnonzero(factors == 1.0)[0])
    focal_1 = focal_px[0] * (factors if guessed[0] or not guessed[1] else np.ones_like(factors))
    focal_2 = focal_px[1] * (factors if guessed[1] or not guessed[0] else np.ones_like(factors))

    chosen = _spread_out(first, _MOST_POINTS)
    few_1, few_2 = first[chosen], second[chosen]
    homography, _ = cv2.findHomography(first, second, cv2.USAC_MAGSAC, 2 * INLIER_PX, maxIters=2000, confidence=0.999)
    turns = fit_rotation(few_1, few_2, focal_1, focal_2, _turns_of(homography, focal_1, focal_2))
    left = np.percentile(turns.residuals_px, _MOST, axis=1)  # (factors,)
    parallax = float(left.min())

    rotations, directions, places = _starts(cv2, first, second, focal_1, focal_2, turns.rotations, homography, told)
    poses = fit_pose(few_1, few_2, focal_1[places], focal_2[places], rotations, directions)
    # One match in fifty that is wrong by two pixels outweighs the others' tenths: it is let go once those are known.
    grain = 1.48 * float(np.median(np.abs(poses.residuals_px), axis=1).min())
    cut_px = float(np.clip(GRAINS * grain, *CUTS_PX))
    poses = fit_pose(few_1, few_2, focal_1[places], focal_2[places], poses.rotations, poses.directions, cut_px)
    least = float(poses.costs.min())
    noise = float(np.percentile(np.abs(poses.residuals_px[int(poses.costs.argmin())]), _MOST))
    if parallax <= max(PARALLAX_PX, PARALLAX_TO_NOISE * noise):
        as_good = left <= max(PARALLAX_PX, 1.5 * parallax)
        span = max(rotation_angle(turns.rotations[told].T @ turn) for turn in turns.rotations[as_good])
        span = max(span, hidden_turn(few_1, float(focal_1[told]), float(left[told]), _MOST))
        return TwoView(
            verdict="turned",
            rotation=turns.rotations[told],
            direction=nothing,
            inliers=everything,
            rotation_span_degrees=span,
            direction_span_degrees=180.0,
            parallax_px=parallax,
        )

    sides = [
        _signed(few_1, few_2, focal_1[places[n]], focal_2[places[n]], poses.rotations[n], poses.directions[n])
        for n in range(len(places))
    ]
    possible = np.array([share is None or share >= POSSIBLE for _, share in sides])
    if not possible[places == told].any():
        possible[:] = True
    of_told = np.flatnonzero((places == told) & possible)
    best = int(of_told[poses.costs[of_told].argmin()])
    rotation = poses.rotations[best]
    rivals = np.flatnonzero((poses.costs <= least * AS_GOOD + AS_GOOD_PX**2) & possible)
    direction, share = sides[best]
    apart = max((angle_between(direction, sides[n][0]) for n in rivals), default=0.0)
    span = max((rotation_angle(rotation.T @ poses.rotations[n]) for n in rivals), default=0.0)
    turn_spread, spread = spreads(few_1, few_2, focal_1[told], focal_2[told], rotation, direction)
    flat = _off_homography(few_1, few_2, homography) <= max(PARALLAX_PX, PARALLAX_TO_NOISE * noise)
    sure = (
        not (flat and any(guessed))
        and apart <= AGREEMENT_DEGREES
        and spread <= SPREAD_DEGREES
        and (share or 0) >= IN_FRONT
    )
    residuals = sampson(first, second, focal_1[[told]], focal_2[[told]], rotation[None], direction[None])[0]
    return TwoView(
        verdict="moved" if sure else "uncertain",
        rotation=rotation,
        direction=direction if sure else nothing,
        inliers=np.abs(residuals) < INLIER_PX,
        rotation_span_degrees=span + 2 * turn_spread,
        direction_span_degrees=apart + 2 * spread,
        parallax_px=parallax,
    )


def _essential(
    cv2: Any, first: Floats, second: Floats, focal_px: tuple[float, float], within_px: float = INLIER_PX / 2
) -> tuple[list[tuple[Floats, Floats]], NDArray[np.bool_]]:
    """Poses out of an essential matrix that matches agree with `within_px`, and its inliers."""
    mean = (focal_px[0] * focal_px[1]) ** 0.5
    flat_1, flat_2 = first / focal_px[0], second / focal_px[1]
    found, mask = cv2.findEssentialMat(
        flat_1, flat_2, np.eye(3), method=cv2.USAC_MAGSAC, prob=0.999, threshold=within_px / mean
    )
    nobody = np.zeros(len(first), np.bool_)
    if found is None or mask is None or found.shape[0] < 3:
        return [], nobody
    inliers = mask.ravel().astype(np.bool_)
    if inliers.sum() < 5:
        return [], nobody
    count, rotation, direction, _ = cv2.recoverPose(found[:3], flat_1[inliers], flat_2[inliers], np.eye(3))
    return [(rotation, direction.ravel())] if count else [], inliers


def _turns_of(homography: Floats | None, focal_1: Floats, focal_2: Floats) -> Floats:
    """The rotation (F, 3, 3) nearest to a homography at each focal length."""
    if homography is None:
        return np.broadcast_to(np.eye(3), (len(focal_1), 3, 3)).copy()
    ones = np.ones_like(focal_1)
    scaled = homography[None] * np.stack([focal_1, focal_1, ones], 1)[:, None, :]
    scaled = scaled / np.stack([focal_2, focal_2, ones], 1)[:, :, None]
    return nearest_rotation(scaled)


def _off_homography(first: Floats, second: Floats, homography: Floats | None) -> float:
    """How far off, in pixels, one homography leaves all but a tenth of the matches at most."""
    if homography is None:
        return math.inf
    mapped = homogeneous(first) @ homography.T
    ahead = np.where(np.abs(mapped[:, 2:]) < 1e-9, 1e-9, mapped[:, 2:])
    return float(np.percentile(np.linalg.norm(mapped[:, :2] / ahead - second, axis=1), 90))


def _starts(
    cv2: Any,
    first: Floats,
    second: Floats,
    focal_1: Floats,
    focal_2: Floats,
    turns: Floats,
    homography: Floats | None,
    told: int,
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Poses to refine: rotations (B, 3, 3), directions (B, 3), and of which focal length each is (B,)."""
    rotations, directions, places = [], [], []
    hemisphere = _hemisphere()
    essential: list[tuple[Floats, Floats]] = []
    for place, (focal_a, focal_b) in enumerate(zip(focal_1, focal_2, strict=True)):
        guesses = [(turns[place], direction) for direction in hemisphere]
        if homography is not None:
            guesses += _of_a_plane(cv2, homography, float(focal_a), float(focal_b))
        if place % 3 == 0 or len(focal_1) < 5:  # its answer is refined at the focal lengths beside it as well
            essential = _essential(cv2, first, second, (float(focal_a), float(focal_b)))[0]
        if place == told:  # more of them where the answer is taken from: what no start leads to is not seen as a rival
            for within_px in _FINER_PX:
                essential = essential + _essential(cv2, first, second, (float(focal_a), float(focal_b)), within_px)[0]
            guesses += [(rotation, direction) for rotation, _ in essential for direction in hemisphere]
        for rotation, direction in guesses + essential:
            rotations.append(rotation)
            directions.append(direction)
            places.append(place)
    return np.array(rotations), np.array(directions), np.array(places)


def _of_a_plane(cv2: Any, homography: Floats, focal_1: float, focal_2: float) -> list[tuple[Floats, Floats]]:
    """The poses that give a homography if all matches lie in one plane: two, each with its mirrored plane."""
    scaled = homography * [focal_1, focal_1, 1] / np.array([[focal_2], [focal_2], [1]])
    count, rotations, directions, _ = cv2.decomposeHomographyMat(scaled, np.eye(3))
    poses = []
    for rotation, direction in zip(rotations[:count], directions[:count], strict=True):
        length = float(np.linalg.norm(direction))
        if length > 1e-6 and np.isfinite(rotation).all():
            poses.append((rotation, direction.ravel() / length))
    return poses


def _hemisphere() -> Floats:
    """Nine directions; a translation and its opposite fit alike."""
    corners = np.array(
        [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 0, -1], [0, 1, 1], [0, 1, -1], [1, 1, 0], [1, -1, 0]], float
    )
    unit: Floats = corners / np.linalg.norm(corners, axis=1, keepdims=True)
    return unit


def _signed(
    first: Floats, second: Floats, focal_1: float, focal_2: float, rotation: Floats, direction: Floats
) -> tuple[Floats, float | None]:
    """The direction that puts points in front of both cameras, and the share that it puts there, if enough can tell."""
    rays_1, rays_2 = homogeneous(first / focal_1) @ rotation.T, homogeneous(second / focal_2)
    parallax = np.linalg.norm(np.cross(rays_1, rays_2), axis=1) * min(focal_1, focal_2)
    near = parallax > PARALLAX_PX
    if near.sum() < 8:
        return direction, None
    depth_1, depth_2 = depths(rays_1[near], rays_2[near], direction)
    ahead = float(np.mean((depth_1 > 0) & (depth_2 > 0)))
    behind = float(np.mean((depth_1 < 0) & (depth_2 < 0)))
    return (direction, ahead) if ahead >= behind else (-direction, behind)


def _spread_out(points: Floats, count: int) -> NDArray[np.int64]:
    """At most `count` points, of all parts of the picture alike."""
    if len(points) <= count:
        return np.arange(len(points))
    low, high = points.min(0), points.max(0)
    cells = np.floor((points - low) / np.maximum(high - low, 1e-9) * 11.999).astype(np.int64)
    order = np.lexsort((np.arange(len(points)), cells[:, 1] * 12 + cells[:, 0]))
    cell = (cells[:, 1] * 12 + cells[:, 0])[order]
    rank = np.arange(len(points)) - np.searchsorted(cell, cell)  # a point's number inside its cell
    return np.sort(order[np.argsort(rank, kind="stable")[:count]])
