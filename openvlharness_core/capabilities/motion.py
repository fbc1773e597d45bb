"""How cameras stand to the first one, in numbers that can be put into words.

Axes are the first camera's: x right, y down, z forward. Positive yaw turns right, positive pitch looks down, positive
roll turns the camera clockwise as seen from behind it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

import attrs
import numpy as np

from openvlharness_core.cameras import CameraTrajectory

Vector = tuple[float, float, float]


@attrs.frozen(kw_only=True)
class Motion:
    """One camera against the first.

    Attributes:
        centre: its centre in the first camera's frame; zero where the translation is unknown.
        distance: length of that.
        forward: where it looks, a unit vector.
        angle: total angle of rotation, degrees from 0 to 180.
        yaw, pitch, roll: degrees.
        translation_known: whether the centre means anything.
    """

    centre: Vector
    distance: float
    forward: Vector
    angle: float
    yaw: float
    pitch: float
    roll: float
    translation_known: bool

    def to_data(self) -> dict[str, object]:
        """JSON-ready."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in attrs.asdict(self).items()}

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> Motion:
        """From `to_data`, with or without further keys."""
        values = {field.name: data[field.name] for field in attrs.fields(cls)}
        for name in ("centre", "forward"):
            values[name] = tuple(cast("list[float]", values[name]))
        return cls(**values)  # type: ignore[arg-type]


def motions(path: CameraTrajectory) -> tuple[Motion, ...]:
    """Each camera against the first, the first itself included."""
    extrinsics = path.extrinsics_w2c.astype(np.float64)
    first_rotation, first_translation = extrinsics[0, :, :3], extrinsics[0, :, 3]
    found = []
    for matrix, known in zip(extrinsics, path.translation_known, strict=True):
        rotation, shift = matrix[:, :3], matrix[:, 3]
        centre = first_rotation @ (-rotation.T @ shift) + first_translation if known else np.zeros(3)
        turned = first_rotation @ rotation.T  # columns: this camera's axes in the first camera's frame
        found.append(_motion(centre, turned, known))
    return tuple(found)


def _motion(centre: np.ndarray, turned: np.ndarray, known: bool) -> Motion:
    right, forward = turned[:, 0], turned[:, 2]
    yaw = math.degrees(math.atan2(forward[0], forward[2]))
    pitch = math.degrees(math.atan2(forward[1], math.hypot(forward[0], forward[2])))
    level = np.cross(np.array([0.0, 1.0, 0.0]), forward)  # where "right" would point without roll
    length = float(np.linalg.norm(level))
    roll = 0.0
    if length > 1e-9:
        level /= length
        down = np.cross(forward, level)
        roll = math.degrees(math.atan2(float(right @ down), float(right @ level)))
    twist = (turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1])
    return Motion(
        centre=_vector(centre),
        distance=float(np.linalg.norm(centre)),
        forward=_vector(forward),
        angle=math.degrees(math.atan2(math.hypot(*twist), float(np.trace(turned)) - 1.0)),  # exact near 0 and near 180
        yaw=yaw,
        pitch=pitch,
        roll=roll,
        translation_known=known,
    )


def _vector(values: np.ndarray) -> Vector:
    x, y, z = (float(v) for v in values)
    return x, y, z
