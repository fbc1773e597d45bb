"""The container: one provider a port, named like it in snake case, every one of which may be overridden.

``container.ocr_backend.override(providers.Object(FakeOcr(...)))`` or simply ``container.ocr_backend.override(fake)``
swaps one adapter; everything else stays as configured. Overriding the backend of a tool that `capabilities.tools` leaves out
selects the tool, with its default deadline; the coding tool is selected only if both of its parts are overridden, and one part
alone raises a ConfigurationError. Override before the agent is made. The container gets finished, frozen settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from dependency_injector import containers, providers

from openvlharness_app.availability import unavailable
from openvlharness_app.building import auxiliary, backends, executors, models, remote, searching, services, tools
from openvlharness_app.faults import ConfigurationError
from openvlharness_app.lifetime import Lifetime
from openvlharness_app.loading import load_agent_config
from openvlharness_app.settings import Settings
from openvlharness_core import MainAgent


class AgentContainer(containers.DeclarativeContainer):
    """Everything that one agent is made of; each provider makes one object and keeps it."""

    settings = providers.Dependency(instance_of=Settings)
    lifetime = providers.Singleton(Lifetime)
    profile = providers.Singleton(models.profile_of, settings)
    prompts = providers.Singleton(models.prompt_bundle, settings, profile)
    service_client = providers.Singleton(services.service_client, lifetime)

    clock = providers.Singleton(services.system_clock)
    offload = providers.Singleton(services.offload_threads, lifetime)
    tracer: providers.Provider[object] = providers.Object(None)
    token_counting = providers.Singleton(models.token_counting, settings, profile, tracer)
    token_counter = token_counting.provided.counter
    image_codec = providers.Singleton(services.pillow_codec, settings)
    image_fetcher = providers.Singleton(services.image_fetcher, settings, offload, clock, lifetime)
    report_store = providers.Singleton(services.report_store, offload)

    chat_model = providers.Singleton(models.chat_model, settings, profile, service_client.provider, clock, tracer)
    remotes = providers.Singleton(
        remote.Remotes,
        settings=settings,
        client=service_client.provider,
        clock=clock,
        tracer=tracer,
        lifetime=lifetime,
    )
    zoom_backend = providers.Singleton(backends.zoom_backend, settings, image_codec, offload)
    ocr_backend = providers.Singleton(backends.ocr_backend, settings, remotes, image_codec, offload)
    local_code_generator = providers.Singleton(
        models.code_generator, settings, prompts, service_client.provider, clock, tracer
    )
    code_generator = providers.Singleton(remote.code_generator, remotes, local_code_generator.provider)
    code_executor = providers.Singleton(executors.code_executor, settings)
    evidence_renderer = providers.Singleton(services.evidence_renderer, image_codec)
    grounding_backend = providers.Singleton(backends.grounding_backend, settings, remotes, image_codec, offload)
    depth_backend = providers.Singleton(backends.depth_backend, settings, remotes, offload)
    camera_backend = providers.Singleton(backends.camera_backend, settings, remotes, image_codec, offload)
    web = providers.Singleton(
        searching.Searching,
        settings=settings,
        prompts=prompts.provider,
        client=service_client.provider,
        codec=image_codec,
        offload=offload,
        clock=clock,
        tracer=tracer,
        lifetime=lifetime,
    )
    text_search_backend = providers.Singleton(backends.text_search_backend, settings, remotes, offload, web)
    image_search_backend = providers.Singleton(
        backends.image_search_backend, settings, remotes, image_codec, offload, web
    )
    page_backend = providers.Singleton(backends.page_backend, settings, remotes, offload, web)
    toolset = providers.Singleton(
        tools.toolset,
        settings,
        profile,
        providers.Singleton(
            tools.Backends,
            zoom=zoom_backend.provider,
            ocr=ocr_backend.provider,
            grounding=grounding_backend.provider,
            depth=depth_backend.provider,
            camera=camera_backend.provider,
            text_search=text_search_backend.provider,
            image_search=image_search_backend.provider,
            pages=page_backend.provider,
            generator=code_generator.provider,
            executor=code_executor.provider,
            renderer=evidence_renderer.provider,
        ),
    )
    agent = providers.Singleton(
        MainAgent,
        model=chat_model,
        toolset=toolset,
        policy=providers.Singleton(tools.turn_policy, settings, profile, prompts),
        codec=image_codec,
        fetcher=image_fetcher,
        offload=offload,
        clock=clock,
        tracer=tracer,
        token_counter=token_counter,
        report_store=report_store,
        limits=profile.provided.image_limits,
        remote_images=profile.provided.remote_images,
        model_name=providers.Singleton(models.model_name, settings, profile, prompts),
        prices=providers.Singleton(auxiliary.prices_by_role, settings),
    )


def build_container(config: Settings | str | os.PathLike[str] | Mapping[str, object]) -> AgentContainer:
    """A container for finished settings, or for a path or mapping that is loaded first; nothing is opened yet.

    Raises:
        ConfigurationError: every fault of the configuration, or everything it selects that this version does not bring.
    """
    settings = config if isinstance(config, Settings) else load_agent_config(config)
    faults = unavailable(settings)
    if faults:
        raise ConfigurationError(faults)
    return AgentContainer(settings=settings)
