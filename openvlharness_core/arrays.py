"""Arrays inside values: copied when they come in, and locked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openvlharness_core.errors import MalformedResultError


def locked_floats(values: object, place: str, shape: tuple[int | None, ...]) -> NDArray[np.float32]:
    """`values` as a locked float32 array of a shape in which `None` stands for any length.

    An empty list is an array without rows, where the shape allows one.

    Raises:
        MalformedResultError: another shape, booleans, anything that is not a number, or a number that is not finite.
    """
    wanted = f"numbers of shape ({', '.join('N' if side is None else str(side) for side in shape)})"
    if _holds_flags(values, len(shape)):
        raise MalformedResultError(place, f"{wanted}, got booleans")
    try:
        array: NDArray[Any] = np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        raise MalformedResultError(place, f"{wanted}, got rows of different lengths") from None
    if array.shape == (0,) and shape[0] is None:
        array = np.zeros((0, *(side or 0 for side in shape[1:])), np.float32)
    if array.dtype.kind not in "iuf":
        raise MalformedResultError(place, f"{wanted}, got {_kind(values, array)}")
    fits = array.ndim == len(shape) and all(w is None or w == s for w, s in zip(shape, array.shape, strict=True))
    if not fits:
        raise MalformedResultError(place, f"{wanted}, got {array.shape}")
    with np.errstate(over="ignore"):
        floats = np.array(array, dtype=np.float32, order="C")
    if not np.isfinite(floats).all():
        raise MalformedResultError(place, f"finite {wanted}, got NaN, infinity or what float32 does not hold")
    floats.setflags(write=False)
    return floats


def _holds_flags(values: object, levels: int) -> bool:
    """Whether there are booleans; beside numbers in a list they would silently become 0 and 1."""
    if isinstance(values, list | tuple):
        return levels > 0 and any(_holds_flags(value, levels - 1) for value in values)
    return isinstance(values, bool | np.bool_) or (isinstance(values, np.ndarray) and values.dtype.kind == "b")


def _kind(values: object, array: NDArray[Any]) -> str:
    return f"dtype {array.dtype}" if isinstance(values, np.ndarray | list | tuple) else type(values).__name__


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
