"""Schemas of canonical data: what a tool found, in `data` of its step.

Every field is always there. Null means that this backend cannot tell, an empty list that it looked and found none.
"""

from __future__ import annotations

from .shapes import COUNT, DIALECT, FLAG, NUMBER, SIZE_HW, TEXT, Schema, entries, items, or_null, record

_HANDLE: Schema = {"description": "handle of the picture that was looked at", "type": "string", "minLength": 1}
_BOX_ON_GRID: Schema = {
    "description": "[x1, y1, x2, y2] on the 0-1000 grid",
    "type": "array",
    "items": {"type": "integer", "minimum": 0, "maximum": 1000},
    "minItems": 4,
    "maxItems": 4,
}


def canonical_schemas() -> dict[str, Schema]:
    """Key of a capability to the schema of its data."""
    schemas = {"coding": _coding(), "ocr": _ocr(), "zoom": _zoom()}
    return {key: {"$schema": DIALECT, "title": f"Canonical data of {key}"} | schema for key, schema in schemas.items()}


def _zoom() -> Schema:
    return record(
        {
            "image_id": _HANDLE,
            "coords": {
                "description": "the region that was asked for, [x1, y1, x2, y2] on the 0-1000 grid",
                "type": "array",
                "items": {"type": "number", "minimum": 0, "maximum": 1000},
                "minItems": 4,
                "maxItems": 4,
            },
            "padding": {"description": "pixels of the source on each side"} | COUNT,
            "region_xyxy_px": {
                "description": "the region that was cut out, [x1, y1, x2, y2] in pixels of the source",
                "type": "array",
                "items": COUNT,
                "minItems": 4,
                "maxItems": 4,
            },
            "size_hw": SIZE_HW,
        }
    )


def _ocr() -> Schema:
    line = record({"text": TEXT, "bbox_2d": _BOX_ON_GRID, "score": {"type": "number", "minimum": 0, "maximum": 1}})
    return record(
        {
            "image_id": _HANDLE,
            "text": {"description": "in reading order, empty when nothing is readable"} | TEXT,
            "lines": or_null(items(line)),
        }
    )


def _coding() -> Schema:
    return record(
        {
            "objective": TEXT,
            "program": TEXT,
            "stdout": TEXT,
            "stderr": TEXT,
            "variables": {"description": "name to bounded preview"} | entries(TEXT),
            "execution_error": {"description": "null when the program ran to its end"} | or_null(TEXT),
            "timed_out": FLAG,
            "seconds": NUMBER,
        }
    )
