"""The orchestrator, who counts its tokens, and who writes programs."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from openvlharness_app.building.plugins import find_plugin
from openvlharness_app.building.services import HttpClient
from openvlharness_app.service_settings import ModelSettings
from openvlharness_app.settings import Settings
from openvlharness_core import (
    ChatModel,
    Clock,
    CodeGenerator,
    ModelName,
    ModelProfile,
    PromptBundle,
    TokenCounter,
    Tracer,
)
from openvlharness_core.errors import TokenizerUnavailableError
from openvlharness_core.jsonable import json_ready

if TYPE_CHECKING:
    from openvlharness_adapters.http.retry import Wait
    from openvlharness_adapters.models.chat_completions import ChatCompletionsModel
    from openvlharness_adapters.models.responses import ResponsesModel

_log = logging.getLogger(__name__)

FIXED_GENERATION_TOKENS = 4096
FIXED_GENERATION_EFFORT = "medium"
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
_ANY_EFFORT = ModelProfile(alias="generic-chat").reasoning_efforts


def profile_of(settings: Settings, service: str | None = None) -> ModelProfile:
    """The profile of a model service, the orchestrator's by default, with the model id that its entry sets."""
    from openvlharness_app.registry import load_profiles

    entry = settings.services.models[service or settings.agent.model_service]
    profile = load_profiles(settings.models.registry_paths)[entry.alias]
    return attrs.evolve(profile, model_id=entry.model_id or profile.model_id)


def prompt_bundle(settings: Settings, profile: ModelProfile) -> PromptBundle:
    """The packaged texts with the profile's system prompt, for the tools that are selected."""
    from openvlharness_app.prompts import load_prompt_bundle

    tools = settings.capabilities.tools
    selected = frozenset(field.name for field in attrs.fields(type(tools)) if getattr(tools, field.name) is not None)
    return load_prompt_bundle(profile.prompt_bundle, selected)


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
    options = _options(entry) | ({"return_token_ids": True} if entry.return_token_ids else {})
    return _over_http(entry, profile, options, entry.timeout, client, clock, tracer, keep_native=entry.return_token_ids)


def _options(entry: ModelSettings) -> dict[str, object]:
    """The generation options that an entry sets."""
    return {name: value for name in _GENERATION_OPTIONS if (value := getattr(entry, name)) is not None}


def _over_http(
    entry: ModelSettings,
    profile: ModelProfile,
    options: dict[str, object],
    timeout_seconds: float,
    client: Callable[[], HttpClient],
    clock: Clock,
    tracer: Tracer | None,
    *,
    keep_native: bool = False,
) -> ChatModel:
    from openvlharness_adapters.http.endpoints import endpoint_of

    def tell(wait: Wait) -> None:
        if tracer is not None:
            tracer.note("", "retry_wait", str(wait))

    make, suffix = protocol_of(profile)
    return make(
        client=client(),
        endpoint=endpoint_of(str(entry.base), suffix),
        profile=profile,
        key=entry.key.reveal(),
        options=options,
        timeout_seconds=timeout_seconds,
        retry=entry.orchestrator_retry,
        clock=clock,
        on_wait=tell,
        stream=entry.stream,
        keep_native=keep_native,
    )


def protocol_of(profile: ModelProfile) -> tuple[type[ChatCompletionsModel | ResponsesModel], str]:
    """Who speaks the profile's protocol, and what that protocol adds to a base."""
    if profile.adapter == "responses":
        from openvlharness_adapters.models import responses

        return responses.ResponsesModel, responses.ENDPOINT
    from openvlharness_adapters.models import chat_completions

    return chat_completions.ChatCompletionsModel, chat_completions.ENDPOINT


@attrs.frozen
class TokenCounting:
    """Who counts, if anybody does; looking for a tokenizer that is not there is done, and told, once."""

    counter: TokenCounter | None


def token_counting(settings: Settings, profile: ModelProfile, tracer: Tracer | None) -> TokenCounting:
    """See `token_counter`."""
    return TokenCounting(token_counter(settings, profile, tracer))


def token_counter(settings: Settings, profile: ModelProfile, tracer: Tracer | None) -> TokenCounter | None:
    """Who counts the orchestrator's requests; `None` where the provider enforces its limit.

    A tokenizer that cannot be loaded is told to the tracer, or else to the log, and the provider enforces.
    """
    if profile.context_policy != "local_tokens" or settings.agent.max_context_length is None:
        return None
    from openvlharness_adapters.tokens import open_counter

    try:
        return open_counter(profile)
    except TokenizerUnavailableError as error:
        text = f"{error}; tokens are not counted here, the provider enforces its limit"
        if tracer is not None:
            tracer.note("", "tokenizer", text)
        else:
            _log.warning(text)
        return None


def code_generator(
    settings: Settings,
    prompts: PromptBundle,
    client: Callable[[], HttpClient],
    clock: Clock,
    tracer: Tracer | None,
) -> CodeGenerator:
    """Who writes programs: the orchestrator's model with a prompt of its own, or the planner's templates."""
    plugin: CodeGenerator | None = find_plugin(settings, "coding", role="generator")
    if plugin is not None:
        return plugin
    profile = profile_of(settings, coding_service(settings))
    if profile.adapter == "embedded":
        from openvlharness_adapters.models.embedded_code import TemplateCodeGenerator

        return TemplateCodeGenerator()
    from openvlharness_adapters.models.code_generator import SingleShotGenerator

    entry = settings.services.models[coding_service(settings)]
    options = _options(entry) if _inherits(settings) else _fixed_options(entry, profile)
    model = _over_http(entry, profile, options, generation_seconds(settings), client, clock, tracer)
    return SingleShotGenerator(model=model, prompts=prompts, model_name=profile.model_id)


def coding_service(settings: Settings) -> str:
    """The model service that writes programs."""
    choice = settings.services.tools.python_coding_agent
    return (choice.model_service if choice is not None else None) or settings.agent.model_service


def _inherits(settings: Settings) -> bool:
    choice = settings.services.tools.python_coding_agent
    return choice is not None and choice.generation == "inherit"


def _fixed_options(entry: ModelSettings, profile: ModelProfile) -> dict[str, object]:
    options: dict[str, object] = {"max_tokens": FIXED_GENERATION_TOKENS}
    # Levels of its own tell of a model that thinks. The profiles for any model list every level, for models that may
    # refuse the option; there the entry says whether this one thinks.
    thinks = entry.reasoning_effort is not None or profile.reasoning_efforts != _ANY_EFFORT
    if (
        thinks
        and "reasoning_effort" in profile.allowed_options
        and FIXED_GENERATION_EFFORT in profile.reasoning_efforts
    ):
        options["reasoning_effort"] = FIXED_GENERATION_EFFORT
    return options


def generation_seconds(settings: Settings) -> float:
    """How long writing one program may take."""
    entry = settings.services.models[coding_service(settings)]
    return entry.timeout if _inherits(settings) else FIXED_GENERATION_SECONDS


def model_name(settings: Settings, profile: ModelProfile, prompts: PromptBundle) -> ModelName:
    """What reports call the orchestrator, and the rules under which they say it was asked."""
    alias = settings.orchestrator.alias
    return ModelName(
        alias=alias,
        model_id=profile.model_id or alias,
        protocol=profile.adapter,
        profile=profile_record(profile, prompts),
    )


def profile_record(profile: ModelProfile, prompts: PromptBundle) -> dict[str, object]:
    """A profile as plain JSON values, and under `prompts` SHA-256 in hex of what its model reads.

    Those are of the system prompt, of the prefix of the question and, under `all_texts`, of all texts together.
    """
    hashes = {key: hashlib.sha256(prompts.text(key).encode("utf-8")).hexdigest() for key in ("system", "user_prefix")}
    fields = attrs.asdict(profile) | {"prompts": {**hashes, "all_texts": prompts.digest}}
    record: dict[str, object] = json_ready(fields, f"profile {profile.alias}")
    return record
