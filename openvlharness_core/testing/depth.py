"""A fake depth backend: the same floor for every picture."""

from __future__ import annotations

import attrs
import numpy as np

from openvlharness_core.depth import DepthMap
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered


@attrs.define
class FakeDepth:
    """A floor that comes nearer evenly from the top row to the bottom row, alike in every column; counts its calls.

    Attributes:
        nearest: depth of the bottom row, in metres where `is_metric`.
        farthest: depth of the top row.
        is_metric: what it claims.
    """

    nearest: float = 1.0
    farthest: float = 5.0
    is_metric: bool = True
    calls: int = attrs.field(default=0, init=False)

    async def estimate(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[DepthMap]:
        """One depth a row."""
        self.calls += 1
        height, width = image.size_hw
        rows = np.linspace(self.farthest, self.nearest, height)
        values = np.repeat(rows[:, None], width, axis=1)
        return Answered(value=DepthMap(values=values, is_metric=self.is_metric), backend="fake_depth")
