"""Cameras of several pictures of one scene."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_core.arrays import locked_floats, size_hw
from openvlharness_core.errors import MalformedResultError

ORTHONORMAL_TOLERANCE = 1e-3
LAST_ROW_TOLERANCE = 1e-4


def _intrinsics(values: object) -> NDArray[np.float32]:
    return locked_floats(values, "intrinsics", (None, 3, 3))


def _extrinsics(values: object) -> NDArray[np.float32]:
    return locked_floats(values, "extrinsics", (None, 3, 4))


def _sizes(values: object) -> tuple[tuple[int, int], ...]:
    if not isinstance(values, list | tuple):
        raise MalformedResultError("sizes", f"a list of [height, width], got {type(values).__name__}")
    return tuple(size_hw(value, f"sizes[{position}]") for position, value in enumerate(values))


def _known(values: object) -> tuple[bool, ...]:
    if not isinstance(values, list | tuple) or any(type(value) is not bool for value in values):
        raise MalformedResultError("translation_known", "a list of true and false")
    return tuple(values)


def _notes(values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise MalformedResultError("notes", f"a list of texts, got {values!r:.40}")
    return tuple(values)


@attrs.frozen(kw_only=True)
class CameraTrajectory:
    """One camera a picture, N of them in the order of the pictures; N is at least 2.

    Camera axes: x right, y down, z forward.

    Attributes:
        intrinsics: float32 (N, 3, 3), each for its picture's pixels; x grows along the first row, the last is 0, 0, 1.
            The picture's corner is 0, 0, as with boxes, and the middle of its first pixel 0.5, 0.5.
        extrinsics_w2c: float32 (N, 3, 4), world to camera; the first need not be the identity.
        sizes_hw: (height, width) of each picture.
        is_metric: whether translations are in metres; otherwise their scale is unknown.
        translation_known: for each picture whether its translation against the first was observable; where it is
            false only the rotation counts and the translation is zero.
        notes: what has to be said with it, such as an assumed focal length.

    Raises:
        MalformedResultError: lengths that differ, a rotation that is none, a focal length that is not above 0, a last
            row of intrinsics that is not 0, 0, 1 (which is how a transposed matrix shows).
    """

    intrinsics: NDArray[np.float32] = attrs.field(
        converter=_intrinsics, eq=attrs.cmp_using(eq=np.array_equal), hash=False
    )
    extrinsics_w2c: NDArray[np.float32] = attrs.field(
        converter=_extrinsics, eq=attrs.cmp_using(eq=np.array_equal), hash=False
    )
    sizes_hw: tuple[tuple[int, int], ...] = attrs.field(converter=_sizes)
    is_metric: bool
    translation_known: tuple[bool, ...] = attrs.field(converter=_known)
    notes: tuple[str, ...] = attrs.field(default=(), converter=_notes)

    def __len__(self) -> int:
        return len(self.extrinsics_w2c)

    def __attrs_post_init__(self) -> None:
        count = len(self)
        if count < 2:
            raise MalformedResultError("extrinsics", f"at least 2 cameras, got {count}")
        for name, values in (
            ("intrinsics", self.intrinsics),
            ("sizes", self.sizes_hw),
            ("translation_known", self.translation_known),
        ):
            if len(values) != count:
                raise MalformedResultError(name, f"one for each of {count} cameras, got {len(values)}")
        if type(self.is_metric) is not bool:
            raise MalformedResultError("is_metric", f"true or false, got {self.is_metric!r:.40}")
        if not ((self.intrinsics[:, 0, 0] > 0) & (self.intrinsics[:, 1, 1] > 0)).all():
            raise MalformedResultError("intrinsics", "focal lengths above 0")
        if np.abs(self.intrinsics[:, 2] - np.array([0, 0, 1], np.float32)).max() > LAST_ROW_TOLERANCE:
            raise MalformedResultError("intrinsics", "a last row of 0, 0, 1 in each matrix (transposed?)")
        rotations = self.extrinsics_w2c[:, :, :3].astype(np.float64)
        products = rotations @ rotations.transpose(0, 2, 1)
        off = float(np.abs(products - np.eye(3)).max())
        if off > ORTHONORMAL_TOLERANCE:
            raise MalformedResultError(
                "extrinsics", f"rotations, orthonormal within {ORTHONORMAL_TOLERANCE}, got {off:.3g} off"
            )
        if (np.linalg.det(rotations) < 0).any():
            raise MalformedResultError("extrinsics", "rotations, got a mirroring")
