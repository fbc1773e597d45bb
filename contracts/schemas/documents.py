"""Every schema that is made from code, by its file below this folder."""

from __future__ import annotations

import json

from openvlharness_core.capabilities.base import Capability
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.testing.backends import FakeOcr, FakeZoom
from openvlharness_core.testing.code import FakeCodeExecutor, FakeCodeGenerator
from openvlharness_core.testing.images import FakeCodec

from .canonical_data import canonical_schemas
from .report import report_schema
from .shapes import DIALECT, Schema


def _capabilities() -> tuple[Capability, ...]:
    """One of each kind; what does their work does not show in the arguments they take."""
    return (
        CodingCapability(generator=FakeCodeGenerator(), executor=FakeCodeExecutor()),
        OcrCapability(backend=FakeOcr()),
        ZoomCapability(backend=FakeZoom(FakeCodec())),
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
