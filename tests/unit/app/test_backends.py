"""Backends of others: known by their entry point, imported only when they are needed."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping

import pytest

from openvlharness_app import backends
from openvlharness_app.backends import PluginBackend
from openvlharness_app.settings_mapping import settings_to_mapping
from tests.unit.app.configurations import changed, faults_of, load, small


def _build(entry: Mapping[str, object]) -> object:
    return entry


class _Point:
    def __init__(self, name: str, offered: object) -> None:
        self.name = name
        self.offered = offered
        self.loads = 0

    def load(self) -> object:
        self.loads += 1
        if isinstance(self.offered, Exception):
            raise self.offered
        return self.offered


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> dict[str, _Point]:
    offered = {
        "mine": {
            "my_ocr": PluginBackend(capability="ocr", build=_build),
            "my_coder": PluginBackend(capability="coding", build=_build),
        },
        "broken": ImportError("CANARY"),
        "odd": ["not", "a", "mapping"],
        "paper": {"stolen": PluginBackend(capability="ocr", build=_build)},
        "thief": {"ocr": PluginBackend(capability="depth", build=_build)},
    }
    points = {name: _Point(name, value) for name, value in offered.items()}

    def entry_points(*, group: str) -> list[_Point]:
        assert group == "openvlharness.backends"
        return list(points.values())

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return points


def _selecting(registry: str, backend: str, entry: object = None) -> dict[str, object]:
    tree = changed(
        small(),
        ("capabilities.registries", ["paper", registry]),
        ("capabilities.tools.ocr", {"backend": backend}),
    )
    return tree if entry is None else changed(tree, (f"services.tools.{backend}", entry))


def test_a_plugin_backend_keeps_its_entry(points: dict[str, _Point]) -> None:
    entry = {"url": "${OCR_SERVER_URL}", "api_key": "sk-1", "tuning": [1, {"deep": True}]}
    settings = load(_selecting("mine", "my_ocr", entry))
    kept = settings.services.tools.plugins
    assert kept == {"my_ocr": {"url": "http://gpu:8202", "api_key": "sk-1", "tuning": [1, {"deep": True}]}}
    assert type(kept["my_ocr"]["url"]) is str
    assert "sk-1" not in repr(settings)
    saved = settings_to_mapping(settings)
    assert "sk-1" not in json.dumps(saved)
    assert load(saved).services.tools.plugins["my_ocr"]["url"] == "http://gpu:8202"
    assert backends.load_plugin_registry("mine")["my_ocr"].build is _build


def test_a_plugin_backend_needs_no_entry(points: dict[str, _Point]) -> None:
    assert load(_selecting("mine", "my_ocr")).services.tools.plugins == {"my_ocr": {}}


def test_an_entry_of_an_unselected_plugin_is_known(points: dict[str, _Point]) -> None:
    assert faults_of(changed(small(), ("services.tools.my_ocr", {"any": 1}))) == ()


def test_a_plugin_must_be_listed_and_fit(points: dict[str, _Point]) -> None:
    tree = changed(_selecting("mine", "my_ocr"), ("capabilities.registries", ["paper"]))
    [fault] = faults_of(tree)
    assert "needs mine in capabilities.registries" in fault.got
    [fault] = faults_of(_selecting("mine", "my_coder"))
    assert "which is for coding" in fault.got


def test_a_name_of_the_package_is_not_taken_over(points: dict[str, _Point]) -> None:
    tree = changed(_selecting("thief", "ocr"), ("services.tools.ocr", {"server_url": "http://gpu"}))
    assert load(tree).services.tools.ocr is not None
    [fault] = faults_of(_selecting("paper", "stolen"))
    assert fault.key == "capabilities.tools.ocr.backend"


@pytest.mark.parametrize(
    ("registry", "says"),
    [
        ("broken", "ImportError when it was imported"),
        ("odd", "something else than a mapping of names to PluginBackend"),
    ],
)
def test_a_registry_that_cannot_be_used_is_named(registry: str, says: str, points: dict[str, _Point]) -> None:
    [fault] = faults_of(changed(small(), ("capabilities.registries", ["paper", registry])))
    assert (fault.key, fault.got) == ("capabilities.registries[1]", f"{registry}: {says}")
    assert "CANARY" not in str(fault)


def test_an_unknown_registry_is_named_with_the_nearest(points: dict[str, _Point]) -> None:
    [fault] = faults_of(changed(small(), ("capabilities.registries", ["paper", "main"])))
    assert (fault.key, fault.suggestion) == ("capabilities.registries[1]", "mine")


def test_nothing_is_imported_without_need(points: dict[str, _Point]) -> None:
    load(small())
    load(changed(small(), ("services.tools.ocr", {})))
    assert {name: point.loads for name, point in points.items() if point.loads} == {}
    load(_selecting("mine", "my_ocr"))
    assert {name for name, point in points.items() if point.loads} == {"mine"}


def test_no_entry_point_of_that_name(points: dict[str, _Point]) -> None:
    with pytest.raises(backends.PluginRegistryError):
        backends.load_plugin_registry("nobody")
    assert backends.plugin_registries() == ("broken", "mine", "odd", "thief")
