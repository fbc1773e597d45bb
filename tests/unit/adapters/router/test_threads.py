"""Seats of calls whose threads go on: not free before the last thread has stopped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import pytest

from openvlharness_adapters.router.calls import ServedTool
from openvlharness_adapters.router.threads import CallEndedError, CallThreads, SeatedOffload
from openvlharness_adapters.runtime import SystemClock, ThreadOffload
from openvlharness_core.errors import ToolExecutionError
from tests.support.routing import IMAGE_URL, app_over, desk_over, until


@attrs.define(eq=False)
class Threads:
    """Stands for every embedded backend: its calls run in threads until they are let."""

    offload: SeatedOffload
    running: int = attrs.field(default=0, init=False)
    begun: int = attrs.field(default=0, init=False)
    let: threading.Event = attrs.field(factory=threading.Event, init=False)

    async def in_a_thread(self, *_: Any, **__: Any) -> Any:
        def work() -> None:
            self.begun += 1
            self.running += 1
            assert self.let.wait(20)
            self.running -= 1

        await self.offload.run(work)
        raise ToolExecutionError("threads", "done")

    read = ground = estimate = trace = crop = search = visit = write = in_a_thread


ARGS: dict[str, dict[str, object]] = {
    "grounding": {"image": IMAGE_URL, "query": "cup"},
    "ocr": {"image": IMAGE_URL},
    "depth": {"image": IMAGE_URL},
    "camera_pose": {"images": [IMAGE_URL, IMAGE_URL]},
    "text_search": {"query": "cup"},
    "image_search": {"image": IMAGE_URL},
    "web_visit": {"urls": ["https://a.example/"], "goal": "cup"},
    "coding": {"objective": "count"},
}


@pytest.fixture
def offload() -> Iterator[ThreadOffload]:
    offload = ThreadOffload(threads=4)
    yield offload
    offload.close()


class Connection:
    """One request as an ASGI server brings it, whose caller may leave."""

    def __init__(self, app: Any, body: bytes) -> None:
        self.sent: list[Any] = []
        self.left = asyncio.Event()
        self.bodies = [body]
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/execute",
            "headers": [],
            "query_string": b"",
            "root_path": "",
        }
        self.task = asyncio.ensure_future(app(scope, self.receive, self.send))

    async def receive(self) -> dict[str, Any]:
        if self.bodies:
            return {"type": "http.request", "body": self.bodies.pop(), "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.body":
            self.left.set()


def _body(capability: str) -> bytes:
    import orjson

    return orjson.dumps({"tool_name": "tool", "tool_call_id": "c", "args": ARGS[capability]})


@pytest.mark.parametrize("capability", ARGS)
async def test_the_seat_stays_taken_until_the_thread_of_a_caller_that_left_has_stopped(
    capability: str, offload: ThreadOffload
) -> None:
    backend = Threads(SeatedOffload(offload))
    tool = ServedTool(name="tool", capability=capability, backend=backend, group="depth")
    desk = desk_over(tool, clock=SystemClock())
    app = app_over(desk)
    first = Connection(app, _body(capability))
    await until(lambda: backend.running == 1)
    first.left.set()
    await first.task
    second = Connection(app, _body(capability))
    await until(lambda: desk.counters["tool"].waiting == 1)
    for _ in range(50):
        await asyncio.sleep(0)
    assert (desk.counters["tool"].running, desk.counters["tool"].waiting, backend.begun) == (1, 1, 1)
    backend.let.set()
    await second.task
    assert backend.begun == 2
    assert second.sent[0]["status"] == 500, "its own failure, so it ran"
    assert not first.sent


async def test_a_deadline_is_answered_at_once_and_frees_nothing(offload: ThreadOffload) -> None:
    backend = Threads(SeatedOffload(offload))
    tool = ServedTool(name="tool", capability="ocr", backend=backend, group="depth", timeout_seconds=0.05)
    desk = desk_over(tool, clock=SystemClock())
    call = Connection(app_over(desk), _body("ocr"))
    await call.task
    assert call.sent[0]["status"] == 504
    assert (desk.counters["tool"].running, backend.running) == (1, 1)
    backend.let.set()
    await until(lambda: desk.counters["tool"].running == 0)


async def test_a_thread_that_had_not_begun_never_does() -> None:
    one = ThreadOffload(threads=1)
    held = threading.Event()
    blocker = asyncio.ensure_future(one.run(lambda: held.wait(20)))
    backend = Threads(SeatedOffload(one))
    backend.let.set()
    tool = ServedTool(name="tool", capability="ocr", backend=backend, group="depth")
    desk = desk_over(tool, clock=SystemClock())
    call = Connection(app_over(desk), _body("ocr"))
    await until(lambda: desk.counters["tool"].running == 1)
    call.left.set()
    await call.task
    await until(lambda: desk.counters["tool"].running == 0)
    held.set()
    await blocker
    await one.run(lambda: None)
    assert backend.begun == 0
    one.close()


async def test_outside_a_call_it_is_the_offload_inside(offload: ThreadOffload) -> None:
    def add(values: Sequence[int] = (1, 2)) -> int:
        return sum(values)

    call: Callable[[], int] = add
    assert await SeatedOffload(offload).run(call) == 3


async def test_a_thread_that_begins_in_the_moment_in_which_its_call_ends_is_told_so() -> None:
    threads = CallThreads()
    threads.begin()
    stopped = threads.stop()
    assert stopped is not None
    with pytest.raises(CallEndedError):
        threads.begin()
    assert not stopped.is_set()
    threads.end()
    await asyncio.wait_for(stopped.wait(), 5)
    assert threads.stop() is None
