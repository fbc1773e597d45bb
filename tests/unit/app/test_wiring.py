"""From a key of the configuration to what it changes: in the agent, in an adapter, or in what the model's service gets.

Each row sets one key; what is seen must be what the row says, and must be something else where the key is left out.
A key of the settings without a row fails the last tests, unless it is listed among those that change nothing yet.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import attrs
import pytest
import yaml

from openvlharness_app.kinds import kind_of
from openvlharness_app.settings import Settings
from openvlharness_core.pictures import ImageLimits
from openvlharness_core.profile import ModelProfile
from tests.support.small_tokenizer import small_tokenizer
from tests.unit.app.configurations import changed
from tests.unit.app.wired import served, wired
from tests.unit.app.wiring_rows import MODEL, NO_EFFECT_YET, PROFILE, PROFILES, ROWS, SET, SPELLED, TOKENIZER, Row


def _ids(rows: list[Row]) -> list[Any]:
    return [pytest.param(row, id=" ".join(filter(None, (row.key, row.note)))) for row in rows]


async def _seen(row: Row, folder: Path, *changes: tuple[str, Any]) -> object:
    """What is seen with these changes; those below `profile.` go to a registry file, capitals to the environment."""
    tokenizer = folder / "tokenizer.json"
    mine = {"remote_images": "pass_url"} | {
        key.removeprefix(f"{PROFILE}."): str(tokenizer) if value == TOKENIZER else value
        for key, value in changes
        if key.startswith(f"{PROFILE}.")
    }
    if str(tokenizer) in mine.values():
        small_tokenizer().save(str(tokenizer))
    registry = folder / "profiles.yaml"
    registry.write_text(yaml.safe_dump({"mine": mine}), encoding="utf-8")
    environment = {"REGISTRY": str(registry)} | {key: value for key, value in changes if key.isupper()}
    if row.responses:
        changes = ((f"{MODEL}.alias", "generic-responses"), *changes)
    in_file = [(key, value) for key, value in changes if not key.startswith(f"{PROFILE}.") and not key.isupper()]
    async with wired(changed(served(), *in_file), environment, responses=row.responses) as stage:
        found = row.seen(stage)
        return await found if inspect.isawaitable(found) else found


@pytest.mark.parametrize("row", _ids(ROWS))
async def test_a_key_has_its_effect(row: Row, tmp_path: Path) -> None:
    expected = row.value if row.expected is SET else row.expected
    assert await _seen(row, tmp_path, *row.beside, (row.key, row.value)) == expected
    assert await _seen(row, tmp_path, *row.beside) != expected, "seen without the key as well: the row shows nothing"


# ---- no key without a row --------------------------------------------------------------------------------------------


def _sections(type_: Any) -> Iterator[type]:
    """The sections inside an annotation, optional ones and those of lists too."""
    if kind_of(type_) is not None:
        return
    if isinstance(type_, type) and attrs.has(type_):
        yield type_
    elif get_origin(type_) is Annotated:
        yield from _sections(get_args(type_)[0])
    elif get_origin(type_) in (Union, types.UnionType, tuple):
        for inner in get_args(type_):
            yield from _sections(inner)


def _keys(section: type, path: str = "") -> Iterator[str]:
    hints = get_type_hints(section, include_extras=True)
    for field in attrs.fields(section):
        key, type_ = f"{path}{field.name}", hints[field.name]
        if get_origin(type_) is Mapping and key == "services.models":
            yield from _keys(get_args(type_)[1], f"{MODEL}.")
            continue
        inner = list(_sections(type_))
        for each in inner:
            yield from _keys(each, f"{key}.")
        if not inner:
            yield key


def _covered(key: str, known: set[str]) -> bool:
    """Whether the key or a section around it is known."""
    parts = key.split(".")
    return any(".".join(parts[:end]) in known for end in range(1, len(parts) + 1))


def test_every_key_of_the_settings_has_a_row_or_a_reason() -> None:
    keys = [*_keys(Settings), *(f"{PROFILE}.{field.name}" for field in attrs.fields(ModelProfile))]
    assert f"{MODEL}.temperature" in keys
    assert "memory.modules.webpage_env_update_limit" in keys
    rows = {SPELLED.get(row.key, row.key).replace(".2.", ".") for row in ROWS}
    assert [key for key in keys if not _covered(key, rows | NO_EFFECT_YET.keys())] == []
    assert sorted(rows & NO_EFFECT_YET.keys()) == []
    unknown = [
        key for key in rows | NO_EFFECT_YET.keys() if not any(f"{known}.".startswith(f"{key}.") for known in keys)
    ]
    assert unknown == [], "rows of keys that the settings do not have"


def test_every_limit_of_pictures_has_a_row() -> None:
    notes = {row.note for row in PROFILES if row.key == "image_limits"}
    assert notes == {field.name for field in attrs.fields(ImageLimits)}
