"""The schemas that are made from code: none is stale, and each refuses what it is there to refuse."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest

from contracts.ports.sample_question import sample_run
from contracts.schemas.documents import document_text, schema_documents
from openvlharness_core.agent.report import Report
from tests.architecture.rooms import CONTRACTS
from tests.support.report_schema import check_report, schema


@pytest.fixture(scope="module")
def report() -> Report:
    return asyncio.run(sample_run())


@pytest.fixture
def record(report: Report) -> dict[str, Any]:
    return report.to_dict()


@pytest.mark.parametrize("name", sorted(schema_documents()))
def test_files_are_what_the_command_writes(name: str) -> None:
    assert (CONTRACTS / "schemas" / name).read_text(encoding="utf-8") == document_text(schema_documents()[name])


@pytest.mark.parametrize("name", sorted(schema_documents()))
def test_every_document_is_a_schema(name: str) -> None:
    schema(name)


def test_a_report_of_everything_fits(record: dict[str, Any]) -> None:
    check_report(record)


def _steps(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [step for step in record["steps"] if step["kind"] == kind]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("schema", "openvlharness.report/2"),
        ("stop_reason", "bored"),
        ("seconds", "1"),
        ("answer", 7),
        ("error", {"code": "x"}),
        ("extra", 1),
        ("images.input_image_1.file", "../secret.png"),
        ("images.input_image_1.size", [0, 4]),
        ("images.photo", {}),
        ("steps.0.kind", "thought"),
        ("pages.webpage_url_0", {"url": "", "title": ""}),
    ],
)
def test_a_report_that_breaks_a_rule_does_not_fit(record: dict[str, Any], place: str, value: object) -> None:
    broken: Any = copy.deepcopy(record)
    inner = broken
    *way, last = place.split(".")
    for key in way:
        inner = inner[int(key)] if key.isdigit() else inner[key]
    inner[last] = value
    assert not schema("report.json").is_valid(broken)


def test_no_key_of_a_report_is_left_to_chance(record: dict[str, Any]) -> None:
    """Every key of the top and of every kind of step is required."""
    for key in record:
        assert not schema("report.json").is_valid({name: value for name, value in record.items() if name != key}), key
    for kind in ("model", "tool", "environment_update"):
        step = _steps(record, kind)[0]
        for key in step:
            broken = copy.deepcopy(record)
            position = record["steps"].index(step)
            del broken["steps"][position][key]
            assert not schema("report.json").is_valid(broken), f"{kind}.{key}"


def test_canonical_data_keeps_unavailable_and_nothing_found_apart() -> None:
    found = {"image_id": "input_image_1", "text": "", "lines": [], "left_out": 0}
    assert schema("canonical/ocr.json").is_valid(found)
    assert schema("canonical/ocr.json").is_valid(found | {"lines": None})
    assert not schema("canonical/ocr.json").is_valid({"image_id": "input_image_1", "text": ""})


def test_argument_schemas_judge_as_the_tools_do() -> None:
    zoom = schema("tools/zoom.json")
    assert zoom.is_valid({"image_id": "input_image_1", "coords": [0, 0, 10, 10.5]})
    assert not zoom.is_valid({"image_id": "input_image_1", "coords": [0, 0, 10]})
    assert not zoom.is_valid({"image_id": "input_image_1", "coords": [0, 0, 10, 10], "zoom": 2})
    assert (
        json.loads((CONTRACTS / "schemas" / "tools" / "zoom.json").read_text())["title"] == "Arguments of Zoom_In_Tool"
    )
