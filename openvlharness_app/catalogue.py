"""The tools as data: what `openvlharness tools` prints, and what other programs read."""

from __future__ import annotations

from typing import Any, Literal

from openvlharness_app.settings import Settings
from openvlharness_core import Capability, PromptBundle


def all_tools() -> list[dict[str, Any]]:
    """Every tool there is, sorted by public name, in the words of the packaged texts."""
    from openvlharness_app.prompts import load_prompt_bundle
    from openvlharness_core.profile import ModelProfile

    prompts = load_prompt_bundle(ModelProfile(alias="generic-chat").prompt_bundle)
    return [_row(capability, prompts) for capability in packaged_capabilities()]


def packaged_capabilities(boxes: Literal["bbox_2d", "object_map"] = "bbox_2d") -> list[Capability]:
    """Every capability without a backend: good for its schema, its description and its evidence, not for work."""
    from openvlharness_core.capabilities.camera_pose import CameraPoseCapability
    from openvlharness_core.capabilities.coding import CodingCapability
    from openvlharness_core.capabilities.depth import DepthCapability
    from openvlharness_core.capabilities.grounding import GroundingCapability
    from openvlharness_core.capabilities.image_search import ImageSearchCapability
    from openvlharness_core.capabilities.ocr import OcrCapability
    from openvlharness_core.capabilities.text_search import TextSearchCapability
    from openvlharness_core.capabilities.web_visit import WebVisitCapability
    from openvlharness_core.capabilities.zoom import ZoomCapability

    nobody: Any = None
    capabilities: list[Capability] = [
        CameraPoseCapability(backend=nobody, renderer=nobody),
        CodingCapability(generator=nobody, executor=nobody),
        DepthCapability(backend=nobody, renderer=nobody),
        GroundingCapability(backend=nobody, renderer=nobody, boxes=boxes),
        ImageSearchCapability(backend=nobody),
        OcrCapability(backend=nobody),
        TextSearchCapability(backend=nobody),
        WebVisitCapability(backend=nobody),
        ZoomCapability(backend=nobody),
    ]
    return sorted(capabilities, key=lambda capability: capability.name)


def selected_tools(settings: Settings) -> list[dict[str, Any]]:
    """The tools that a configuration selects, in the words that its model reads."""
    from openvlharness_app.building.models import profile_of, prompt_bundle

    prompts = prompt_bundle(settings, profile_of(settings))
    return [_row(capability, prompts) for capability in selected_capabilities(settings)]


def selected_capabilities(settings: Settings) -> list[Capability]:
    """The packaged capabilities that a configuration selects, without backends."""
    from openvlharness_app.building.models import profile_of

    tools = settings.capabilities.tools
    return [
        each for each in packaged_capabilities(profile_of(settings).boxes) if getattr(tools, each.key, None) is not None
    ]


def _row(capability: Capability, prompts: PromptBundle) -> dict[str, Any]:
    return {
        "name": capability.name,
        "capability": capability.key,
        "description": capability.description(prompts),
        "parameters": dict(capability.parameters),
    }
