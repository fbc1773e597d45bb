"""Schemas of canonical data: what a tool found, in `data` of its step.

Every field is always there. Null means that this backend cannot tell, an empty list that it looked and found none.
"""

from __future__ import annotations

from openvlharness_core.ports.imaging import COLORMAPS
from openvlharness_core.seeking import SEARCH_TYPES

from .shapes import COUNT, DIALECT, FLAG, NUMBER, SIZE_HW, TEXT, Schema, entries, items, one_of, or_null, record

_HANDLE: Schema = {"description": "handle of the picture that was looked at", "type": "string", "minLength": 1}
_BOX_ON_GRID: Schema = {
    "description": "[x1, y1, x2, y2] on the 0-1000 grid",
    "type": "array",
    "items": {"type": "integer", "minimum": 0, "maximum": 1000},
    "minItems": 4,
    "maxItems": 4,
}
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_LENGTH: Schema = {"type": "number", "minimum": 0}
_VECTOR: Schema = {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3}
_BINDING: Schema = {"description": "name of the data binding; null where bindings are switched off"} | or_null(TEXT)


def canonical_schemas() -> dict[str, Schema]:
    """Key of a capability to the schema of its data."""
    schemas = {
        "camera_pose": _camera_pose(),
        "coding": _coding(),
        "depth": _depth(),
        "grounding": _grounding(),
        "image_search": _search({"image_id": _HANDLE}),
        "ocr": _ocr(),
        "text_search": _search({"query": TEXT, "search_type": one_of(SEARCH_TYPES)}),
        "web_visit": _web_visit(),
        "zoom": _zoom(),
    }
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
    line = record({"text": TEXT, "bbox_2d": _BOX_ON_GRID, "score": _SHARE})
    return record(
        {
            "image_id": _HANDLE,
            "text": {"description": "in reading order, empty when nothing is readable"} | TEXT,
            "lines": or_null(items(line)),
            "left_out": {"description": "passages seen but not read, 0 where that is not told"} | COUNT,
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


def _grounding() -> Schema:
    exact: Schema = {
        "description": "the same with two decimals, neither widened nor rounded to whole numbers",
        "type": "array",
        "items": {"type": "number", "minimum": 0, "maximum": 1000},
        "minItems": 4,
        "maxItems": 4,
    }
    found = record({"bbox_2d": _BOX_ON_GRID, "box_grid": exact, "score": _SHARE})
    return record(
        {
            "image_id": _HANDLE,
            "query": TEXT,
            "num_objects": COUNT,
            "objects": {"description": "sorted by bbox_2d, like rows of the binding and drawn numbers"} | items(found),
            "num_masks": {"description": "null when the backend gives boxes only"} | or_null(COUNT),
            "unnamed": {"description": "regions that could not be named; null when it does not tell"} | or_null(COUNT),
            "binding": _BINDING,
        }
    )


def _depth() -> Schema:
    return record(
        {
            "image_id": _HANDLE,
            "colormap": one_of(COLORMAPS),
            "depth_shape": SIZE_HW,
            "size": SIZE_HW,
            "is_metric": {"description": "whether lengths are metres"} | FLAG,
            "nearest": _LENGTH,
            "median": _LENGTH,
            "farthest": _LENGTH,
            "binding": _BINDING,
        }
    )


def _camera_pose() -> Schema:
    camera = record(
        {
            "image_id": _HANDLE,
            "centre": {"description": "x, y, z in the first camera's frame; zero where unknown"} | _VECTOR,
            "distance": _LENGTH,
            "forward": {"description": "unit vector in the first camera's frame"} | _VECTOR,
            "angle": {"description": "total rotation in degrees", "type": "number", "minimum": 0, "maximum": 180},
            "yaw": {"description": "degrees, right is positive"} | NUMBER,
            "pitch": {"description": "degrees, down is positive"} | NUMBER,
            "roll": {"description": "degrees, clockwise is positive"} | NUMBER,
            "translation_known": FLAG,
        }
    )
    return record(
        {
            "image_ids": items(_HANDLE, minItems=2),
            "num_images": {"type": "integer", "minimum": 2},
            "reference_image_id": _HANDLE,
            "is_metric": {"description": "whether lengths are metres; else their scale is unknown"} | FLAG,
            "cameras": {"description": "one an image, the first included"} | items(camera, minItems=2),
            "notes": items(TEXT),
            "coordinate_system": TEXT,
            "binding": _BINDING,
        }
    )


def _search(asked: dict[str, Schema]) -> Schema:
    item = record(
        {
            "title": {"type": "string", "minLength": 1},
            "url": or_null(TEXT),
            "source": TEXT,
            "snippet": TEXT,
            "details": {"description": "further fields, name to text"} | entries(TEXT),
            "thumbnail_url": or_null(TEXT),
            "has_image": {"description": "whether its picture was registered"} | FLAG,
        }
    )
    return record(
        asked
        | {
            "items": items(item),
            "summary": {"description": "null when nobody summarised"} | or_null(TEXT),
            "nothing_relevant": {"description": "why nothing was kept; null when something was"} | or_null(TEXT),
            "note": or_null(TEXT),
        }
    )


def _web_visit() -> Schema:
    page = record(
        {
            "url": {"type": "string", "minLength": 1},
            "title": TEXT,
            "ok": FLAG,
            "evidence": TEXT,
            "summary": TEXT,
            "reason": {"description": "why it could not be read, and what to try; empty when it could"} | TEXT,
        }
    )
    return record({"goal": TEXT, "pages": items(page, minItems=1)})
