"""Where cameras stand and look, seen from above in the frame of the first one."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_core.cameras import CameraTrajectory

Floats = NDArray[np.float64]

_ROUNDING = 1e-6  # of the largest coordinate: what float32 leaves between cameras at one place


@attrs.frozen(kw_only=True, eq=False)
class BirdsEye:
    """N cameras on the x-z plane of the first: x to the right, z forward, in the unit of the trajectory.

    Attributes:
        places_xz: float64 (N, 2), camera centres; those of cameras at one place are equal.
        headings_xz: float64 (N, 2), viewing directions of length 1 in space, so shorter the more one looks up or down.
        looks_down: float64 (N,), the share of the viewing direction that points down, -1 to 1.
        half_views: float64 (N,), half the angle of view across, in radians.
        is_placed: bool (N,), whether a camera's place is known; that of the first always is, the frame being its own.
    """

    places_xz: Floats
    headings_xz: Floats
    looks_down: Floats
    half_views: Floats
    is_placed: NDArray[np.bool_]


def seen_from_above(trajectory: CameraTrajectory) -> BirdsEye:
    """The trajectory as it looks from above."""
    extrinsics = trajectory.extrinsics_w2c.astype(np.float64)
    rotations, shifts = extrinsics[:, :, :3], extrinsics[:, :, 3]
    to_first = rotations[0] @ rotations.transpose(0, 2, 1)  # camera axes of each, in the first camera's frame
    centres = shifts[0] - np.einsum("nij,nj->ni", to_first, shifts)
    centres[0] = 0.0
    noise = _ROUNDING * float(np.abs(shifts).max())
    if float(np.abs(centres).max()) <= noise:
        centres[:] = 0.0
    widths = np.array([width for _, width in trajectory.sizes_hw], dtype=np.float64)
    is_placed = np.array(trajectory.translation_known, dtype=bool)
    is_placed[0] = True
    return BirdsEye(
        places_xz=centres[:, [0, 2]],
        headings_xz=to_first[:, [0, 2], 2],
        looks_down=to_first[:, 1, 2],
        half_views=np.arctan(widths / (2 * trajectory.intrinsics[:, 0, 0].astype(np.float64))),
        is_placed=is_placed,
    )
