"""Typed values under names that generated code can use.

Values are locked when they come in, so that nobody changes what another step relies on; code gets copies. A code
writer sees only the descriptors.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping
from types import MappingProxyType

import attrs
import numpy as np

from openvlharness_core.calls import NewBinding
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.texts import clean_text


@attrs.frozen(kw_only=True)
class Binding:
    """Values with a name.

    Attributes:
        name: a Python identifier.
        stem: the name it would have had if that was free.
        fields: field name to locked value: ndarrays, numbers, strings, booleans, None, tuples and mappings of those.
        notes: field name to what type and shape do not tell.
        image_id: handle of the picture it belongs to.
    """

    name: str
    stem: str
    fields: Mapping[str, object] = attrs.field(eq=False)
    notes: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    image_id: str | None = None

    def descriptor(self) -> dict[str, object]:
        """JSON-ready: what a code writer must know, without the values."""
        fields: dict[str, object] = {}
        for name, value in self.fields.items():
            fields[name] = describe(value) | ({"note": self.notes[name]} if name in self.notes else {})
        return {"type": "dict", "fields": fields, "image_id": self.image_id}


@attrs.frozen(kw_only=True)
class BindingMemory:
    """All bindings in the order they were registered."""

    records: tuple[Binding, ...] = ()

    def with_binding(self, new: NewBinding) -> tuple[BindingMemory, str]:
        """Register and return the name: that of a binding with the same stem and the same data, else a free one.

        Raises:
            MalformedResultError: a stem that is no identifier, or a value of a type that bindings do not hold.
        """
        if not new.stem.isidentifier() or keyword.iskeyword(new.stem):
            raise MalformedResultError("binding name", f"a Python identifier, got {new.stem!r}")
        fields = locked(new.fields, new.stem)
        if not isinstance(fields, Mapping):
            raise MalformedResultError(new.stem, f"fields by name, got {type(new.fields).__name__}")
        taken = {record.name for record in self.records}
        for record in self.records:
            if record.stem == new.stem and record.image_id == new.image_id and same(record.fields, fields):
                return self, record.name
        name, number = new.stem, 1
        while name in taken:
            number += 1
            name = f"{new.stem}_{number}"
        binding = Binding(name=name, stem=new.stem, fields=fields, notes=dict(new.notes), image_id=new.image_id)
        return attrs.evolve(self, records=(*self.records, binding)), name


def locked(value: object, place: str) -> object:
    """A copy of `value` that nobody can change: arrays read-only, lists as tuples, dicts as read-only mappings.

    Raises:
        MalformedResultError: a type that bindings do not hold, or a number that is not finite, naming the place.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufU":
            raise MalformedResultError(place, f"an array of numbers or text, got dtype {value.dtype}")
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise MalformedResultError(place, "finite numbers, got an array with NaN or infinity")
        array = np.array(value)
        array.setflags(write=False)
        return array
    if isinstance(value, np.generic):
        return locked(value.item(), place)
    if isinstance(value, float) and not math.isfinite(value):
        raise MalformedResultError(place, f"a finite number, got {value}")
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise MalformedResultError(place, f"text keys, got {type(key).__name__}")
        return MappingProxyType({clean_text(key): locked(item, f"{place}.{key}") for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(locked(item, f"{place}[{position}]") for position, item in enumerate(value))
    raise MalformedResultError(place, f"an array, number, text, list or dict, got {type(value).__name__}")


def unlocked(value: object) -> object:
    """Plain lists and dicts again; arrays stay locked, since the executor copies them for the program anyway."""
    if isinstance(value, Mapping):
        return {key: unlocked(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [unlocked(item) for item in value]
    return value


def same(left: object, right: object) -> bool:
    """Equality of locked values, arrays by type, shape and contents."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return (
            isinstance(left, np.ndarray)
            and isinstance(right, np.ndarray)
            and left.dtype == right.dtype
            and np.array_equal(left, right)
        )
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(item, right[key]) for key, item in left.items())
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def describe(value: object) -> dict[str, object]:
    """Type and shape of a locked value in words of Python."""
    if isinstance(value, np.ndarray):
        return {"type": f"ndarray {value.dtype}", "shape": list(value.shape)}
    if isinstance(value, Mapping):
        return {"type": "dict", "keys": list(value)}
    if isinstance(value, tuple):
        kinds = sorted({describe(item)["type"] for item in value}, key=str)
        inner: dict[str, object] = {"of": kinds[0]} if len(kinds) == 1 else {}
        if value and isinstance(value[0], Mapping):
            inner["keys"] = list(value[0])
        return {"type": "list", "length": len(value)} | inner
    return {"type": "None" if value is None else type(value).__name__}
