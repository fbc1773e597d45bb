"""The tools that a configuration selects, and the rules of a question."""

from __future__ import annotations

from collections.abc import Callable

import attrs
from dependency_injector import providers

from openvlharness_app.building.executors import executor_entry
from openvlharness_app.building.models import generation_seconds
from openvlharness_app.building.plugins import selected_name
from openvlharness_app.building.remote import find_router_seconds
from openvlharness_app.faults import ConfigurationError, Fault
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
    """How to get each backend; one that no tool needs is never made."""

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
    """The selected capabilities, and those whose backend a program put into the container: it would not be there for nothing.

    Raises:
        ConfigurationError: a part of the coding tool was put in, but the tool is not selected and its other part is missing.
    """
    chosen = settings.capabilities.tools
    made: list[Capability] = []
    if chosen.zoom is not None or is_put_in(backends.zoom):
        made.append(ZoomCapability(backend=backends.zoom()))
    if chosen.ocr is not None or is_put_in(backends.ocr):
        made.append(OcrCapability(backend=backends.ocr(), timeout_seconds=_seconds(settings, "ocr")))
    if chosen.grounding is not None or is_put_in(backends.grounding):
        grounding = GroundingCapability(
            backend=backends.grounding(),
            renderer=backends.renderer(),
            boxes=profile.boxes,
            timeout_seconds=_seconds(settings, "grounding"),
        )
        made.append(grounding)
    if chosen.depth is not None or is_put_in(backends.depth):
        seconds = _seconds(settings, "depth")
        made.append(DepthCapability(backend=backends.depth(), renderer=backends.renderer(), timeout_seconds=seconds))
    if chosen.camera_pose is not None or is_put_in(backends.camera):
        seconds = _seconds(settings, "camera_pose")
        made.append(
            CameraPoseCapability(backend=backends.camera(), renderer=backends.renderer(), timeout_seconds=seconds)
        )
    made += _seeking(settings, backends)
    if chosen.coding is not None or _is_coding_put_in(backends):
        made.append(_coding(settings, backends))
    return Toolset(made)


def is_put_in(backend: Callable[[], object]) -> bool:
    """Whether a program swapped this backend in the container."""
    return isinstance(backend, providers.Provider) and bool(backend.overridden)


def _is_coding_put_in(backends: Backends) -> bool:
    """Whether both parts were put in. One alone is refused: the other would run or write programs that nobody chose."""
    put_in = [is_put_in(backends.generator), is_put_in(backends.executor)]
    if any(put_in) and not all(put_in):
        name, other = ("code_generator", "code_executor") if put_in[0] else ("code_executor", "code_generator")
        expected = f"the coding tool, since {name} was overridden (or {other} overridden as well)"
        raise ConfigurationError([Fault(key="capabilities.tools.coding", expected=expected, got="no such key")])
    return all(put_in)


def _seeking(settings: Settings, backends: Backends) -> list[Capability]:
    chosen, limit = settings.capabilities.tools, settings.memory.images_per_search
    made: list[Capability] = []
    if chosen.text_search is not None or is_put_in(backends.text_search):
        seconds = _seconds(settings, "text_search")
        made.append(
            TextSearchCapability(backend=backends.text_search(), images_per_search=limit, timeout_seconds=seconds)
        )
    if chosen.image_search is not None or is_put_in(backends.image_search):
        seconds = _seconds(settings, "image_search")
        made.append(
            ImageSearchCapability(backend=backends.image_search(), images_per_search=limit, timeout_seconds=seconds)
        )
    if chosen.web_visit is not None or is_put_in(backends.pages):
        made.append(WebVisitCapability(backend=backends.pages(), timeout_seconds=_seconds(settings, "web_visit")))
    return made


def _coding(settings: Settings, backends: Backends) -> CodingCapability:
    return CodingCapability(
        generator=backends.generator(),
        executor=backends.executor(),
        generation_timeout_seconds=find_router_seconds(settings) or generation_seconds(settings),
        deadline_seconds=executor_entry(settings).timeout_seconds,
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
