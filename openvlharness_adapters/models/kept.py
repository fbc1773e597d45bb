"""Values kept beside objects that others own."""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import ref

import attrs

K = TypeVar("K")
V = TypeVar("V")


@attrs.define(eq=False)
class KeptByIdentity(Generic[K, V]):
    """Values by the very object they belong to, for as long as it lives.

    Unlike in a WeakKeyDictionary, looking one up neither hashes nor compares the key: for a message that would mean
    to walk through all that it says.
    """

    _entries: dict[int, tuple[ref[K], V]] = attrs.field(factory=dict, init=False, repr=False)

    def get(self, key: K) -> V | None:
        """What was kept for this object; an equal one is another."""
        entry = self._entries.get(id(key))
        return entry[1] if entry is not None and entry[0]() is key else None

    def keep(self, key: K, value: V) -> None:
        """Remember `value` until `key` goes."""
        place, home = id(key), ref(self)

        def forget(gone: ref[K]) -> None:
            # The entries are reached weakly, or they would hold themselves; and the id may be another object's by now.
            if (kept := home()) is not None and (entry := kept._entries.get(place)) is not None and entry[0] is gone:
                del kept._entries[place]

        self._entries[place] = (ref(key, forget), value)

    def __len__(self) -> int:
        return len(self._entries)
