"""The tools that a configuration selects, and the rules of a question."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from openvlharness_app.backend_settings import LocalExecutorSettings
from openvlharness_app.building.models import generation_seconds
from openvlharness_app.building.plugins import selected_name
from openvlharness_app.building.remote import find_router_seconds
from openvlharness_app.settings import Settings
from openvlharness_core import (
    CameraBackend,
    Capability,
    CodeExecutor,
    CodeGenerator,
    DepthBackend,
    EvidenceRenderer,
    GroundingBackend,
    ImageSearchBackend,
    ModelProfile,
    OcrBackend,
    PageBackend,
    PromptBundle,
    TextSearchBackend,
    Toolset,
    TurnPolicy,
    ZoomBackend,
)
from openvlharness_core.capabilities.camera_pose import CameraPoseCapability
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.capabilities.depth import DepthCapability
from openvlharness_core.capabilities.grounding import GroundingCapability
from openvlharness_core.capabilities.image_search import ImageSearchCapability
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.text_search import TextSearchCapability
from openvlharness_core.capabilities.web_visit import WebVisitCapability
from openvlharness_core.capabilities.zoom import ZoomCapability

DEFAULT_SECONDS = 300.0
"""Deadline of a backend whose entry sets none."""


@attrs.frozen(kw_only=True)
class Backends:
    """How to get each backend; one that no selected tool needs is never made."""

    zoom: Callable[[], ZoomBackend]
    ocr: Callable[[], OcrBackend]
    grounding: Callable[[], GroundingBackend]
    depth: Callable[[], DepthBackend]
    camera: Callable[[], CameraBackend]
    text_search: Callable[[], TextSearchBackend]
    image_search: Callable[[], ImageSearchBackend]
    pages: Callable[[], PageBackend]
    generator: Callable[[], CodeGenerator]
    executor: Callable[[], CodeExecutor]
    renderer: Callable[[], EvidenceRenderer]


def toolset(settings: Settings, profile: ModelProfile, backends: Backends) -> Toolset:
    """The selected capabilities."""
    chosen = settings.capabilities.tools
    made: list[Capability] = []
    if chosen.zoom is not None:
        made.append(ZoomCapability(backend=backends.zoom()))
    if chosen.ocr is not None:
        made.append(OcrCapability(backend=backends.ocr(), timeout_seconds=_seconds(settings, "ocr")))
    if chosen.grounding is not None:
        grounding = GroundingCapability(
            backend=backends.grounding(),
            renderer=backends.renderer(),
            boxes=profile.boxes,
            timeout_seconds=_seconds(settings, "grounding"),
        )
        made.append(grounding)
    if chosen.depth is not None:
        seconds = _seconds(settings, "depth")
        made.append(DepthCapability(backend=backends.depth(), renderer=backends.renderer(), timeout_seconds=seconds))
    if chosen.camera_pose is not None:
        seconds = _seconds(settings, "camera_pose")
        made.append(
            CameraPoseCapability(backend=backends.camera(), renderer=backends.renderer(), timeout_seconds=seconds)
        )
    made += _seeking(settings, backends)
    if chosen.coding is not None:
        made.append(_coding(settings, backends))
    return Toolset(made)


def _seeking(settings: Settings, backends: Backends) -> list[Capability]:
    chosen, limit = settings.capabilities.tools, settings.memory.images_per_search
    made: list[Capability] = []
    if chosen.text_search is not None:
        seconds = _seconds(settings, "text_search")
        made.append(
            TextSearchCapability(backend=backends.text_search(), images_per_search=limit, timeout_seconds=seconds)
        )
    if chosen.image_search is not None:
        seconds = _seconds(settings, "image_search")
        made.append(
            ImageSearchCapability(backend=backends.image_search(), images_per_search=limit, timeout_seconds=seconds)
        )
    if chosen.web_visit is not None:
        made.append(WebVisitCapability(backend=backends.pages(), timeout_seconds=_seconds(settings, "web_visit")))
    return made


def _coding(settings: Settings, backends: Backends) -> CodingCapability:
    local = settings.services.tools.python_executor_local or LocalExecutorSettings()
    return CodingCapability(
        generator=backends.generator(),
        executor=backends.executor(),
        generation_timeout_seconds=find_router_seconds(settings) or generation_seconds(settings),
        deadline_seconds=local.timeout_seconds,
    )


def _seconds(settings: Settings, capability: str) -> float:
    """The deadline that the selected backend's entry sets, or how long the router may take."""
    if (through_router := find_router_seconds(settings)) is not None:
        return through_router
    entry = getattr(settings.services.tools, selected_name(settings, capability) or "", None)
    return float(getattr(entry, "timeout_seconds", DEFAULT_SECONDS))


def turn_policy(settings: Settings, profile: ModelProfile, prompts: PromptBundle) -> TurnPolicy:
    """The rules of a question."""
    memory, agent = settings.memory, settings.agent
    policy = TurnPolicy(
        prompts=prompts,
        max_iterations=agent.max_iterations,
        max_context_length=agent.max_context_length,
        reserved_output_tokens=settings.orchestrator.max_tokens,
        emit_policy=memory.emit_policy,
        webpage_env_update_limit=memory.webpage_env_update_limit,
        modules=tuple(module.name for module in memory.modules),
        tool_choice=agent.tool_choice,
        paired_sampling_seed=agent.paired_sampling_seed,
        sample_index=settings.variables.sample_index,
        deadline_seconds=agent.deadline_seconds,
    )
    return policy.with_profile(profile)
