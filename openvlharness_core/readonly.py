"""Plain data that nobody can change, in types that every JSON library still writes."""

from __future__ import annotations

from typing import Any, NoReturn


class ReadOnlyDict(dict[str, Any]):
    """A dict that refuses to be changed: what several questions share stays as it is."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this is shared and cannot be changed; copy it first")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[ReadOnlyDict], tuple[dict[str, Any]]]:
        """Copies and pickles are made at once: the way of other dicts is to fill an empty one."""
        return ReadOnlyDict, (dict(self),)


def read_only(value: object) -> Any:
    """A copy of dicts and lists all the way down, as read-only dicts and tuples."""
    if isinstance(value, dict):
        return ReadOnlyDict({key: read_only(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(read_only(item) for item in value)
    return value
