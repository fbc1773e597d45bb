"""Damaged reports: each is refused by file and place, and none is read as something that it does not say."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from contracts.ports.sample_question import sample_run
from openvlharness_adapters.files.report_files import report_to_files
from openvlharness_adapters.files.report_reading import ReportReader
from openvlharness_adapters.files.report_store import read_report, write_report
from openvlharness_core.agent.report import Report
from openvlharness_core.errors import SavedFileError

Way = tuple[str | int, ...]


@pytest.fixture(scope="module")
def report() -> Report:
    return asyncio.run(sample_run())


@pytest.fixture(scope="module")
def small(report: Report) -> Report:
    """The beginning: a reply, a crop, a survey with arrays, pages and an envelope, a failed call."""
    return attrs.evolve(
        report, steps=report.steps[:9], images=report.images[:5], bindings=report.bindings[:2], turns=report.turns[:2]
    )


@pytest.fixture(scope="module")
def files(small: Report) -> dict[str, bytes]:
    return report_to_files(small)


def _read(files: dict[str, bytes], *changed: object) -> Report:
    """Read the files, `report.json` changed if there is one more argument."""
    data = json.dumps(changed[0]).encode() if changed else files["report.json"]
    return ReportReader(directory=Path("run"), find=files.get).read("run/report.json", data)


def _ways(value: object, way: Way = ()) -> Iterator[Way]:
    """The way to every value inside."""
    yield way
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    for key, item in inner:
        yield from _ways(item, (*way, key))


def _changed(record: object, way: Way, value: object) -> Any:
    if not way:
        return value
    changed: Any = copy.deepcopy(record)
    inner = changed
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    return changed


def _without(record: object, way: Way) -> Any:
    changed: Any = copy.deepcopy(record)
    inner = changed
    for key in way[:-1]:
        inner = inner[key]
    del inner[way[-1]]
    return changed


def test_a_value_of_another_type_is_refused_or_read_as_it_stands(files: dict[str, bytes]) -> None:
    record = json.loads(files["report.json"])
    refused = 0
    values = ({}, [], "other", 7, -1.5, True, None)
    for number, way in enumerate(_ways(record)):
        for value in {number % 7, (number + 3) % 7}:  # two of them each, to be quick
            changed = _changed(record, way, values[value])
            try:
                loaded = _read(files, changed)
            except SavedFileError as error:
                refused += 1
                assert error.file.startswith("run/"), error  # noqa: PT017 - most are refused, and none otherwise
                continue
            assert loaded.to_dict() == changed, way
    assert refused > 300


def test_a_missing_key_is_named(files: dict[str, bytes]) -> None:
    record = json.loads(files["report.json"])
    free = {"arguments", "data", "sidecars", "usage"}  # whoever wrote them chose their keys
    for way in _ways(record):
        if not way or not isinstance(way[-1], str) or free & set(way[:-1]):
            continue
        if way[-1] in {"notes", "note", "shape", "keys", "length", "of"} or way[-2:-1] in [
            ("images",),
            ("bindings",),
            ("pages",),
        ]:
            continue
        with pytest.raises(SavedFileError) as caught:
            _read(files, _without(record, way))
        assert str(way[-1]) in caught.value.problem, way


@pytest.mark.parametrize(
    ("way", "value", "problem"),
    [
        (("schema",), "openvlharness.report/2", 'schema: expected openvlharness.report/1, got "openvlharness.report/2"'),
        (("steps", 2, "evidence", 0, "text"), 5, "steps[2].evidence[0].text: expected a text, got 5"),
        (("steps", 1, "kind"), "thought", "steps[1].kind: expected one of model, tool"),
        (("images", "input_image_1", "size"), [40], "images.input_image_1.size: expected a list of 2"),
        (("images", "input_image_1", "file"), "../../etc/passwd", "images.input_image_1.file: expected one of images/"),
        (("images", "input_image_1", "file"), "/etc/passwd", "images.input_image_1.file: expected one of images/"),
        (("images", "input_image_1", "file"), "images/../report.json", "images.input_image_1.file: expected one of"),
        (("images", "input_image_1", "file"), "images/input_image_3.png", "images.input_image_1.file: expected one of"),
        (("steps", 5, "private", "envelope_ref"), "../x.json", "steps[5].private.envelope_ref: expected one of env"),
        (("stop_reason",), "bored", "stop_reason: expected one of answered, no_answer"),
        (("steps", 8, "error", "code"), "oops", "steps[8].error.code: expected one of invalid_tool_arguments"),
        (("seconds",), True, "seconds: expected a number, got true"),
        (("usage", "total", "prompt_tokens"), 1, "usage.total.prompt_tokens: expected what follows from the rest"),
        (("bindings", "survey", "fields", "values", "shape", 0), 4, "bindings.survey.fields.values.shape[0]: expected"),
        (("images", "input_image_1", "size", 0), 41, None),
    ],
)  # fmt: skip
def test_the_place_is_named(files: dict[str, bytes], way: Way, value: object, problem: str | None) -> None:
    changed = _changed(json.loads(files["report.json"]), way, value)
    if problem is None:  # nothing else in the report says how large a picture is
        assert _read(files, changed).images[0].size_hw == (41, 60)
        return
    with pytest.raises(SavedFileError) as caught:
        _read(files, changed)
    assert caught.value.problem.startswith(problem)
    assert caught.value.file == "run/report.json"


def test_handles_and_unknown_keys(files: dict[str, bytes]) -> None:
    record = json.loads(files["report.json"])
    record["images"]["../evil"] = record["images"].pop("input_image_3")
    with pytest.raises(SavedFileError, match="expected the handle of a picture"):
        _read(files, record)
    record = json.loads(files["report.json"])
    record["comment"] = "mine"
    with pytest.raises(SavedFileError, match="comment"):
        _read(files, record)


def test_json_cut_anywhere(files: dict[str, bytes]) -> None:
    for name in ("report.json", "bindings.json", "envelopes/step_5.json"):
        data = files[name]
        end = len(data.rstrip())
        for length in {*range(0, end, 61), *range(end - 8, end)}:
            with pytest.raises(SavedFileError, match=r"expected JSON|expected UTF-8") as caught:
                _read(files | {name: data[:length]})
            assert caught.value.file == f"run/{name}"


def test_a_file_of_the_report_that_is_missing(files: dict[str, bytes]) -> None:
    for name in set(files) - {"report.json"}:
        with pytest.raises(SavedFileError, match="found none") as caught:
            _read({other: data for other, data in files.items() if other != name})
        assert caught.value.file == f"run/{name}"


def test_pictures_that_are_not_those_that_were_saved(files: dict[str, bytes]) -> None:
    name = "images/tool_generated_image_1.png"
    for data in (b"", files[name][:-1], files["images/input_image_1.png"]):
        with pytest.raises(SavedFileError, match="SHA-256") as caught:
            _read(files | {name: data})
        assert caught.value.file == f"run/{name}"


def test_arrays_cut_anywhere(files: dict[str, bytes]) -> None:
    data = files["arrays.npz"]
    for length in range(0, len(data), 37):
        with pytest.raises(SavedFileError) as caught:
            _read(files | {"arrays.npz": data[:length]})
        assert caught.value.file == "run/arrays.npz"


def test_arrays_damaged_anywhere(small: Report, files: dict[str, bytes]) -> None:
    """A flipped bit is found by the archive's own checksums, or changes nothing that is read."""
    data = files["arrays.npz"]
    for position in range(0, len(data), 11):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        try:
            loaded = _read(files | {"arrays.npz": bytes(damaged)})
        except SavedFileError:
            continue
        assert loaded == small


@pytest.mark.parametrize(
    ("way", "value", "problem"),
    [
        (("survey", "fields", "values", "array"), "array_9", "survey.fields.values.array: expected one of array_0"),
        (("survey", "fields", "values"), {"arrays": 1}, "survey.fields.values: expected"),
        (("survey", "fields", "known"), float("nan"), "expected JSON: NaN is no number of JSON"),
        (("survey", "stem"), None, "survey.stem: expected a text, got null"),
        (("survey", "notes", "values"), 1, "survey.notes.values: expected a text, got 1"),
        (("counts",), 3, "counts: expected an object"),
    ],
)
def test_damaged_bindings(files: dict[str, bytes], way: Way, value: object, problem: str) -> None:
    changed = _changed(json.loads(files["bindings.json"]), way, value)
    with pytest.raises(SavedFileError) as caught:
        _read(files | {"bindings.json": json.dumps(changed).encode()})
    assert re.sub(r" at .*", "", caught.value.problem).startswith(problem)
    assert caught.value.file == "run/bindings.json"


def test_nothing_but_a_report_is_one(tmp_path: Path, small: Report) -> None:
    with pytest.raises(SavedFileError, match="found none"):
        read_report(tmp_path)
    with pytest.raises(SavedFileError, match="found none"):
        read_report(tmp_path / "nowhere" / "report.json")
    for text in ("", "[]", "null", "{}", "[" * 100_000, "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")):
        (tmp_path / "report.json").write_text(text, encoding="latin-1")
        with pytest.raises(SavedFileError) as caught:
            read_report(tmp_path)
        assert caught.value.file == str(tmp_path / "report.json")
    write_report(small, tmp_path)
    assert read_report(tmp_path) == small
