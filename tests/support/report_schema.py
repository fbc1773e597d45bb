"""Reports, as they are saved, against their schemas."""

from __future__ import annotations

import functools
import json
from typing import Any

import jsonschema

from tests.architecture.rooms import CONTRACTS

_TOOLS = {
    "Camera_Trajectory_Tool": "camera_pose",
    "Depth_Estimation_Tool": "depth",
    "Image_Search_Tool": "image_search",
    "OCR_Tool": "ocr",
    "Python_Coding_Agent_Tool": "coding",
    "Text_Search_Tool": "text_search",
    "Visual_Grounding_Tool": "grounding",
    "Webpage_Visit_Tool": "web_visit",
    "Zoom_In_Tool": "zoom",
}


@functools.cache
def schema(name: str) -> jsonschema.Draft202012Validator:
    """The schema of that file below `contracts/schemas`, ready to judge."""
    document = json.loads((CONTRACTS / "schemas" / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def check_report(record: dict[str, Any]) -> None:
    """Fail where a report, or the data of a tool in it, is not what its schema says."""
    schema("report.json").validate(record)
    for step in record["steps"]:
        if step["kind"] == "tool" and step["ok"] and step["tool"] in _TOOLS:
            schema(f"canonical/{_TOOLS[step['tool']]}.json").validate(step["data"])
