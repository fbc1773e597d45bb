"""Looking things up in plain values that may have any shape."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from openvlharness_app.faults import Filled, Unfit, type_of
from openvlharness_app.kinds import kind_of

_MOST_DEPTH = 64


def plain(value: object, depth: int = 0) -> object:
    """`value` with dicts for mappings and lists for sequences. Raises Unfit for what YAML could not hold so."""
    if depth > _MOST_DEPTH:
        raise Unfit(f"at most {_MOST_DEPTH} levels", "more")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise Unfit("keys that are strings", type_of(key))
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def find(tree: object, *path: str) -> object:
    """What stands at `path`, or `None`."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def section(tree: object, *path: str) -> Mapping[str, object]:
    """The mapping at `path`; an empty one if there is none."""
    found = find(tree, *path)
    return found if isinstance(found, Mapping) else {}


def items(tree: object, *path: str) -> Sequence[object]:
    """The list at `path`; an empty one if there is none."""
    found = find(tree, *path)
    return found if isinstance(found, list) else []


def text(tree: object, *path: str) -> str | None:
    """The string at `path`, or `None`."""
    found = find(tree, *path)
    return found if isinstance(found, str) else None


def number(tree: object, type_: object, *path: str) -> int | None:
    """The integer at `path` if it fits the small type, also where the environment fills it; else `None`."""
    found = find(tree, *path)
    kind = kind_of(type_)
    if kind is None or found is None:
        return None
    try:
        read = kind.read(found)
    except Unfit:
        return None
    return read if isinstance(read, int) else None


def replaced(tree: Mapping[str, object], value: object, *path: str) -> Mapping[str, object]:
    """`tree` with `value` at `path`; the mappings on the way are copied."""
    first, *rest = path
    return {**tree, first: replaced(section(tree, first), value, *rest) if rest else value}


def unfilled(value: object) -> object:
    """`value` with ordinary strings where the environment was filled in."""
    if isinstance(value, Mapping):
        return {key: unfilled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unfilled(item) for item in value]
    return str(value) if isinstance(value, Filled) else value
