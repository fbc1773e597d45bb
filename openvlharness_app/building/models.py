"""The orchestrator, and who writes programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from openvlharness_app.building.plugins import find_plugin
from openvlharness_app.building.services import HttpClient
from openvlharness_app.service_settings import ModelSettings
from openvlharness_app.settings import Settings
from openvlharness_core import ChatModel, Clock, CodeGenerator, ModelName, ModelProfile, PromptBundle, Tracer

if TYPE_CHECKING:
    from openvlharness_adapters.http.retry import Wait

FIXED_GENERATION_TOKENS = 4096
FIXED_GENERATION_SECONDS = 600.0
_GENERATION_OPTIONS = (
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "repetition_penalty",
    "presence_penalty",
    "reasoning_effort",
    "service_tier",
)


def profile_of(settings: Settings) -> ModelProfile:
    """The orchestrator's profile, with the model id that its entry sets."""
    from openvlharness_app.registry import load_profiles

    profile = load_profiles(settings.models.registry_paths)[settings.orchestrator.alias]
    model_id = settings.orchestrator.model_id or profile.model_id
    return attrs.evolve(profile, model_id=model_id)


def prompt_bundle(profile: ModelProfile) -> PromptBundle:
    """The packaged texts with the profile's system prompt."""
    from openvlharness_app.prompts import load_prompt_bundle

    return load_prompt_bundle(profile.prompt_bundle)


def chat_model(
    settings: Settings,
    profile: ModelProfile,
    client: Callable[[], HttpClient],
    clock: Clock,
    tracer: Tracer | None,
) -> ChatModel:
    """The orchestrator."""
    if profile.adapter == "embedded":
        from openvlharness_adapters.models.embedded_planner import EmbeddedPlanner

        return EmbeddedPlanner()
    entry = settings.orchestrator
    options = {name: value for name in _GENERATION_OPTIONS if (value := getattr(entry, name)) is not None}
    return _over_http(entry, profile, options, entry.timeout, client, clock, tracer)


def _over_http(
    entry: ModelSettings,
    profile: ModelProfile,
    options: dict[str, object],
    timeout_seconds: float,
    client: Callable[[], HttpClient],
    clock: Clock,
    tracer: Tracer | None,
) -> ChatModel:
    from openvlharness_adapters.http.endpoints import endpoint_of
    from openvlharness_adapters.models.chat_completions import ENDPOINT, ChatCompletionsModel

    def tell(wait: Wait) -> None:
        if tracer is not None:
            tracer.note("", "retry_wait", str(wait))

    return ChatCompletionsModel(
        client=client(),
        endpoint=endpoint_of(str(entry.base), ENDPOINT),
        profile=profile,
        key=entry.key.reveal(),
        options=options,
        timeout_seconds=timeout_seconds,
        retry=entry.orchestrator_retry,
        clock=clock,
        on_wait=tell,
        stream=entry.stream,
    )


def code_generator(
    settings: Settings,
    profile: ModelProfile,
    prompts: PromptBundle,
    client: Callable[[], HttpClient],
    clock: Clock,
    tracer: Tracer | None,
) -> CodeGenerator:
    """Who writes programs: the orchestrator's model with a prompt of its own, or the planner's templates."""
    plugin: CodeGenerator | None = find_plugin(settings, "coding", role="generator")
    if plugin is not None:
        return plugin
    if profile.adapter == "embedded":
        from openvlharness_adapters.models.embedded_code import TemplateCodeGenerator

        return TemplateCodeGenerator()
    from openvlharness_adapters.models.code_generator import SingleShotGenerator

    entry, choice = settings.orchestrator, settings.services.tools.python_coding_agent
    if choice is not None and choice.generation == "inherit":
        model = chat_model(settings, profile, client, clock, tracer)
    else:
        options: dict[str, object] = {"max_tokens": FIXED_GENERATION_TOKENS}
        if entry.reasoning_effort is not None:  # a model that thinks; others refuse the option
            options["reasoning_effort"] = "medium"
        model = _over_http(entry, profile, options, FIXED_GENERATION_SECONDS, client, clock, tracer)
    return SingleShotGenerator(model=model, prompts=prompts, model_name=profile.model_id)


def generation_seconds(settings: Settings) -> float:
    """How long writing one program may take."""
    choice = settings.services.tools.python_coding_agent
    return settings.orchestrator.timeout if choice and choice.generation == "inherit" else FIXED_GENERATION_SECONDS


def model_name(settings: Settings, profile: ModelProfile) -> ModelName:
    """What reports call the orchestrator."""
    alias = settings.orchestrator.alias
    return ModelName(alias=alias, model_id=profile.model_id or alias, protocol=profile.adapter)
