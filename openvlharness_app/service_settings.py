"""Settings of what is reached over a wire: the `services` of a configuration, but for single backends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from openvlharness_app.backend_settings import ToolSettings
from openvlharness_app.kinds import (
    Flag,
    HttpUrl,
    Key,
    Name,
    NonNegativeInt,
    Omittable,
    Penalty,
    Port,
    PositiveInt,
    PositiveNumber,
    PrintableName,
    Probability,
    RedisUrl,
    Seconds,
    SecondsOrZero,
    Temperature,
)
from openvlharness_app.secret import Secret

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


@attrs.frozen(kw_only=True)
class ClientSettings:
    """How the agent reaches the tool router.

    Attributes:
        base_url: router base without an endpoint suffix; left out, backends run in this process.
        timeout_seconds: deadline of one request.
        retry: additional attempts after transient failures.
        auth_token: bearer token that the router asks for.
    """

    base_url: Omittable[HttpUrl] = None
    timeout_seconds: Seconds = 600.0
    retry: NonNegativeInt = 8
    auth_token: Key = Secret()


@attrs.frozen(kw_only=True)
class LimitSettings:
    """Calls at a time, by capacity group: `depth` serves depth and camera pose, `search` text and image search."""

    depth: PositiveInt = 1
    sam3: PositiveInt = 1
    dino: PositiveInt = 2
    ocr: PositiveInt = 10
    webpage: PositiveInt = 8
    search: PositiveInt = 4
    coding: PositiveInt = 10


@attrs.frozen(kw_only=True)
class ServerSettings:
    """The tool router's own side.

    Attributes:
        host: address to listen on.
        port: port to listen on.
        registration: `configured_only`: the router loads the selected backends and no other.
        limits: calls at a time, by capacity group.
        max_body_bytes: largest request body.
        drain_seconds: how long calls may go on after a stop was asked for.
        max_queue: waiting calls per capacity group.
        gate: Redis that shares the limits between routers; left out, they hold for this process.
        lease_seconds: after how long a seat of a silent router is free again.
        answer_cache_bytes: memory for answers kept for repeated calls.
        auth_token: bearer token that callers must send.
    """

    host: Name = "127.0.0.1"
    port: Port = 8101
    registration: Literal["configured_only"] = "configured_only"
    limits: LimitSettings = LimitSettings()
    max_body_bytes: PositiveInt = 64 * 1024**2
    drain_seconds: SecondsOrZero = 30.0
    max_queue: NonNegativeInt = 256
    gate: Omittable[RedisUrl] = None
    lease_seconds: Seconds = 10.0
    answer_cache_bytes: NonNegativeInt = 256 * 1024**2
    auth_token: Key = Secret()


@attrs.frozen(kw_only=True)
class ModelSettings:
    """One model service. The profile named by `alias` says which of the options it takes.

    Attributes:
        alias: name of a registered profile.
        model_id: what the service calls the model; left out, what the profile says.
        base: service root, `/v1` base, or the full endpoint of the profile's protocol.
        key: bearer key; blank or `empty` sends none.
        timeout: limit of one attempt, in seconds.
        retry: additional attempts after transient failures; left out, 8, and 2 for search and page visits.
        stream: let the reply arrive in pieces.
        service_tier: the provider's service tier.
        max_tokens: output tokens per request, also reserved from `agent.max_context_length`.
        temperature: sampling temperature.
        top_p: nucleus sampling.
        top_k: sampling among the k likeliest tokens.
        repetition_penalty: 1 is neutral.
        presence_penalty: 0 is neutral.
        reasoning_effort: how long the model thinks.
        return_token_ids: ask for token ids, for the raw trace.
    """

    alias: Name
    model_id: Omittable[PrintableName] = None
    base: Omittable[HttpUrl] = None
    key: Key = Secret()
    timeout: Seconds = 600.0
    retry: Omittable[NonNegativeInt] = None
    stream: Flag = False
    service_tier: Omittable[Name] = None
    max_tokens: PositiveInt = 4096
    temperature: Omittable[Temperature] = None
    top_p: Omittable[Probability] = None
    top_k: Omittable[PositiveInt] = None
    repetition_penalty: Omittable[PositiveNumber] = None
    presence_penalty: Omittable[Penalty] = None
    reasoning_effort: Omittable[ReasoningEffort] = None
    return_token_ids: Flag = False

    @property
    def orchestrator_retry(self) -> int:
        """Additional attempts of the orchestrator and of code generation."""
        return 8 if self.retry is None else self.retry

    @property
    def auxiliary_retry(self) -> int:
        """Additional attempts of search and page visits."""
        return 2 if self.retry is None else self.retry


@attrs.frozen(kw_only=True)
class ServiceSettings:
    """Everything that is reached over a wire or runs apart.

    Attributes:
        client: how the agent reaches the tool router.
        server: the router's own side.
        tools: one entry for each selected backend.
        models: model services by name.
    """

    models: Mapping[Name, ModelSettings] = attrs.field(hash=False)
    client: ClientSettings = ClientSettings()
    server: ServerSettings = ServerSettings()
    tools: ToolSettings = ToolSettings()
