"""The servers: the tool router over the selected backends, and the embedded backends as a raw server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from openvlharness_app.building.plugins import selected_name
from openvlharness_app.faults import ConfigurationError, Fault
from openvlharness_app.service_settings import ClientSettings
from openvlharness_app.settings import BackendChoice, SelectedTools, Settings

if TYPE_CHECKING:
    from openvlharness_adapters.router.calls import ServedTool
    from openvlharness_adapters.router.desk import Desk
    from openvlharness_adapters.router.gates import Gate
    from openvlharness_adapters.router.joining import Elsewhere
    from openvlharness_adapters.router.readiness import Check
    from openvlharness_adapters.router.shapes import Shape
    from openvlharness_app.container import AgentContainer

GROUPS: Mapping[str, str] = {
    "grounding": "sam3",
    "ocr": "ocr",
    "depth": "depth",
    "camera_pose": "depth",
    "text_search": "search",
    "image_search": "search",
    "web_visit": "webpage",
    "coding": "coding",
}
"""Capacity group by capability; zoom has none."""
_OWN_GROUPS = {"grounding_dino": "dino"}
_PROVIDERS: Mapping[str, str] = {
    "grounding": "grounding_backend",
    "ocr": "ocr_backend",
    "depth": "depth_backend",
    "camera_pose": "camera_backend",
    "zoom": "zoom_backend",
    "text_search": "text_search_backend",
    "image_search": "image_search_backend",
    "web_visit": "page_backend",
    "coding": "code_generator",
}
_EXTRA = "it needs the extra: pip install 'openvlharness[embedded]'"
_MODULES = {"embedded_ocr": "rapidocr", "embedded_grounding": "cv2", "embedded_camera": "cv2"}


@attrs.frozen(kw_only=True)
class Server:
    """A server that is ready to run.

    Attributes:
        app: ASGI application.
        drain: lets its calls end.
        container: what it was made of; its lifetime is to be closed at the end.
    """

    app: Any
    drain: Callable[[], Any]
    container: AgentContainer


def router_server(settings: Settings) -> Server:
    """The tool router over the backends that the configuration selects; `services.client` is for the agents.

    Raises:
        ConfigurationError: what is selected and not there.
    """
    from openvlharness_adapters.router.shapes import Enveloped

    container = _serving_container(attrs.evolve(settings, services=_without_router(settings)))
    tools = {tool.name: tool for tool in _served(settings, container)}
    return _server(settings, container, tools, Enveloped(), calls_at="/execute")


def embedded_server(settings: Settings, corpus: str | None) -> Server:
    """Every embedded backend under `/embedded/<capability>`, in this process whatever the configuration says.

    Args:
        settings: its limits, `services.tools.embedded_*` and `images` count.
        corpus: documents for the searches, instead of those of the configuration.
    """
    from openvlharness_adapters.router.shapes import Bare

    embedded = {
        "grounding": "embedded_grounding",
        "ocr": "embedded_ocr",
        "camera_pose": "embedded_camera",
        "text_search": "embedded_text_search",
        "image_search": "embedded_image_search",
        "web_visit": "embedded_webpage_visit",
    }
    choices: dict[str, Any] = {key: BackendChoice(backend=name) for key, name in embedded.items()}
    services = _without_router(settings)
    entries = {}
    for name in embedded.values():
        entry = getattr(services.tools, name)
        if entry is not None:
            changes = {"server_url": None} | ({"corpus": corpus} if corpus and hasattr(entry, "corpus") else {})
            entries[name] = attrs.evolve(entry, **changes)
        elif corpus and name in {"embedded_text_search", "embedded_image_search", "embedded_webpage_visit"}:
            from openvlharness_app.backend_settings import EmbeddedSearchSettings

            entries[name] = EmbeddedSearchSettings(corpus=corpus)
    alone = attrs.evolve(
        settings,
        capabilities=attrs.evolve(settings.capabilities, tools=SelectedTools(**choices)),
        services=attrs.evolve(services, tools=attrs.evolve(services.tools, **entries)),
    )
    container = _serving_container(alone)
    tools = {tool.capability: tool for tool in _served(alone, container)}
    return _server(alone, container, tools, Bare(), calls_at="/embedded/{name}")


def _without_router(settings: Settings) -> Any:
    return attrs.evolve(settings.services, client=ClientSettings(retry=settings.services.client.retry))


def _serving_container(settings: Settings) -> AgentContainer:
    """A container whose threads are noted with the call they work for, and whose zoom has a thread a core."""
    import os

    from openvlharness_adapters.imaging.zoom import InProcessZoom
    from openvlharness_adapters.router.threads import SeatedOffload
    from openvlharness_adapters.runtime import ThreadOffload
    from openvlharness_app.building.services import offload_threads
    from openvlharness_app.container import build_container

    container = build_container(settings)
    container.offload.override(SeatedOffload(offload_threads(container.lifetime())))
    if selected_name(settings, "zoom") == "zoom_in_image_by_bbox":
        cores = ThreadOffload(threads=os.cpu_count() or 1)
        container.lifetime().on_close(cores.close)
        container.zoom_backend.override(InProcessZoom(codec=container.image_codec(), offload=SeatedOffload(cores)))
    return container


def _group_of(name: str, capability: str) -> str | None:
    return _OWN_GROUPS.get(name, GROUPS.get(capability))


def _capacities(settings: Settings) -> dict[str, int]:
    """Seats by group: the limit for each replica.

    Of backends that share a group, the one with the fewest replicas counts: its servers may be given all calls of the group.
    """
    replicas: dict[str, int] = {}
    for capability in GROUPS:
        name = selected_name(settings, capability, "generator" if capability == "coding" else "backend")
        group = None if name is None else _group_of(name, capability)
        if name is not None and group is not None:
            addresses = getattr(getattr(settings.services.tools, name, None), "server_url", None) or ("here",)
            number = len(set(addresses))
            replicas[group] = min(number, replicas.get(group, number))
    limits: dict[str, int] = attrs.asdict(settings.services.server.limits)
    return {group: limit * replicas.get(group, 1) for group, limit in limits.items()}


def _served(settings: Settings, container: AgentContainer) -> Iterator[ServedTool]:
    import os

    from openvlharness_adapters.router.calls import ServedTool
    from openvlharness_app.building.tools import DEFAULT_SECONDS

    capacities = _capacities(settings)
    for capability, provider in _PROVIDERS.items():
        name = selected_name(settings, capability, "generator" if capability == "coding" else "backend")
        if name is None:
            continue
        group = _group_of(name, capability)
        entry = getattr(settings.services.tools, name, None)
        limit = os.cpu_count() or 1 if group is None else capacities[group]
        yield ServedTool(
            name=name,
            capability=capability,
            backend=getattr(container, provider)(),
            group=group,
            limit=limit,
            timeout_seconds=float(getattr(entry, "timeout_seconds", DEFAULT_SECONDS)),
        )


def _server(
    settings: Settings, container: AgentContainer, tools: Mapping[str, ServedTool], shape: Shape, *, calls_at: str
) -> Server:
    from openvlharness_adapters.router.answers import Answers
    from openvlharness_adapters.router.desk import Desk
    from openvlharness_adapters.router.routes import application
    from openvlharness_adapters.router.taking import Taking

    server = settings.services.server
    gate, elsewhere = _gate(settings, container)
    desk = Desk(
        tools=tools,
        gate=gate,
        clock=container.clock(),
        take_in=Taking(codec=container.image_codec(), offload=container.offload()),
        shape=shape,
        answers=Answers(clock=container.clock(), max_bytes=server.answer_cache_bytes),
        elsewhere=elsewhere,
    )
    app = application(
        desk,
        calls_at=calls_at,
        checks={tool.name: _check(settings, container, tool.name) for tool in tools.values()},
        token=server.auth_token.reveal() if server.auth_token else "",
        max_body_bytes=server.max_body_bytes,
    )
    return Server(app=app, drain=_drained(desk, server.drain_seconds), container=container)


def _gate(settings: Settings, container: AgentContainer) -> tuple[Gate, Elsewhere | None]:
    """Who gives the seats, and who knows the calls of other routers: this process alone, or Redis.

    Raises:
        ConfigurationError: the Redis client is missing, or the address has options that it does not know.
    """
    from openvlharness_adapters.router.gates import LocalGate

    server, capacities = settings.services.server, _capacities(settings)
    if server.gate is None:
        return LocalGate(capacities, max_queue=server.max_queue), None
    from openvlharness_adapters.router.redis_calls import RedisCalls
    from openvlharness_adapters.router.redis_gate import RedisGate
    from openvlharness_adapters.router.redis_link import RedisLink

    shown = server.gate.public
    expected = "an address of Redis that this machine can use"
    if find_spec("redis") is None:
        missing = f"{shown}, which needs the extra: pip install 'openvlharness[redis]'"
        raise ConfigurationError([Fault(key="services.server.gate", expected=expected, got=missing)])
    try:
        link = RedisLink(server.gate.reveal(), shown=shown, lease_seconds=server.lease_seconds)
    except ValueError as error:
        raise ConfigurationError([Fault(key="services.server.gate", expected=expected, got=str(error))]) from None
    container.lifetime().on_close(link.close)
    calls = RedisCalls(link, max_bytes=server.answer_cache_bytes)
    return RedisGate(link, capacities, max_queue=server.max_queue), calls


def _drained(desk: Desk, seconds: float) -> Callable[[], Any]:
    return lambda: desk.drain(seconds)


def _check(settings: Settings, container: AgentContainer, name: str) -> Check:
    """Whether one backend can be reached: its server, or what it needs of this machine."""
    from openvlharness_adapters.router.readiness import always_ready, any_server

    entry = getattr(settings.services.tools, name, None)
    addresses = getattr(entry, "server_url", None)
    if addresses:
        return any_server(container.service_client(), addresses, container.clock())
    if name not in _MODULES and getattr(entry, "corpus", None) is None:
        return always_ready

    def reason() -> str | None:
        module, corpus = _MODULES.get(name), getattr(entry, "corpus", None)
        if module is not None and find_spec(module) is None:
            return _EXTRA
        if corpus is not None and not Path(corpus).exists():
            return f"there are no documents at {corpus}"
        return None

    return lambda: container.offload().run(reason)
