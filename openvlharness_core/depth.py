"""Depth of every pixel of one picture."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_core.arrays import locked_floats
from openvlharness_core.errors import MalformedResultError


def _plane(values: object) -> NDArray[np.float32]:
    return locked_floats(values, "depth.values", (None, None))


@attrs.frozen(kw_only=True)
class DepthMap:
    """Depth of every pixel of one picture.

    Attributes:
        values: float32 (height, width) at the picture's size, finite, at least 0, larger is farther; metres if
            `is_metric`, else without unit.
        is_metric: whether the backend claims metres.

    Raises:
        MalformedResultError: another shape, no pixels, or numbers that are not finite or below 0.
    """

    is_metric: bool
    values: NDArray[np.float32] = attrs.field(converter=_plane, eq=attrs.cmp_using(eq=np.array_equal), hash=False)

    def __attrs_post_init__(self) -> None:
        if self.values.size == 0:
            raise MalformedResultError("depth.values", f"at least one pixel, got {self.values.shape}")
        nearest = float(self.values.min())
        if nearest < 0:
            raise MalformedResultError("depth.values", f"distances of at least 0, got {nearest:g}")
        if type(self.is_metric) is not bool:
            raise MalformedResultError("depth.is_metric", f"true or false, got {self.is_metric!r:.40}")

    @property
    def size_hw(self) -> tuple[int, int]:
        """(height, width)."""
        height, width = self.values.shape
        return height, width
