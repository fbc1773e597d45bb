"""Saying which part of which picture a crop is, so that what is found on it can be carried back."""

from __future__ import annotations

import numpy as np

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
    """The `to_source` field of a binding made on a crop: float64 (2, 3), its pixels to the source's; else nothing."""
    source, affine = workspace.images.origin(handle)
    return {} if source == handle else {"to_source": np.array(affine, np.float64)}


def to_source_note(handle: str, workspace: Workspace) -> dict[str, str]:
    """What a code writer has to know of `to_source_field`; nothing where there is none."""
    source = workspace.images.origin(handle)[0]
    note = f"2x3 affine map from pixels of {handle} to pixels of {source}, which it was cut from; map_boxes applies it"
    return {} if source == handle else {"to_source": note}
