"""Every schema that is made from code, by its file below this folder."""

from __future__ import annotations

import json
from typing import Any

from openvlharness_core.capabilities.base import Capability
from openvlharness_core.capabilities.camera_pose import CameraPoseCapability
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.capabilities.depth import DepthCapability
from openvlharness_core.capabilities.grounding import GroundingCapability
from openvlharness_core.capabilities.image_search import ImageSearchCapability
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.text_search import TextSearchCapability
from openvlharness_core.capabilities.web_visit import WebVisitCapability
from openvlharness_core.capabilities.zoom import ZoomCapability

from .canonical_data import canonical_schemas
from .report import report_schema
from .shapes import DIALECT, Schema


def _capabilities() -> tuple[Capability, ...]:
    """One of each kind; who does their work does not show in the arguments they take."""
    nobody: Any = None
    return (
        CameraPoseCapability(backend=nobody, renderer=nobody),
        CodingCapability(generator=nobody, executor=nobody),
        DepthCapability(backend=nobody, renderer=nobody),
        GroundingCapability(backend=nobody, renderer=nobody),
        ImageSearchCapability(backend=nobody),
        OcrCapability(backend=nobody),
        TextSearchCapability(backend=nobody),
        WebVisitCapability(backend=nobody),
        ZoomCapability(backend=nobody),
    )


def schema_documents() -> dict[str, Schema]:
    """File name to schema."""
    documents = {"report.json": report_schema()}
    documents |= {f"canonical/{key}.json": schema for key, schema in canonical_schemas().items()}
    for capability in _capabilities():
        about = {"$schema": DIALECT, "title": f"Arguments of {capability.name}"}
        documents[f"tools/{capability.key}.json"] = about | dict(capability.parameters)
    return documents


def document_text(schema: Schema) -> str:
    """The contents of a schema's file."""
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"
