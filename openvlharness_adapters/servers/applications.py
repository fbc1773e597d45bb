"""The raw model servers as ASGI applications: which routes each has, and what all share.

Every server has one model and one thread for it. Two calls have a seat: one works, the next is decoded meanwhile; the
others wait in line and take no memory but their bodies. Signals, limits and failures are those of the router, out of
memory besides.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs
from starlette.applications import Starlette
from starlette.routing import Route

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.models.wire_json import json_bytes
from openvlharness_adapters.router.answers import Answer, Answers
from openvlharness_adapters.router.calls import ServedTool
from openvlharness_adapters.router.desk import Desk
from openvlharness_adapters.router.gates import LocalGate
from openvlharness_adapters.router.readiness import Check
from openvlharness_adapters.router.routes import Page, application
from openvlharness_adapters.router.shapes import Bare, Shape
from openvlharness_adapters.router.taking import Taking
from openvlharness_adapters.router.threads import SeatedOffload
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_adapters.servers.chat import CHAT_TOOL, ChatShape, ReadingService, chat_from_wire, reading_to_wire
from openvlharness_adapters.servers.detecting import Detecting
from openvlharness_adapters.servers.host import ModelHost
from openvlharness_adapters.servers.pictures import Preparing
from openvlharness_adapters.servers.scenes import Surveying
from openvlharness_adapters.wire import camera_pose, depth, grounding
from openvlharness_adapters.wire.capabilities import CapabilityWire
from openvlharness_adapters.wire.raw_servers import depth_to_wire, detection_from_wire
from openvlharness_core.pictures import ImageLimits
from openvlharness_core.ports.clock import Clock

_GROUP = "model"
_SEATS = 2
_DETECTION = CapabilityWire(read=detection_from_wire, told=grounding.result_to_wire)
_DEPTH = CapabilityWire(read=depth.args_from_wire, told=depth_to_wire)
_POSES = CapabilityWire(read=camera_pose.args_from_wire, told=camera_pose.result_to_wire)
_CHAT = CapabilityWire(read=chat_from_wire, told=reading_to_wire)


@attrs.frozen(kw_only=True)
class ServerLimits:
    """What one server takes.

    Attributes:
        max_side: longer side of what the model is shown, in pixels; larger pictures are shrunk, and results are in the
            pixels of the picture as it came all the same.
        max_pixels: pictures of more are refused before anything is decoded.
        max_body_bytes: longest request body.
        max_queue: calls that may wait.
        max_images: pictures of one call of `/poses`.
        max_tokens: tokens of one transcription.
        timeout_seconds: deadline of a call, from taking its seat.
        drain_seconds: how long calls go on after a stop was asked for.
    """

    max_side: int = 2048
    max_pixels: int = 200_000_000
    max_body_bytes: int = 64 << 20
    max_queue: int = 256
    max_images: int = 32
    max_tokens: int = 4096
    timeout_seconds: float = 300.0
    drain_seconds: float = 30.0


@attrs.frozen(kw_only=True)
class ModelServer:
    """A server that is ready to run.

    Attributes:
        app: ASGI application.
        drain: lets its calls end.
        close: ends its threads.
    """

    app: Starlette
    drain: Callable[[], Awaitable[None]]
    close: Callable[[], None]


@attrs.define(kw_only=True, eq=False)
class _Parts:
    """What every server is made of."""

    name: str
    model: Any
    release: Callable[[], None]
    clock: Clock
    limits: ServerLimits
    shown: ImageLimits
    threads: ThreadOffload = attrs.field(factory=lambda: ThreadOffload(threads=2), init=False)
    alone: ThreadOffload = attrs.field(factory=lambda: ThreadOffload(threads=1), init=False)

    def host(self) -> ModelHost[Any]:
        return ModelHost(name=self.name, model=self.model, offload=SeatedOffload(self.alone), release=self.release)

    def preparing(self) -> Preparing:
        codec = PillowCodec(max_pixels=self.limits.max_pixels)
        return Preparing(codec=codec, offload=SeatedOffload(self.threads), limits=self.shown)

    def tool(self, path: str, backend: object, wire: CapabilityWire) -> ServedTool:
        seconds = self.limits.timeout_seconds
        return ServedTool(
            name=path, capability=path, backend=backend, group=_GROUP, limit=1, timeout_seconds=seconds, wire=wire
        )

    def server(
        self, tools: Mapping[str, ServedTool], checks: Mapping[str, Check], shape: Shape, calls_at: str
    ) -> ModelServer:
        limits, preparing = self.limits, self.preparing()
        desk = Desk(
            tools=tools,
            gate=LocalGate({_GROUP: _SEATS}, max_queue=limits.max_queue),
            clock=self.clock,
            take_in=Taking(codec=preparing.codec, offload=preparing.offload),
            shape=shape,
            answers=Answers(clock=self.clock, max_bytes=limits.max_body_bytes),
        )
        app = application(desk, calls_at=calls_at, checks=checks, token="", max_body_bytes=limits.max_body_bytes)

        async def drain() -> None:
            await desk.drain(limits.drain_seconds)

        def close() -> None:
            self.threads.close()
            self.alone.close()

        return ModelServer(app=app, drain=drain, close=close)


def detection_server(
    name: str, path: str, model: object, *, release: Callable[[], None], clock: Clock, limits: ServerLimits
) -> ModelServer:
    """`POST /segment` or `/detect` over a `DetectionModel`.

    Args:
        name: of the server, in errors.
        path: `segment` or `detect`.
        model: loaded.
        release: see `ModelHost`.
        clock: deadlines.
        limits: what it takes.
    """
    shown = ImageLimits(max_side=limits.max_side)
    parts = _Parts(name=name, model=model, release=release, clock=clock, limits=limits, shown=shown)
    host = parts.host()
    tool = parts.tool(path, Detecting(host=host, preparing=parts.preparing()), _DETECTION)
    return parts.server({path: tool}, host.checks, Bare(), "/{name}")


def scene_server(
    name: str, model: object, *, release: Callable[[], None], clock: Clock, limits: ServerLimits
) -> ModelServer:
    """`POST /depth` and `/poses` over a `SceneModel`; arguments as of `detection_server`."""
    shown = ImageLimits(max_side=limits.max_side)
    parts = _Parts(name=name, model=model, release=release, clock=clock, limits=limits, shown=shown)
    host = parts.host()
    service = Surveying(host=host, preparing=parts.preparing(), max_images=limits.max_images)
    tools = {"depth": parts.tool("depth", service, _DEPTH), "poses": parts.tool("poses", service, _POSES)}
    return parts.server(tools, host.checks, Bare(), "/{name}")


def chat_server(
    name: str, model_id: str, model: object, *, release: Callable[[], None], clock: Clock, limits: ServerLimits
) -> ModelServer:
    """`POST /v1/chat/completions` and `GET /v1/models` over a `ReadingModel`.

    Args:
        name: of the server, in errors.
        model_id: the name that requests must give.
        model: loaded.
        release: see `ModelHost`.
        clock: deadlines.
        limits: what it takes.
    """
    # Readers cut pictures into patches and refuse slivers; what is added is white.
    shown = ImageLimits(max_side=limits.max_side, min_side=28, max_ratio=50)
    parts = _Parts(name=name, model=model, release=release, clock=clock, limits=limits, shown=shown)
    host = parts.host()
    service = ReadingService(host=host, preparing=parts.preparing(), max_tokens=limits.max_tokens)
    shape = ChatShape(model_id=model_id, wall=clock.wall)
    server = parts.server(
        {CHAT_TOOL: parts.tool(CHAT_TOOL, service, _CHAT)}, host.checks, shape, "/v1/chat/completions"
    )

    async def models() -> Answer:
        served = {"object": "list", "data": [{"id": model_id, "object": "model", "created": 0, "owned_by": "local"}]}
        return Answer(status=200, body=json_bytes(served), outcome="ok")

    server.app.router.routes.append(Route("/v1/models", Page(write=models)))
    return server
