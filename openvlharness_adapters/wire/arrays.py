"""Arrays as ``{"dtype": "float32", "shape": [...], "data": base64}``, little-endian, row by row."""

from __future__ import annotations

import binascii
import math

import numpy as np
import pybase64
from numpy.typing import NDArray

from openvlharness_adapters.wire.fields import Fields, got
from openvlharness_core.errors import MalformedResultError

_DTYPE = np.dtype("<f4")


def array_to_wire(array: NDArray[np.float32]) -> dict[str, object]:
    """A float32 array of any shape."""
    data = np.ascontiguousarray(array, dtype=_DTYPE)
    return {"dtype": "float32", "shape": list(array.shape), "data": pybase64.b64encode(data.data).decode("ascii")}


def array_from_wire(value: object, place: str) -> NDArray[np.float32]:
    """The array, locked; it shares the decoded bytes.

    Raises:
        MalformedResultError: another dtype, a shape that is none, base64 that is not strict, or another number of
            bytes than the shape needs.
    """
    fields = Fields.of(value, place).only("dtype", "shape", "data")
    if fields.text("dtype") != "float32":
        raise MalformedResultError(f"{place}.dtype", f"float32, got {got(fields.value('dtype'))}")
    shape = fields.items("shape")
    sides = [side for side in shape if type(side) is int and 0 <= side < 2**40]
    if len(sides) != len(shape) or len(sides) > 8:
        raise MalformedResultError(f"{place}.shape", f"whole numbers from 0, at most 8, got {list(shape)!s:.80}")
    try:
        data = pybase64.b64decode(fields.text("data"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedResultError(f"{place}.data", f"strict base64 ({error!s:.80})") from None
    needed = math.prod(sides) * _DTYPE.itemsize
    if len(data) != needed:
        raise MalformedResultError(f"{place}.data", f"{needed} bytes for shape {sides}, got {len(data)}")
    return np.frombuffer(data, dtype=_DTYPE).reshape(sides).astype(np.float32, copy=False)


def numbers_from_wire(value: object, place: str) -> object:
    """Numbers that may travel either way: an array object is decoded, a list stays for the domain value to check."""
    if isinstance(value, dict):
        return array_from_wire(value, place)
    if not isinstance(value, list):
        raise MalformedResultError(place, f"a list of numbers or an array, got {got(value)}")
    return value
