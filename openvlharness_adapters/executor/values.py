"""Values on their way into a program: structure as JSON, arrays as raw bytes.

What JSON has no word for is written as an object with one key: `{"a": [dtype, shape, position]}` an array, `{"d":
[[key, value], ...]}` a dict, `{"t": [...]}` a tuple, `{"i": "0x..."}` a large integer, `{"c": [real, imaginary]}` a
complex number. Objects never appear otherwise, so nothing a value says can be taken for one of these.
"""

from __future__ import annotations

import keyword
import mmap
from collections.abc import Mapping
from typing import Any

import numpy as np

from openvlharness_adapters.executor.wire import ALIGNMENT

_MAX_DEPTH = 100
_ARRAY_KINDS = "biufcUSmM"
_PLAIN_INTEGER_BITS = 64


def pack(values: Mapping[str, object]) -> tuple[object, list[memoryview]]:
    """The structure of `values` and the bytes of its arrays, in order; arrays are read, not copied, where they are contiguous.

    Raises:
        ValueError: a name that is no identifier, or values nested more than 100 deep.
        TypeError: a value that a program cannot be given, naming its place.
    """
    packer = _Packer()
    structure = {}
    for name, value in values.items():
        if not str(name).isidentifier() or keyword.iskeyword(name):
            raise ValueError(f"values: expected names that are Python identifiers, got {name!r}")
        structure[name] = packer.pack(value, name, 0)
    return structure, packer.blobs


class _Packer:
    def __init__(self) -> None:
        self.blobs: list[memoryview] = []
        self._position = 0

    def pack(self, value: object, place: str, depth: int) -> object:
        if depth > _MAX_DEPTH:
            raise ValueError(f"{place[:100]}…: expected values nested at most {_MAX_DEPTH} deep")
        match value:
            case None | bool():
                return value
            case np.ndarray():
                return self._array(value, place)
            case np.generic():
                return self.pack(_plain(value, place), place, depth)
            case str():
                return str(value)
            case int():
                number = int(value)
                return number if number.bit_length() <= _PLAIN_INTEGER_BITS else {"i": hex(number)}
            case float():
                return float(value)
            case complex():
                return {"c": [value.real, value.imag]}
            case list():
                return [self.pack(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(value)]
            case tuple():
                return {"t": [self.pack(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(value)]}
            case Mapping():
                return {
                    "d": [
                        [_key(key, place), self.pack(item, f"{place}[{key!r}]", depth + 1)]
                        for key, item in value.items()
                    ]
                }
        raise TypeError(
            f"{place}: expected an ndarray, a number, a string, a boolean, None, a list or a dict, got {type(value).__name__}"
        )

    def _array(self, value: np.ndarray, place: str) -> object:
        if value.dtype.kind not in _ARRAY_KINDS:
            raise TypeError(
                f"{place}: expected an array of numbers, booleans, strings or times, got dtype {value.dtype}"
            )
        position = self._position
        if value.nbytes:
            data = np.asarray(value, order="C").reshape(-1).view(np.uint8).data
            self.blobs.append(data)
            self._position += -(-data.nbytes // ALIGNMENT) * ALIGNMENT
        return {"a": [value.dtype.str, list(value.shape), position]}


def _plain(value: np.generic, place: str) -> object:
    match value:
        case np.bool_():
            return bool(value)
        case np.integer():
            return int(value)
        case np.floating():
            return float(value)
        case np.complexfloating():
            return complex(value)
        case np.str_():
            return str(value)
    raise TypeError(f"{place}: expected a number, a boolean or a string, got numpy.{type(value).__name__}")


def _key(key: object, place: str) -> object:
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise TypeError(f"{place}: expected keys that are strings or integers, got {key!r}")
    return str(key) if isinstance(key, str) else int(key)


def unpack(structure: object, descriptor: int, begin: int, size: int) -> dict[str, Any]:
    """The values again: lists and dicts of the program's own, and arrays it may write to.

    The arrays lie in a private mapping of the file from `begin` to `size`, so one that is only read is never copied.
    """
    if not isinstance(structure, dict):
        raise TypeError(f"structure: expected an object, got {type(structure).__name__}")
    # the offset of a mapping must be a multiple of the page size, so the header is mapped along
    mapped = (
        mmap.mmap(descriptor, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) if size else None
    )
    return {name: _unpack(value, mapped, begin) for name, value in structure.items()}


def _unpack(value: object, mapped: mmap.mmap | None, begin: int) -> object:
    if isinstance(value, list):
        return [_unpack(item, mapped, begin) for item in value]
    if not isinstance(value, dict):
        return value
    [(tag, content)] = value.items()
    match tag, content:
        case "d", list():
            return {key: _unpack(item, mapped, begin) for key, item in content}
        case "t", list():
            return tuple(_unpack(item, mapped, begin) for item in content)
        case "i", str():
            return int(content, 16)
        case "c", [real, imaginary]:
            return complex(real, imaginary)
        case "a", [dtype, shape, position]:
            if 0 in shape or np.dtype(dtype).itemsize == 0:
                return np.empty(shape, dtype)
            return np.ndarray(shape, dtype, buffer=mapped, offset=begin + position)
    raise ValueError(f"structure: expected one of a, c, d, i, t, got {tag!r}")
