"""Saying which part of which picture a crop is, so that what is found on it can be carried back."""

from __future__ import annotations

from openvlharness_core.geometry import map_box, pixels_to_grid
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import TextPart
from openvlharness_core.prompts import PromptBundle


def region_note(handle: str, workspace: Workspace, prompts: PromptBundle) -> tuple[TextPart, ...]:
    """One sentence if `handle` is a crop: its region on the 0-1000 grid of the picture it comes from; else nothing."""
    source, affine = workspace.images.origin(handle)
    size = workspace.images.resolve(handle).size_hw
    source_size = workspace.images.resolve(source).size_hw
    if source == handle or size is None or source_size is None:
        return ()
    region = pixels_to_grid(map_box((0, 0, size[1], size[0]), affine), source_size)
    return (TextPart(text=prompts.text("region_of_image", handle=handle, region=list(region), source=source)),)


def to_source_field(handle: str, workspace: Workspace) -> dict[str, object]:
    """The `to_source` field of a binding made on a crop: 2x3 rows from its pixels to the source's; else nothing."""
    source, affine = workspace.images.origin(handle)
    return {} if source == handle else {"to_source": [list(row) for row in affine]}
