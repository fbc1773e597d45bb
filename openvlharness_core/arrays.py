"""Arrays inside values: copied when they come in, and locked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openvlharness_core.errors import MalformedResultError


def locked_floats(values: object, place: str, shape: tuple[int | None, ...]) -> NDArray[np.float32]:
    """`values` as a locked float32 array of a shape in which `None` stands for any length.

    Raises:
        MalformedResultError: another shape, booleans, anything that is not a number, or a number that is not finite.
    """
    wanted = f"numbers of shape ({', '.join('N' if side is None else str(side) for side in shape)})"
    try:
        array: NDArray[Any] = np.asarray(values)
    except (ValueError, TypeError):
        raise MalformedResultError(place, f"{wanted}, got rows of different lengths") from None
    if array.size == 0 and shape[0] is None:
        array = np.zeros((0, *(side or 0 for side in shape[1:])), np.float32)
    if array.dtype.kind not in "iuf":
        raise MalformedResultError(place, f"{wanted}, got dtype {array.dtype}")
    fits = array.ndim == len(shape) and all(w is None or w == s for w, s in zip(shape, array.shape, strict=True))
    if not fits:
        raise MalformedResultError(place, f"{wanted}, got {array.shape}")
    with np.errstate(over="ignore"):
        floats = np.array(array, dtype=np.float32)
    if not np.isfinite(floats).all():
        raise MalformedResultError(place, f"finite {wanted}, got NaN or infinity")
    floats.setflags(write=False)
    return floats


def size_hw(value: object, place: str) -> tuple[int, int]:
    """(height, width), whole numbers above 0.

    Raises:
        MalformedResultError: anything else.
    """
    if (
        not isinstance(value, list | tuple)
        or len(value) != 2
        or any(type(side) is not int or side < 1 for side in value)
    ):
        raise MalformedResultError(place, f"[height, width] in whole numbers above 0, got {value!r:.80}")
    return value[0], value[1]
