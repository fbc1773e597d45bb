"""Numbers of every pixel, brought to another size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def resampled_plane(values: NDArray[np.float32], size_hw: tuple[int, int]) -> NDArray[np.float32]:
    """`values` (height, width) at another size: bilinear, so that no number lies outside those that came in.

    Shrinking averages over what falls into a pixel.
    """
    if values.shape == size_hw:
        return values
    height, width = size_hw
    plane = Image.fromarray(np.ascontiguousarray(values, dtype=np.float32))
    return np.asarray(plane.resize((width, height), Image.Resampling.BILINEAR), dtype=np.float32)


def enlarged_mask(mask: NDArray[np.bool_], size_hw: tuple[int, int]) -> NDArray[np.bool_]:
    """`mask` (height, width) at another size; each pixel is as the one that it lies in."""
    if mask.shape == size_hw:
        return mask
    rows, columns = (
        np.minimum((np.arange(wanted) + 0.5) * given / wanted, given - 1).astype(np.intp)
        for wanted, given in zip(size_hw, mask.shape, strict=True)
    )
    enlarged: NDArray[np.bool_] = mask[rows[:, None], columns]
    return enlarged
