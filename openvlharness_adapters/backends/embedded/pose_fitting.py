"""Least squares over rotations and poses of two views, many of them at a time.

Every function takes B candidates side by side, each with focal lengths of its own, and N matches common to all: points
(N, 2) in pixels from the principal point. Residuals are in pixels; steps are damped Gauss-Newton on the manifold, with
weights that let outliers go.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CUT_PX = 2.0
_STEPS = 14


@attrs.frozen(kw_only=True, eq=False)
class Rotations:
    """Fitted rotations (B, 3, 3) and the distance of every match (B, N) in pixels."""

    rotations: Floats
    residuals_px: Floats


@attrs.frozen(kw_only=True, eq=False)
class Poses:
    """Fitted rotations (B, 3, 3), unit directions (B, 3), Sampson residuals (B, N) in pixels, cut mean squares (B,)."""

    rotations: Floats
    directions: Floats
    residuals_px: Floats
    costs: Floats


def homogeneous(points: Floats) -> Floats:
    """(…, 2) to (…, 3)."""
    return np.concatenate([points, np.ones((*points.shape[:-1], 1))], axis=-1)


def nearest_rotation(matrices: Floats) -> Floats:
    """The rotation nearest to each matrix (…, 3, 3), whatever its scale and sign."""
    signed = matrices * np.sign(np.linalg.det(matrices))[..., None, None]
    left, _, right = np.linalg.svd(signed)
    turned: Floats = left @ right
    return turned


def rotation_angle(rotation: Floats) -> float:
    """Angle of a rotation (3, 3), in degrees."""
    return math.degrees(math.acos(min(1.0, max(-1.0, (float(np.trace(rotation)) - 1) / 2))))


def angle_between(first: Floats, second: Floats) -> float:
    """Angle between two unit vectors, in degrees."""
    return math.degrees(math.acos(min(1.0, max(-1.0, float(first @ second)))))


def depths(rays_1: Floats, rays_2: Floats, translation: Floats) -> tuple[Floats, Floats]:
    """Depths (N,) and (N,) with `depth_2 * rays_2 = depth_1 * rays_1 + translation`, in least squares.

    Args:
        rays_1: (N, 3) of the first camera, turned into the second; z is 1 before turning.
        rays_2: (N, 3) of the second camera.
        translation: (3,).
    """
    normals = _cross(rays_2, rays_1)
    square = np.maximum((normals**2).sum(-1), 1e-18)
    depth_1 = -(normals * _cross(rays_2, translation)).sum(-1) / square
    depth_2 = -(normals * _cross(rays_1, translation)).sum(-1) / square
    return depth_1, depth_2


def sampson(
    first: Floats, second: Floats, focal_1: Floats, focal_2: Floats, rotations: Floats, directions: Floats
) -> Floats:
    """Signed first-order distance (B, N) of every match from the epipolar geometry of every pose, in pixels."""
    rays_1, rays_2 = _rays(first, focal_1), _rays(second, focal_2)
    turned = rays_1 @ rotations.transpose(0, 2, 1)
    top, slope = _epipolar(turned, rays_2, rotations, directions, focal_1, focal_2)
    return top / slope


def fit_rotation(first: Floats, second: Floats, focal_1: Floats, focal_2: Floats, starts: Floats) -> Rotations:
    """The rotation that explains most matches best, for each start (B, 3, 3)."""
    rays = _rays(first, focal_1)
    rotations = starts

    def residuals(of: Floats) -> tuple[Floats, Floats, Floats]:
        turned = rays @ of.transpose(0, 2, 1)
        ahead = np.maximum(turned[..., 2], 0.05)  # what a bad start turns behind the camera stays finite
        projected = focal_2[:, None, None] * turned[..., :2] / ahead[..., None]
        return turned, ahead, projected - second

    turned, ahead, off = residuals(rotations)
    for _ in range(_STEPS):
        distance = np.linalg.norm(off, axis=-1)
        scale = np.maximum(0.7, np.median(distance, axis=1))[:, None]
        weights = 1 / (1 + (distance / scale) ** 2)
        jacobian = _turn_jacobian(turned, ahead, focal_2)  # (B, N, 2, 3)
        normal = np.einsum("bn,bnri,bnrj->bij", weights, jacobian, jacobian)
        pull = np.einsum("bn,bnri,bnr->bi", weights, jacobian, off)
        rotations = _exponential(-_solved(normal, pull, np.full(len(normal), 1e-9))) @ rotations
        turned, ahead, off = residuals(rotations)
    return Rotations(rotations=rotations, residuals_px=np.linalg.norm(off, axis=-1))


def fit_pose(
    first: Floats,
    second: Floats,
    focal_1: Floats,
    focal_2: Floats,
    rotations: Floats,
    directions: Floats,
    cut_px: float = _CUT_PX,
) -> Poses:
    """Every start refined until its matches fit their epipolar lines as well as they can.

    A match that is further off than `cut_px` costs no more than one that is so far off.
    """
    rays_1, rays_2 = _rays(first, focal_1), _rays(second, focal_2)

    def residuals(turn: Floats, move: Floats) -> tuple[Floats, Floats, Floats]:
        turned = rays_1 @ turn.transpose(0, 2, 1)
        top, slope = _epipolar(turned, rays_2, turn, move, focal_1, focal_2)
        return turned, slope, top / slope

    damping = np.full(len(rotations), 1e-3)
    turned, slope, off = residuals(rotations, directions)
    costs = _cost(off, cut_px)
    for _ in range(_STEPS):
        jacobian, basis = _pose_jacobian(turned, rays_2, directions, slope)
        weights = 1 / (1 + (off / (cut_px / 2)) ** 2) ** 2
        normal = np.einsum("bni,bn,bnj->bij", jacobian, weights, jacobian, optimize=True)
        pull = np.einsum("bni,bn->bi", jacobian, weights * off)
        step = -_solved(normal, pull, damping)
        turn = _exponential(step[:, :3]) @ rotations
        move = directions + np.einsum("bci,bi->bc", basis, step[:, 3:])
        move = move / np.linalg.norm(move, axis=1, keepdims=True)
        new = residuals(turn, move)
        new_costs = _cost(new[2], cut_px)
        better = new_costs <= costs
        damping = np.clip(np.where(better, damping * 0.3, damping * 10), 1e-7, 1e3)
        pick = better[:, None]
        rotations, directions = np.where(pick[..., None], turn, rotations), np.where(pick, move, directions)
        turned = np.where(pick[..., None], new[0], turned)
        slope, off = np.where(pick, new[1], slope), np.where(pick, new[2], off)
        costs = np.where(better, new_costs, costs)
    return Poses(rotations=rotations, directions=directions, residuals_px=off, costs=costs)


def spreads(
    first: Floats, second: Floats, focal_1: float, focal_2: float, rotation: Floats, direction: Floats
) -> tuple[float, float]:
    """Standard deviations of rotation and direction, each along its worst axis, in degrees; 90 where nothing binds it."""
    focals = np.array([focal_1]), np.array([focal_2])
    rays_1, rays_2 = _rays(first, focals[0]), _rays(second, focals[1])
    turned = rays_1 @ rotation[None].transpose(0, 2, 1)
    top, slope = _epipolar(turned, rays_2, rotation[None], direction[None], *focals)
    off = top / slope
    jacobian = _pose_jacobian(turned, rays_2, direction[None], slope)[0][0]
    kept = np.abs(off[0]) < _CUT_PX
    if kept.sum() < 10:
        return 90.0, 90.0
    # 1.48 median makes a deviation of a median; correlated errors of neighbours are worth fewer matches: twice that.
    deviation = 2 * max(0.15, 1.48 * float(np.median(np.abs(off[0][kept]))))
    try:
        covariance = np.linalg.inv(jacobian[kept].T @ jacobian[kept]) * deviation**2
    except np.linalg.LinAlgError:
        return 90.0, 90.0
    return _worst(covariance[:3, :3]), _worst(covariance[3:, 3:])


def hidden_turn(points: Floats, focal_px: float, left_px: float, percentile: float) -> float:
    """How far a rotation may be off, in degrees, because it has taken in a movement sideways, as along a far wall.

    Such a movement shifts everything alike, and so does a turn, but for what grows towards the picture's rim: the less
    of that the matches can show, the more of a movement may hide.

    Args:
        points: (N, 2) in pixels from the principal point.
        focal_px: of the same picture.
        left_px: what the rotation leaves of the matches, at this percentile.
        percentile: 0 to 100.
    """
    x, y = (points / focal_px).T
    zero = np.zeros_like(x)
    turns = np.stack([[-x * y, -1 - y * y], [1 + x * x, x * y], [-y, x]], axis=0) * focal_px  # (3 axes, 2, N)
    columns = turns.reshape(3, -1).T
    worst = 0.0
    for shift in ([zero + focal_px, zero], [zero, zero + focal_px]):
        absorbed, *_ = np.linalg.lstsq(columns, np.concatenate(shift), rcond=None)
        rest = (np.concatenate(shift) - columns @ absorbed).reshape(2, -1)
        shows = float(np.percentile(np.hypot(*rest), percentile))
        worst = max(worst, float(np.linalg.norm(absorbed)) / max(shows, 1e-9))
    return min(90.0, 2 * math.degrees(worst * left_px))  # twice: the far half of a scene may hide more than the whole


def _worst(covariance: Floats) -> float:
    worst = float(np.linalg.eigvalsh(covariance)[-1])
    return min(90.0, math.degrees(math.sqrt(worst))) if worst > 0 else 90.0


def _rays(points: Floats, focal: Floats) -> Floats:
    return homogeneous(points[None] / focal[:, None, None])


def _cross(first: Floats, second: Floats) -> Floats:
    """Cross products along the last axis; several times as quick as numpy's own."""
    a, b, c = first[..., 0], first[..., 1], first[..., 2]
    x, y, z = second[..., 0], second[..., 1], second[..., 2]
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=-1)


def _cost(residuals: Floats, cut_px: float) -> Floats:
    costs: Floats = np.minimum(residuals**2, cut_px**2).mean(axis=1)
    return costs


def _epipolar(
    turned: Floats, rays_2: Floats, rotations: Floats, directions: Floats, focal_1: Floats, focal_2: Floats
) -> tuple[Floats, Floats]:
    """`x2 · (t × R x1)` and the length of its gradient in pixels of both pictures, each (B, N)."""
    line_2 = _cross(directions[:, None, :], turned)
    line_1 = _cross(rays_2, directions[:, None, :]) @ rotations  # R^T (x2 × t)
    top = (rays_2 * line_2).sum(-1)
    steep_1 = (line_1[..., :2] ** 2).sum(-1) / focal_1[:, None] ** 2
    steep_2 = (line_2[..., :2] ** 2).sum(-1) / focal_2[:, None] ** 2
    return top, np.sqrt(steep_1 + steep_2 + 1e-24)


def _pose_jacobian(turned: Floats, rays_2: Floats, directions: Floats, slope: Floats) -> tuple[Floats, Floats]:
    """Rows (B, N, 5) by turn and by the two tangents of the direction, and those tangents as columns (B, 3, 2)."""
    by_turn = _cross(turned, _cross(rays_2, directions[:, None, :]))
    by_move = _cross(turned, rays_2)
    basis = _tangents(directions)
    rows = np.concatenate([by_turn, by_move @ basis], axis=-1)
    return rows / slope[..., None], basis


def _turn_jacobian(turned: Floats, ahead: Floats, focal: Floats) -> Floats:
    x, y = turned[..., 0] / ahead, turned[..., 1] / ahead
    z = turned[..., 2] / ahead
    rows = np.stack(
        [
            np.stack([-x * y, z + x * x, -y], axis=-1),
            np.stack([-z - y * y, x * y, x], axis=-1),
        ],
        axis=-2,
    )
    scaled: Floats = rows * focal[:, None, None, None]
    return scaled


def _tangents(directions: Floats) -> Floats:
    helper = np.eye(3)[np.abs(directions).argmin(axis=1)]
    one = _cross(directions, helper)
    one = one / np.linalg.norm(one, axis=1, keepdims=True)
    return np.stack([one, _cross(directions, one)], axis=-1)


def _solved(normal: Floats, pull: Floats, damping: Floats) -> Floats:
    size = normal.shape[-1]
    diagonal = np.einsum("bii->bi", normal)
    ridge = damping[:, None] * diagonal + 1e-9 * (1 + diagonal.max(axis=1, keepdims=True))
    solved: Any = np.linalg.solve(normal + ridge[:, :, None] * np.eye(size), pull[..., None])
    step: Floats = solved[..., 0]
    return step


def _exponential(turns: Floats) -> Floats:
    """Rotation (B, 3, 3) of rotation vectors (B, 3) in radians."""
    angle = np.linalg.norm(turns, axis=1)
    axis = turns / np.maximum(angle, 1e-12)[:, None]
    zero = np.zeros_like(angle)
    x, y, z = axis[:, 0], axis[:, 1], axis[:, 2]
    skew = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)
    sine, cosine = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    rotations: Floats = np.eye(3) + sine * skew + (1 - cosine) * (skew @ skew)
    return rotations
