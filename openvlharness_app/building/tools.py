"""The tools that a configuration selects, and the rules of a question."""

from __future__ import annotations

from collections.abc import Callable

from openvlharness_app.building.models import generation_seconds
from openvlharness_app.settings import Settings
from openvlharness_core import (
    Capability,
    CodeExecutor,
    CodeGenerator,
    ModelProfile,
    OcrBackend,
    PromptBundle,
    Toolset,
    TurnPolicy,
    ZoomBackend,
)


def toolset(
    settings: Settings,
    zoom: Callable[[], ZoomBackend],
    ocr: Callable[[], OcrBackend],
    generator: Callable[[], CodeGenerator],
    executor: Callable[[], CodeExecutor],
) -> Toolset:
    """The selected capabilities; a backend that none of them needs is never made."""
    from openvlharness_core.capabilities.coding import CodingCapability
    from openvlharness_core.capabilities.ocr import OcrCapability
    from openvlharness_core.capabilities.zoom import ZoomCapability

    selected, entries = settings.capabilities.tools, settings.services.tools
    capabilities: list[Capability] = []
    if selected.zoom is not None:
        capabilities.append(ZoomCapability(backend=zoom()))
    if selected.ocr is not None:
        seconds = entries.embedded_ocr.timeout_seconds if entries.embedded_ocr is not None else 300.0
        capabilities.append(OcrCapability(backend=ocr(), timeout_seconds=seconds))
    if selected.coding is not None:
        local = entries.python_executor_local
        capabilities.append(
            CodingCapability(
                generator=generator(),
                executor=executor(),
                generation_timeout_seconds=generation_seconds(settings),
                deadline_seconds=local.timeout_seconds if local is not None else 30.0,
            )
        )
    return Toolset(capabilities)


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
