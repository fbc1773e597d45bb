"""The configuration of an agent as frozen values; `loading` makes them of YAML and names what is wrong there.

Attributes are spelled like the keys of the file. Seconds, bytes and pixels are said in the name or in the docstring.
"""

from __future__ import annotations

from typing import Literal

import attrs

from openvlharness_app.backend_settings import NOT_IN_FILE
from openvlharness_app.kinds import (
    FilePath,
    Flag,
    HostPort,
    Name,
    NonNegativeInt,
    Omittable,
    PositiveInt,
    Seconds,
    String,
    VersionName,
)
from openvlharness_app.service_settings import ModelSettings, ServiceSettings

Ablation = Literal["baseline", "tool", "capability_layer", "textual_memory", "full"]


@attrs.frozen(kw_only=True)
class AgentSettings:
    """The turns of one question.

    Attributes:
        model_service: entry of `services.models` that is the orchestrator.
        max_iterations: requests per question; the last one asks for a final answer.
        max_context_length: tokens, reserved output included; null leaves the limit to the provider.
        tool_choice: sent as the provider's `tool_choice` on regular requests, unchecked.
        paired_sampling_seed: requests of a question with a task id carry a seed made of that id and the iteration.
        deadline_seconds: limit of a whole question; null means none.
    """

    model_service: Name
    max_iterations: PositiveInt = 15
    max_context_length: PositiveInt | None = None
    tool_choice: String = "auto"
    paired_sampling_seed: Flag = False
    deadline_seconds: Seconds | None = None


@attrs.frozen(kw_only=True)
class PlainModule:
    """A memory module without options.

    Attributes:
        name: `image` keeps pictures; `tool_context` keeps typed results as bindings for programs.
    """

    name: Literal["image", "tool_context"]


@attrs.frozen(kw_only=True)
class UrlModule:
    """The memory of web pages.

    Attributes:
        name: `url`.
        webpage_env_update_limit: newest pages that an Environment Update lists; null lists all.
    """

    name: Literal["url"]
    webpage_env_update_limit: PositiveInt | None = 20


MemoryModule = PlainModule | UrlModule


@attrs.frozen(kw_only=True)
class MemorySettings:
    """What is kept during one question.

    Attributes:
        modules: enabled modules, each at most once, in the order `image`, `tool_context`, `url`.
        emit_policy: `always`: the inventory after every successful call; `on_change`: only when it changed.
        images_per_search: thumbnails that one search registers at most.
    """

    modules: tuple[MemoryModule, ...]
    emit_policy: Literal["always", "on_change"] = "always"
    images_per_search: NonNegativeInt = 10

    @property
    def module_names(self) -> frozenset[str]:
        return frozenset(module.name for module in self.modules)

    @property
    def webpage_env_update_limit(self) -> int | None:
        """Newest pages that an Environment Update lists; `None` lists all."""
        limits = (module.webpage_env_update_limit for module in self.modules if isinstance(module, UrlModule))
        return next(limits, 20)


@attrs.frozen(kw_only=True)
class BackendChoice:
    """Who does the work of a capability.

    Attributes:
        backend: name of a backend of one of the listed registries.
    """

    backend: Name


@attrs.frozen(kw_only=True)
class CodingChoice:
    """Who writes programs, and who runs them.

    Attributes:
        generator: name of the backend that writes.
        executor: `python_executor_local` or `python_executor_sandboxed`.
    """

    generator: Name
    executor: Name


@attrs.frozen(kw_only=True)
class SelectedTools:
    """The tools that the model is offered; a capability left out is disabled."""

    grounding: Omittable[BackendChoice] = None
    ocr: Omittable[BackendChoice] = None
    depth: Omittable[BackendChoice] = None
    camera_pose: Omittable[BackendChoice] = None
    zoom: Omittable[BackendChoice] = None
    text_search: Omittable[BackendChoice] = None
    image_search: Omittable[BackendChoice] = None
    web_visit: Omittable[BackendChoice] = None
    coding: Omittable[CodingChoice] = None


@attrs.frozen(kw_only=True)
class CapabilitySettings:
    """Which tools there are, and whose backends may serve them.

    Attributes:
        registries: `paper`, and any of `extensions`, `alternates`, `embedded` and installed plug-ins.
        tools: the selected capabilities.
        bank: file or folder of built tools; a relative path counts from the configuration's folder.
    """

    registries: tuple[Name, ...]
    tools: SelectedTools
    bank: Omittable[FilePath] = None


@attrs.frozen(kw_only=True)
class RegistrySettings:
    """Profiles beside the packaged ones.

    Attributes:
        registry_paths: YAML files of profiles; a later one wins, and relative paths count from the configuration's folder.
    """

    registry_paths: tuple[FilePath, ...] = ()


@attrs.frozen(kw_only=True)
class ImageSettings:
    """What pictures are taken in.

    Attributes:
        max_pixels: pixels of one picture at most, checked before it is decoded.
    """

    max_pixels: PositiveInt = 89_478_485


@attrs.frozen(kw_only=True)
class SecuritySettings:
    """Which addresses may be fetched when a model, a page or a data set chose them.

    Attributes:
        allow_private_addresses: also those that are not public.
        fetch_hosts: these also, each as `host:port`.
    """

    allow_private_addresses: Flag = False
    fetch_hosts: tuple[HostPort, ...] = ()


@attrs.frozen(kw_only=True)
class ProcessVariables:
    """What the environment says beside the placeholders of the file.

    Attributes:
        sample_index: `HARNESS_SEARCH_SAMPLE_INDEX`, added (times 1,000,003) to paired sampling seeds.
        ocr_model_id: `OCR_MODEL_ID`, the name under which the OCR server serves its model.
    """

    sample_index: int = 0
    ocr_model_id: str = "PaddlePaddle/PaddleOCR-VL-1.5"


@attrs.frozen(kw_only=True)
class Settings:
    """The whole configuration of one agent.

    Attributes:
        agent_name: `MainAgent`.
        agent_config_version: prefix of run ids.
        agent: the turns of one question.
        memory: what is kept during one question.
        capabilities: which tools there are.
        services: models, router and backends.
        models: profiles beside the packaged ones.
        images: what pictures are taken in.
        security: which addresses may be fetched.
        ablation: how much of the memory works; `full` is all of it.
        variables: what the environment said when the file was loaded.
    """

    agent_name: Literal["MainAgent"]
    agent_config_version: Omittable[VersionName] = None
    agent: AgentSettings
    memory: MemorySettings
    capabilities: CapabilitySettings
    services: ServiceSettings
    models: RegistrySettings = RegistrySettings()
    images: ImageSettings = ImageSettings()
    security: SecuritySettings = SecuritySettings()
    ablation: Ablation = "full"
    variables: ProcessVariables = attrs.field(default=ProcessVariables(), metadata={NOT_IN_FILE: True})

    @property
    def orchestrator(self) -> ModelSettings:
        """The model service that answers."""
        return self.services.models[self.agent.model_service]
