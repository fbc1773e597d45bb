"""What changed between two states of one question, and the newer state again from the older one and that.

States are immutable and share what did not change, so a difference is found by looking at what is not the very same
value. It costs what is new: an attrs value is compared field by field, a tuple item by item, and what came in is
written in full. Three shapes: `{"=": value}` instead of what was there, `{".": {field: change}}` inside a value,
`{"+": [kept, [[position, change], …], [added, …]]}` for a tuple.
"""

from __future__ import annotations

from types import EllipsisType, UnionType
from typing import Any, Union, get_args, get_origin

import attrs

from openvlharness_adapters.files.json_places import Place
from openvlharness_adapters.files.state_json import StateJson
from openvlharness_core.memory.bindings import Binding
from openvlharness_core.pictures import EncodedImage

_REPLACED = "="
_INSIDE = "."
_TUPLE = "+"


@attrs.frozen
class StateDelta:
    """Differences of states; `json` converts what is written in full."""

    json: StateJson

    def change(self, old: object, new: object, kind: Any) -> dict[str, object] | None:
        """The change from `old` to `new`, both of the declared type `kind`; `None` if there is none.

        Raises:
            SavedFileError: a picture or array cannot be written.
        """
        if old is new:
            return None
        if type(old) is type(new):
            if isinstance(new, tuple) and isinstance(old, tuple):
                return self._change_of_tuple(old, new, kind)
            if attrs.has(type(new)) and not isinstance(new, Binding | EncodedImage):
                changes = {
                    field.name: change
                    for field in _fields(type(new))
                    if (change := self.change(getattr(old, field.name), getattr(new, field.name), field.type))
                    is not None
                }
                return {_INSIDE: changes} if changes else None
            if (
                not isinstance(new, Binding) and old == new
            ):  # bindings never change, and equality leaves their values out
                return None
        return {_REPLACED: self.json.to_json(new, kind)}

    def _change_of_tuple(self, old: tuple[object, ...], new: tuple[object, ...], kind: Any) -> dict[str, object] | None:
        kept = min(len(old), len(new))
        changed = [
            [position, change]
            for position in range(kept)
            if (change := self.change(old[position], new[position], _item_kind(kind, position))) is not None
        ]
        added = [self.json.to_json(new[position], _item_kind(kind, position)) for position in range(kept, len(new))]
        if len(old) == len(new) and not changed:
            return None
        return {_TUPLE: [kept, changed, added]}

    def changed(self, old: Any, place: Place, kind: Any) -> Any:
        """`old` after the change that stands at `place`.

        Raises:
            SavedFileError: a change that does not fit `old`.
        """
        match list(place.object()):
            case ["="]:
                return self.json.from_json(place[_REPLACED], kind)
            case ["."] if attrs.has(type(old)):
                return self._changed_inside(old, place[_INSIDE])
            case ["+"] if isinstance(old, tuple):
                return self._changed_tuple(old, place[_TUPLE], kind)
        raise place.wrong(f"a change of {type(old).__name__}")

    def _changed_inside(self, old: Any, place: Place) -> Any:
        kinds = {field.name: field.type for field in _fields(type(old))}
        values = {}
        for name, change in place.entries():
            if name not in kinds:
                raise change.wrong(f"a field of {type(old).__name__}")
            values[name] = self.changed(getattr(old, name), change, kinds[name])
        return attrs.evolve(old, **values)

    def _changed_tuple(self, old: tuple[object, ...], place: Place, kind: Any) -> tuple[object, ...]:
        kept, changed, added = place.items(3)
        if kept.whole() > len(old):
            raise kept.wrong(f"at most {len(old)} items that stay")
        items = list(old[: kept.whole()])
        for pair in changed.items():
            position, change = pair.items(2)
            if position.whole() >= len(items):
                raise position.wrong(f"one of {len(items)} positions")
            items[position.whole()] = self.changed(items[position.whole()], change, _item_kind(kind, position.whole()))
        for item in added.items():
            items.append(self.json.from_json(item, _item_kind(kind, len(items))))
        return tuple(items)


def _fields(cls: type) -> tuple[attrs.Attribute[Any], ...]:
    fields: tuple[attrs.Attribute[Any], ...] = attrs.fields(attrs.resolve_types(cls))
    return fields


def _item_kind(kind: Any, position: int) -> Any:
    """Declared type of an item of a tuple."""
    if get_origin(kind) in (Union, UnionType):
        kind = next(member for member in get_args(kind) if get_origin(member) is tuple)
    kinds = get_args(kind)
    return kinds[0] if len(kinds) == 2 and isinstance(kinds[1], EllipsisType) else kinds[position]
