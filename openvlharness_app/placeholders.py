"""`${NAME}` inside string leaves, filled from the environment after the file was parsed.

What a variable holds stays text inside its leaf: it is never parsed as YAML and never filled again, so no value can add
a key, a list or another placeholder. `$${` stands for a plain `${`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from openvlharness_app.faults import Filled, KeyPath, Misfit, Unfit, nearest

_SPOT = re.compile(r"(?P<escaped>\$\$\{)|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}|(?P<stray>\$\{)")


def fill(tree: object, environment: Mapping[str, str]) -> tuple[object, list[Misfit]]:
    """`tree` with every placeholder filled, and what could not be; mappings, lists and keys stay as they are."""
    misfits: list[Misfit] = []
    return _filled(tree, (), environment, misfits), misfits


def escape(text: str) -> str:
    """`text` written so that loading gives `text` again."""
    return text.replace("${", "$${")


def _filled(value: object, path: KeyPath, environment: Mapping[str, str], misfits: list[Misfit]) -> object:
    if isinstance(value, Mapping):
        return {key: _filled(item, (*path, key), environment, misfits) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, (*path, at), environment, misfits) for at, item in enumerate(value)]
    if isinstance(value, str) and "${" in value:
        problems = list(_problems(value, environment))
        misfits += [(path, problem) for problem in problems]
        return value if problems else _filled_text(value, environment)
    return value


def _problems(text: str, environment: Mapping[str, str]) -> Iterator[Unfit]:
    for spot in _SPOT.finditer(text):
        name = spot["name"]
        if spot["stray"]:
            yield Unfit("${NAME} with a plain variable name, or $${ for a plain ${", "something else after ${")
        elif name and name not in environment:
            yield Unfit(f"the environment variable {name} to be set", "nothing", suggestion=nearest(name, environment))


def _filled_text(text: str, environment: Mapping[str, str]) -> str:
    names = tuple(spot["name"] for spot in _SPOT.finditer(text) if spot["name"])
    filled = _SPOT.sub(lambda spot: environment[spot["name"]] if spot["name"] else "${", text)
    return Filled(filled, names=names, whole=text == f"${{{names[0]}}}") if names else filled
