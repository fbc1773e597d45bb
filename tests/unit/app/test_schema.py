"""The JSON Schema of a configuration agrees with the loader wherever both have a say."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_app.presets import agent_preset_names, preset_text
from openvlharness_app.schema import SCHEMA_FILE, configuration_schema, schema_text
from tests.unit.app.configurations import changed, faults_of, paper, small
from tests.unit.app.test_configuration_reference import ROWS, Row

VALIDATOR = jsonschema.Draft202012Validator(configuration_schema())

# Rules of the loader that a schema does not tell: between keys, about profiles, or finer than a pattern.
LOADER_ONLY = {
    "agent.model_service", "agent.max_context_length", "memory.modules", "memory.modules.1", "services.models.orchestrator.alias",
    "services.models.orchestrator.service_tier", "services.models.orchestrator.return_token_ids",
    "services.models.orchestrator.base", "services.models.orchestrator.key", "services.client.auth_token",
    "services.server.auth_token", "services.models.orchestrator.model_id", "services.tools.python_coding_agent.model_service",
    "services.tools.serper_text_search.model_service", "services.tools.serper_image_search.model_service",
    "services.tools.serper_webpage_visit.model_service", "security.fetch_hosts.0",
}  # fmt: skip
# The last one: in Python, unlike in ECMAScript, `$` also fits before a newline at the end.
FINER_THAN_A_PATTERN = ("http://host:99999", "http://host:port", "http://host/\n")


def _errors(tree: object) -> list[str]:
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in VALIDATOR.iter_errors(tree)]


def _is_plain(value: object) -> bool:
    """Whether JSON holds `value` with the same meaning: 8.0 is an integer there, and infinities are not at all."""
    return not (isinstance(value, float) and (value != value or value in {float("inf"), 8.0, 8101.0}))


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(configuration_schema())


def test_the_file_is_up_to_date() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), "run `python -m openvlharness_app.schema`"


def test_the_command_writes_it(tmp_path: Path) -> None:
    target = tmp_path / "configuration.json"
    subprocess.run([sys.executable, "-m", "openvlharness_app.schema", str(target)], check=True)
    assert json.loads(target.read_text()) == configuration_schema()


@pytest.mark.parametrize("name", agent_preset_names())
def test_presets_are_valid(name: str) -> None:
    assert _errors(yaml.safe_load(preset_text(name))) == []


def test_whole_configurations_are_valid() -> None:
    assert _errors(small()) == []
    assert _errors(paper()) == []


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.key}-{at}") for at, row in enumerate(ROWS)])
def test_both_take_what_fits(row: Row) -> None:
    for value in row.fits:
        assert _errors(changed(paper(), *row.beside, (row.key, value))) == [], repr(value)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row.key}-{at}") for at, row in enumerate(ROWS) if row.key not in LOADER_ONLY]
)
def test_both_refuse_what_does_not_fit(row: Row) -> None:
    for value in row.refused:
        if _is_plain(value) and value not in FINER_THAN_A_PATTERN:
            assert not VALIDATOR.is_valid(changed(paper(), *row.beside, (row.key, value))), repr(value)


def _leaves(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from _leaves(value, (*path, key))


def _at(tree: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        tree = tree[part]
    return tree


def _placed(path: tuple[str | int, ...], value: object) -> Any:
    tree = copy.deepcopy(paper())
    _at(tree, path[:-1])[path[-1]] = value
    return tree


PLACES = list(_leaves(paper()))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text("ab1:/{}$. _-", max_size=12)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("abc_", max_size=6), inner, max_size=2),
    max_leaves=4,
)


@given(path=st.sampled_from(PLACES), value=VALUES)
def test_whatever_the_schema_refuses_the_loader_refuses(path: tuple[str | int, ...], value: object) -> None:
    tree = _placed(path, value)
    if not VALIDATOR.is_valid(tree):
        assert faults_of(tree) != ()


LEAVES = [path for path in PLACES if not isinstance(_at(paper(), path), dict | list) and "server_url" not in path]


@given(path=st.sampled_from(LEAVES), value=VALUES)
def test_both_refuse_a_value_of_another_type(path: tuple[str | int, ...], value: object) -> None:
    right = _at(paper(), path)
    same = isinstance(value, str) if isinstance(right, str) else type(value) in {type(right), float if right else int}
    if same or value is None or "${" in str(value):
        return
    tree = _placed(path, value)
    assert not VALIDATOR.is_valid(tree)
    assert faults_of(tree) != ()


@given(
    path=st.sampled_from([path for path in PLACES if isinstance(path[-1], str)]),
    name=st.text("abcxyz_", min_size=1, max_size=8),
)
def test_both_refuse_an_unknown_key(path: tuple[str | int, ...], name: str) -> None:
    tree = paper()
    place = _at(tree, path[:-1])
    if name in place or path[:-1] == ("services", "models"):
        return
    place[f"{name}_"] = {}
    assert not VALIDATOR.is_valid(tree)
    assert faults_of(tree) != ()


def test_the_entry_of_an_unselected_backend_is_not_checked() -> None:
    tree = changed(small(), ("services.tools.ocr", {"nonsense": 1}))
    assert _errors(tree) == []
    assert _errors(changed(tree, ("services.tools.orc", {}))) != []
    plugin = changed(tree, ("services.tools.my_ocr", {"any": 1}), ("capabilities.registries", ["paper", "mine"]))
    assert _errors(plugin) == []


def test_keys_are_described() -> None:
    schema = configuration_schema()
    agent = schema["$defs"]["AgentSettings"]["properties"]
    assert all("description" in described for described in agent.values())
    assert agent["max_iterations"]["default"] == 15
