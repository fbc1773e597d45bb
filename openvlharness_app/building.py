"""Making one adapter each from finished settings; the container says when."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs

from openvlharness_app.backends import PACKAGED_BACKENDS, load_plugin_registry
from openvlharness_app.faults import ConfigurationError, Fault
from openvlharness_app.lifetime import Lifetime
from openvlharness_app.service_settings import ModelSettings
from openvlharness_app.settings import Settings
from openvlharness_core import (
    Capability,
    ChatModel,
    Clock,
    CodeExecutor,
    CodeGenerator,
    ImageFetcher,
    ModelName,
    ModelProfile,
    OcrBackend,
    Offload,
    PromptBundle,
    Toolset,
    Tracer,
    TurnPolicy,
    ZoomBackend,
)

if TYPE_CHECKING:
    from openvlharness_adapters.http.retry import Wait
    from openvlharness_adapters.imaging.codec import PillowCodec
    from openvlharness_adapters.runtime import ThreadOffload

T = TypeVar("T")
HttpClient = Any
"""An open client of the adapters; the application hands it on and closes it."""

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


def service_client(lifetime: Lifetime) -> HttpClient:
    """The client for configured services; proxies are those of the environment."""
    from openvlharness_adapters.http.connections import open_client
    from openvlharness_adapters.http.proxies import ProxySettings

    client = open_client(proxies=ProxySettings.from_variables(os.environ))
    lifetime.on_close(client.aclose)
    return client


def offload_threads(lifetime: Lifetime) -> ThreadOffload:
    """Worker threads for decoding, encoding and reading."""
    from openvlharness_adapters.runtime import ThreadOffload

    offload = ThreadOffload()
    lifetime.on_close(offload.close)
    return offload


def system_clock() -> Clock:
    """The machine's clock."""
    from openvlharness_adapters.runtime import SystemClock

    return SystemClock()


def pillow_codec(settings: Settings) -> PillowCodec:
    """Pictures through Pillow."""
    from openvlharness_adapters.imaging.codec import PillowCodec

    return PillowCodec(max_pixels=settings.images.max_pixels)


def image_fetcher(settings: Settings, offload: Offload, clock: Clock, lifetime: Lifetime) -> ImageFetcher:
    """Files of this machine, and addresses that the security settings allow."""
    from openvlharness_adapters.files.fetcher import ImageSourceFetcher
    from openvlharness_adapters.http.addresses import AddressGuard, open_guarded_client

    guard = AddressGuard(
        allow_private_addresses=settings.security.allow_private_addresses, fetch_hosts=settings.security.fetch_hosts
    )
    client = open_guarded_client(guard)
    lifetime.on_close(client.aclose)
    return ImageSourceFetcher(client=client, offload=offload, clock=clock)


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


def zoom_backend(settings: Settings, codec: PillowCodec, offload: Offload) -> ZoomBackend:
    """Cropping in this process."""
    from openvlharness_adapters.imaging.zoom import InProcessZoom

    return _plugin(settings, "zoom") or InProcessZoom(codec=codec, offload=offload)


def ocr_backend(settings: Settings, codec: PillowCodec, offload: Offload) -> OcrBackend:
    """The selected reader."""
    from openvlharness_adapters.backends.embedded.ocr import EmbeddedOcr

    return _plugin(settings, "ocr") or EmbeddedOcr(pixels=codec.pixels, offload=offload)


def code_generator(
    settings: Settings,
    profile: ModelProfile,
    prompts: PromptBundle,
    client: Callable[[], HttpClient],
    clock: Clock,
    tracer: Tracer | None,
) -> CodeGenerator:
    """Who writes programs: the orchestrator's model with a prompt of its own, or the planner's templates."""
    plugin: CodeGenerator | None = _plugin(settings, "coding", role="generator")
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


def code_executor(settings: Settings) -> CodeExecutor:
    """A disposable process of this machine."""
    from openvlharness_adapters.executor.local import LocalExecutor
    from openvlharness_app.backend_settings import LocalExecutorSettings

    entry = settings.services.tools.python_executor_local or LocalExecutorSettings()
    return LocalExecutor(
        timeout_seconds=entry.timeout_seconds,
        memory_bytes=entry.memory_bytes,
        file_bytes=entry.file_bytes,
        processes=entry.processes,
    )


def _plugin(settings: Settings, capability: str, role: str = "backend") -> T | None:
    """The plug-in that the configuration selects for a capability, if it selects one."""
    choice = getattr(settings.capabilities.tools, capability)
    name = getattr(choice, role) if choice is not None else None
    if name is None or name in PACKAGED_BACKENDS:
        return None
    for registry in settings.capabilities.registries:
        backend = {} if registry in _packaged_registries() else load_plugin_registry(registry)
        if name in backend:
            return cast(T, backend[name].build(settings.services.tools.plugins.get(name, {})))
    fault = Fault(key=f"capabilities.tools.{capability}.{role}", expected="an installed backend", got=name)
    raise ConfigurationError([fault])


def _packaged_registries() -> tuple[str, ...]:
    from openvlharness_app.backends import PACKAGED_REGISTRIES

    return PACKAGED_REGISTRIES


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
                generation_timeout_seconds=_generation_seconds(settings),
                deadline_seconds=local.timeout_seconds if local is not None else 30.0,
            )
        )
    return Toolset(capabilities)


def _generation_seconds(settings: Settings) -> float:
    choice = settings.services.tools.python_coding_agent
    return settings.orchestrator.timeout if choice and choice.generation == "inherit" else FIXED_GENERATION_SECONDS


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


def model_name(settings: Settings, profile: ModelProfile) -> ModelName:
    """What reports call the orchestrator."""
    alias = settings.orchestrator.alias
    return ModelName(alias=alias, model_id=profile.model_id or alias, protocol=profile.adapter)
