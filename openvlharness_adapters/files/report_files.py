"""A report as files: `report.json`, pictures and envelopes beside it, values of bindings with their arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from openvlharness_adapters.files.binding_values import Array, arrays_to_bytes, value_to_json
from openvlharness_adapters.files.replacing import is_plain_name
from openvlharness_core.agent.report import REPORT_SCHEMA, Report, envelope_file, image_file, sent_file
from openvlharness_core.agent.steps import ToolStep
from openvlharness_core.memory.bindings import Binding

REPORT = "report.json"
BINDINGS = "bindings.json"
ARRAYS = "arrays.npz"


def report_to_files(report: Report) -> dict[str, bytes]:
    """Plain name to contents, `report.json` last.

    Raises:
        MalformedResultError: the report holds something that JSON cannot say.
    """
    record = report.to_dict()
    files = dict(_picture_files(report))
    for position, step in enumerate(report.steps):
        if isinstance(step, ToolStep) and step.result.envelope is not None:
            files[envelope_file(position)] = _json_bytes(step.result.envelope)
    if report.bindings:
        arrays: dict[str, Array] = {}
        files[BINDINGS] = _json_bytes({binding.name: _binding_to_json(binding, arrays) for binding in report.bindings})
        if arrays:
            files[ARRAYS] = arrays_to_bytes(arrays)
    files[REPORT] = _json_bytes(record)
    return files


def _picture_files(report: Report) -> Iterator[tuple[str, bytes]]:
    for record in report.images:
        if record.picture is not None and (full := image_file(record)):
            yield full, record.picture.full.data
            if sent := sent_file(record):
                yield sent, record.picture.sent.data


def _binding_to_json(binding: Binding, arrays: dict[str, Array]) -> dict[str, object]:
    def keep(array: Array) -> str:
        name = f"array_{len(arrays)}"
        arrays[name] = array
        return name

    return {
        "stem": binding.stem,
        "image_id": binding.image_id,
        "notes": dict(binding.notes),
        "fields": {name: value_to_json(value, keep) for name, value in binding.fields.items()},
    }


def _json_bytes(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def files_of_report(data: bytes) -> frozenset[str]:
    """Which files a saved `report.json` owns, itself included; none if it is not one of ours."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return frozenset()
    if not isinstance(record, dict) or record.get("schema") != REPORT_SCHEMA:
        return frozenset()
    named = {REPORT, BINDINGS, ARRAYS, *_named(record)}
    return frozenset(name for name in named if name in {REPORT, BINDINGS, ARRAYS} or _is_ours(name))


def _named(record: Mapping[str, object]) -> Iterator[str]:
    """Every `file` and `envelope_ref` anywhere in a report whose shape nobody has checked."""
    ahead: list[object] = [record.get("images"), record.get("steps")]
    while ahead:
        value = ahead.pop()
        if isinstance(value, dict):
            yield from (name for key in ("file", "envelope_ref") if isinstance(name := value.get(key), str))
            ahead.extend(value.values())
        elif isinstance(value, list):
            ahead.extend(value)


def _is_ours(name: str) -> bool:
    return is_plain_name(name) and name.startswith(("images/", "envelopes/"))
