"""The Environment Update: what is there, in the model's words, and when to say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from openvlharness_core.memory.bindings import Binding
from openvlharness_core.memory.images import QUESTION, ImageRecord
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.texts import clean_text, excerpt

EmitPolicy = Literal["always", "on_change"]
Announced = tuple[tuple[tuple[str, str, bool], ...], int, int]
"""What an update depends on under `on_change`: picture sources, number of pages, number of bindings."""


def announced(workspace: Workspace) -> Announced:
    """What `on_change` compares; a remote picture that was downloaded counts as a changed source."""
    sources = tuple((record.handle, record.source, record.picture is not None) for record in workspace.images.records)
    return sources, len(workspace.pages.records), len(workspace.bindings.records)


def environment_update(workspace: Workspace, prompts: PromptBundle, page_limit: int | None) -> str:
    """The inventory as text: preamble, pictures, bindings, pages (the newest `page_limit`, all if `None`)."""
    none = prompts.text("update_none")
    blocks = [
        prompts.text("update_preamble"),
        _block(prompts.text("update_images"), [_image_line(record) for record in workspace.images.records], none),
    ]
    if "tool_context" in workspace.modules:
        lines = [_binding_line(record) for record in workspace.bindings.records]
        blocks.append(_block(prompts.text("update_bindings"), lines, none))
    if "url" in workspace.modules:
        records = workspace.pages.records
        newest = records if page_limit is None else records[max(0, len(records) - page_limit) :]
        lines = [f"- {page.handle}: {excerpt(f'{page.title} {page.url}'.strip(), 200)}" for page in newest]
        if len(newest) < len(records):
            lines.append(prompts.text("update_older_pages", count=len(records) - len(newest)))
        blocks.append(_block(prompts.text("update_pages"), lines, none))
    return clean_text("\n".join(blocks))


def _block(heading: str, lines: list[str], none: str) -> str:
    return "\n".join([heading, *(lines or [none])])


def _image_line(record: ImageRecord) -> str:
    size = f"{record.size_hw[1]}x{record.size_hw[0]} px" if record.size_hw else "size unknown"
    made_of = record.parents if record.source != QUESTION else ()
    origin = f"{record.source} of {', '.join(made_of)}" if made_of else record.source
    return f"- {record.handle}: {origin}, {size}"


def _binding_line(record: Binding) -> str:
    fields = ", ".join(f"{name} {_short(value)}" for name, value in record.fields.items())
    belongs = f" of {record.image_id}" if record.image_id else ""
    return f"- {record.name}: dict{belongs} ({fields})"


def _short(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, tuple):
        return f"list[{len(value)}]"
    if isinstance(value, Mapping):
        return "dict"
    return "None" if value is None else type(value).__name__
