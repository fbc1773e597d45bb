"""Values of bindings as JSON, with a reference wherever an array stands.

Lists stay lists and plain values themselves; a dict becomes `{"dict": {…}}` and an array `{"array": reference}`, so that
no key of a dict can be taken for anything else.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from openvlharness_adapters.files.json_places import Place
from openvlharness_core.errors import MalformedResultError, SavedFileError
from openvlharness_core.memory.bindings import locked

Array = np.ndarray[Any, Any]

_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What numpy and the archive below it raise for bytes that are no array, or only half of one."""


def value_to_json(value: object, keep: Callable[[Array], str]) -> object:
    """A locked value as JSON; `keep` stores an array and names it."""
    if isinstance(value, np.ndarray):
        return {"array": keep(value)}
    if isinstance(value, Mapping):
        return {"dict": {key: value_to_json(item, keep) for key, item in value.items()}}
    if isinstance(value, tuple):
        return [value_to_json(item, keep) for item in value]
    return value


def value_from_json(place: Place, find: Callable[[Place], Array]) -> object:
    """The locked value again; `find` reads the array that a reference names.

    Raises:
        SavedFileError: something that `value_to_json` does not write.
    """
    return _locked(_read(place, find), place)


def fields_from_json(place: Place, find: Callable[[Place], Array]) -> Mapping[str, object]:
    """The locked fields of one binding. Raises as `value_from_json`."""
    fields = _locked({name: _read(value, find) for name, value in place.entries()}, place)
    assert isinstance(fields, Mapping)
    return fields


def _locked(value: object, place: Place) -> object:
    try:
        return locked(value, place.path)
    except MalformedResultError as error:
        raise SavedFileError(place.file, str(error)) from None


def _read(place: Place, find: Callable[[Place], Array]) -> object:
    value = place.value
    if isinstance(value, list):
        return [_read(item, find) for item in place.items()]
    if not isinstance(value, dict):
        return value
    if set(value) == {"array"}:
        return find(place["array"])
    if set(value) == {"dict"}:
        return {key: _read(item, find) for key, item in place["dict"].entries()}
    raise place.wrong('{"array": …} or {"dict": …}')


def array_to_bytes(array: Array) -> bytes:
    """One array as the contents of an `.npy` file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def array_from_bytes(data: bytes, file: str) -> Array:
    """The array again. Raises `SavedFileError` naming `file`."""
    try:
        array: Array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except _UNREADABLE as error:
        raise SavedFileError(file, f"expected an array, got {type(error).__name__}: {error}") from None
    return array


def arrays_to_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Arrays by name as the contents of an `.npz` file."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def arrays_from_bytes(data: bytes, file: str) -> dict[str, Array]:
    """Arrays by name again. Raises `SavedFileError` naming `file`."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (*_UNREADABLE, AttributeError, TypeError) as error:  # bytes of a lone array have no names
        raise SavedFileError(file, f"expected an archive of arrays, got {type(error).__name__}: {error}") from None
