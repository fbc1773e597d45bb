"""A router in this process: its desk and application over given backends, a caller through it, and backends that wait."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import attrs
import httpx
import pytest

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.router import serving
from openvlharness_adapters.router.answers import Answers
from openvlharness_adapters.router.calls import ServedTool
from openvlharness_adapters.router.desk import Desk
from openvlharness_adapters.router.gates import LocalGate
from openvlharness_adapters.router.readiness import Check, always_ready
from openvlharness_adapters.router.routes import application
from openvlharness_adapters.router.shapes import Bare, Enveloped
from openvlharness_adapters.router.taking import Taking
from openvlharness_adapters.router_client.posting import Poster
from openvlharness_adapters.router_client.raw import RawCaller
from openvlharness_adapters.router_client.router import RouterCaller
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.clock import Clock
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.results import Answered, Transcription
from openvlharness_core.testing.images import FakeCodec, fake_image
from openvlharness_core.testing.time import FakeClock, InlineOffload

IMAGE_URL = "data:image/png;base64," + base64.b64encode(fake_image(6, 8)).decode()
LIMITS = {"ocr": 2, "depth": 1, "sam3": 1, "search": 4, "webpage": 8, "coding": 10}


def reader(backend: object, **changes: Any) -> ServedTool:
    """`backend` served as `ocr`."""
    return attrs.evolve(ServedTool(name="ocr", capability="ocr", backend=backend, group="ocr", limit=2), **changes)


def desk_over(
    *tools: ServedTool,
    clock: Clock | None = None,
    limits: Mapping[str, int] = LIMITS,
    max_queue: int = 256,
    answer_bytes: int = 1 << 20,
    codec: ImageCodec | None = None,
    bare: bool = False,
) -> Desk:
    time = clock or FakeClock()
    return Desk(
        tools={tool.capability if bare else tool.name: tool for tool in tools},
        gate=LocalGate(limits, max_queue=max_queue),
        clock=time,
        take_in=Taking(codec=codec or FakeCodec(), offload=InlineOffload()),
        shape=Bare() if bare else Enveloped(),
        answers=Answers(clock=time, max_bytes=answer_bytes),
    )


def app_over(
    desk: Desk,
    *,
    token: str = "",
    max_body_bytes: int = 1 << 20,
    checks: Mapping[str, Check] | None = None,
    bare: bool = False,
) -> Any:
    return application(
        desk,
        calls_at="/embedded/{name}" if bare else "/execute",
        checks=checks if checks is not None else dict.fromkeys(desk.tools, always_ready),
        token=token,
        max_body_bytes=max_body_bytes,
    )


def client_of(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://router")


def through_router(capability: str, backend: object, codec: ImageCodec | None = None) -> RouterCaller:
    """A caller that reaches `backend` through the whole router, but for the sockets."""
    name = f"remote_{capability}"
    tool = ServedTool(name=name, capability=capability, backend=backend, group=None)
    app = app_over(desk_over(tool, codec=codec), max_body_bytes=64 << 20)
    poster = Poster(client=client_of(app), clock=FakeClock(), retry=0)
    return RouterCaller(poster=poster, base_url="http://router", tool=name)


def through_raw_server(capability: str, backend: object, codec: ImageCodec | None = None) -> RawCaller:
    """The same through a raw server."""
    tool = ServedTool(name=f"raw_{capability}", capability=capability, backend=backend, group=None)
    app = app_over(desk_over(tool, codec=codec, bare=True), bare=True, max_body_bytes=64 << 20)
    poster = Poster(client=client_of(app), clock=FakeClock(), retry=0)
    return RawCaller(poster=poster, url=f"http://server/embedded/{capability}", tool=f"raw_{capability}")


WAYS = {"router": through_router, "raw server": through_raw_server}


@attrs.define(eq=False)
class HeldReader:
    """A reader whose calls go on when they are let; remembers the order in which they began."""

    begun: list[tuple[int, int]] = attrs.field(factory=list, init=False)
    cancelled: int = attrs.field(default=0, init=False)
    _let: asyncio.Semaphore = attrs.field(factory=lambda: asyncio.Semaphore(0), init=False)

    async def read(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[Transcription]:
        self.begun.append(image.size_hw)
        try:
            await self._let.acquire()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return Answered(value=Transcription(text=f"{image.size_hw}"), backend="held")

    def let(self, calls: int = 1) -> None:
        for _ in range(calls):
            self._let.release()


def ocr_call(call_id: str = "c", height: int = 6) -> dict[str, Any]:
    """The body of a call; pictures of different heights can be told apart."""
    url = "data:image/png;base64," + base64.b64encode(fake_image(height, 8)).decode()
    return {"tool_name": "ocr", "tool_call_id": call_id, "args": {"image": url}}


@asynccontextmanager
async def listening(app: Any, drain: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """`app` on a real socket of this loop; signals stay those of the test process."""
    monkeypatch.setattr(serving._DrainingServer, "capture_signals", lambda self: nullcontext())
    made: list[Any] = []
    begin = serving._DrainingServer.startup

    async def noted(self: Any, sockets: Any = None) -> None:
        made.append(self)
        await begin(self, sockets)

    monkeypatch.setattr(serving._DrainingServer, "startup", noted)
    listener = serving.bound("127.0.0.1", 0)
    port = listener.getsockname()[1]
    running = asyncio.ensure_future(serving.serve(app, listener, drain))
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        made[0].should_exit = True
        await running


@asynccontextmanager
async def http_client() -> AsyncIterator[httpx.AsyncClient]:
    async with open_client() as client:
        yield client


def until(condition: Any) -> Any:
    """Let the loop go on until `condition()` holds; a hang is the test's own limit."""

    async def wait() -> None:
        for _ in range(2000):
            if condition():
                return
            await asyncio.sleep(0.001)
        raise AssertionError("it never came to that")

    return wait()


def codes(replies: Iterator[httpx.Response] | list[httpx.Response]) -> list[int]:
    return [reply.status_code for reply in replies]
