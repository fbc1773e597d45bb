"""JSON Schema of a configuration file, made of the settings classes, so that editors complete it and find slips early.

It says what single keys may hold and which entry a selected backend needs. Rules that need a profile, a registry file
or two numbers at once are the loader's. Run `python -m openvlharness_app.schema` after a change of the settings.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import attrs

from openvlharness_app.backend_settings import ToolSettings
from openvlharness_app.backends import PACKAGED_BACKENDS, PACKAGED_REGISTRIES, BackendRecord
from openvlharness_app.kinds import MAY_BE_LEFT_OUT, ONE_OR_MANY, Kind, kind_of
from openvlharness_app.settings import Settings
from openvlharness_app.structuring import attributes_of, optional_of, variants_of

Schema = dict[str, Any]

SCHEMA_FILE = Path(__file__).parent.parent / "contracts" / "schemas" / "configuration.json"
_NAME = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"
_ENTRY = re.compile(r"^(?P<name>\w+): (?P<text>.+)$")


def configuration_schema() -> Schema:
    """The schema of the whole file, draft 2020-12."""
    definitions: dict[str, Schema] = {
        "variable": {"type": "string", "pattern": f"^{_NAME}$", "description": "A variable of the environment."},
        "filled": {"type": "string", "pattern": _NAME, "description": "Text with variables of the environment."},
    }
    whole = _section(Settings, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "OpenVLHarness configuration",
        **whole,
        "allOf": [
            *(_when_selected(record, definitions) for record in PACKAGED_BACKENDS.values()),
            _without_plugins(),
        ],
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """The schema as it stands in its file."""
    return json.dumps(configuration_schema(), indent=2, ensure_ascii=False) + "\n"


def _reference(cls: type, definitions: dict[str, Schema]) -> Schema:
    if cls.__name__ not in definitions:
        definitions[cls.__name__] = {}  # holds the place while its own sections are written
        definitions[cls.__name__] = _section(cls, definitions)
    return {"$ref": f"#/$defs/{cls.__name__}"}


def _section(cls: type, definitions: dict[str, Schema]) -> Schema:
    summary, said = _docstring(cls)
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, (type_, field) in attributes_of(cls).items():
        described = {"description": said[name]} if name in said else {}
        if cls is ToolSettings:  # what an entry may hold counts only where its backend is selected
            properties[name] = {"description": _docstring(_entry_class(name))[0]}
            continue
        default = field.default
        plain = isinstance(default, str | int | float) or (default is None and not _may_be_left_out(type_))
        properties[name] = {**_of(type_, definitions), **described} | ({"default": default} if plain else {})
        if default is attrs.NOTHING:
            required.append(name)
    schema: Schema = {"type": "object", "description": summary, "properties": properties}
    if required:
        schema["required"] = required
    return schema if cls is ToolSettings else {**schema, "additionalProperties": False}


def _of(type_: Any, definitions: dict[str, Schema]) -> Schema:
    kind = kind_of(type_)
    if kind is not None:
        return _leaf(kind)
    if get_origin(type_) is Annotated:
        inner, *markers = get_args(type_)
        if ONE_OR_MANY in markers:
            item = _of(get_args(inner)[0], definitions)
            return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}
        return _of(optional_of(inner) if MAY_BE_LEFT_OUT in markers else inner, definitions)
    if get_origin(type_) is Literal:
        return {"anyOf": [{"enum": list(get_args(type_))}, {"$ref": "#/$defs/variable"}]}
    if get_origin(type_) is tuple:
        return {"type": "array", "items": _of(get_args(type_)[0], definitions)}
    if get_origin(type_) is Mapping:
        return {"type": "object", "additionalProperties": _of(get_args(type_)[1], definitions)}
    variants = variants_of(type_)
    if variants:
        return {"anyOf": [_reference(cls, definitions) for cls in dict.fromkeys(variants.values())]}
    inner = optional_of(type_)
    if inner is not None:
        return {"anyOf": [_of(inner, definitions), {"type": "null"}]}
    return _reference(type_, definitions)


def _leaf(kind: Kind) -> Schema:
    schema = dict(kind.schema)
    if kind.parse is not None:
        return {"anyOf": [schema, {"$ref": "#/$defs/variable"}]}
    return {"anyOf": [schema, {"$ref": "#/$defs/filled"}]} if "pattern" in schema else schema


def _may_be_left_out(type_: Any) -> bool:
    return MAY_BE_LEFT_OUT in getattr(type_, "__metadata__", ())


def _entry_class(name: str) -> type:
    annotated = attributes_of(ToolSettings)[name][0]
    cls = optional_of(get_args(annotated)[0])
    assert isinstance(cls, type)
    return cls


def _when_selected(record: BackendRecord, definitions: dict[str, Schema]) -> Schema:
    """A selected backend: its registry is listed, its entry is there and right."""
    selected = _at({"const": record.name}, "capabilities", "tools", record.capability, record.role)
    entry = _reference(_entry_class(record.name), definitions)
    entry_there = _at(entry, "services", "tools", record.name, required=record.needs_entry)
    listed = _at({"contains": {"const": record.registry}}, "capabilities", "registries")
    return {"if": selected, "then": {"allOf": [listed, entry_there]}}


def _without_plugins() -> Schema:
    """As long as only packaged registries are listed, only their names are known."""
    packaged = {"items": {"enum": list(PACKAGED_REGISTRIES)}, "contains": {"const": "paper"}}
    by_place: dict[tuple[str, str], list[str]] = {}
    for record in PACKAGED_BACKENDS.values():
        by_place.setdefault((record.capability, record.role), []).append(record.name)
    choices = [
        _at({"anyOf": [{"enum": names}, {"$ref": "#/$defs/filled"}]}, "capabilities", "tools", *place, required=False)
        for place, names in by_place.items()
    ]
    entries = _at({"propertyNames": {"enum": list(PACKAGED_BACKENDS)}}, "services", "tools", required=False)
    return {
        "if": _at(packaged, "capabilities", "registries"),
        "then": {"allOf": [*choices, entries]},
        "else": _at({"contains": {"const": "paper"}}, "capabilities", "registries"),
    }


def _at(schema: Schema, *path: str, required: bool = True) -> Schema:
    """`schema` for what stands at `path`."""
    for key in reversed(path):
        schema = {"properties": {key: schema}} | ({"required": [key]} if required else {})
    return schema


def _docstring(cls: type) -> tuple[str, dict[str, str]]:
    """The summary of a settings class and what it says of each key."""
    summary, _, attributes = (inspect.getdoc(cls) or "").partition("\n\nAttributes:\n")
    entries = (_ENTRY.match(line.strip()) for line in re.sub(r"\n {5,}", " ", attributes).splitlines())
    return " ".join(summary.split()), {entry["name"]: entry["text"].replace("`", "") for entry in entries if entry}


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else SCHEMA_FILE
    target.write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
