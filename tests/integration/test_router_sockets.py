"""The router on real sockets: order, callers that leave, and a pulse while every seat is taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import orjson
import pytest

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.router.desk import Desk
from openvlharness_adapters.router_client.backends import RemoteOcr
from openvlharness_adapters.router_client.posting import Poster
from openvlharness_adapters.router_client.router import RouterCaller
from openvlharness_adapters.runtime import SystemClock
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.images import fake_image
from tests.support.pulse import AIM_SECONDS, pulse
from tests.support.routing import HeldReader, app_over, desk_over, listening, ocr_call, reader, until


@pytest.fixture
def backend() -> HeldReader:
    return HeldReader()


@pytest.fixture
def desk(backend: HeldReader) -> Desk:
    return desk_over(reader(backend), clock=SystemClock(), limits={"ocr": 1})


@pytest.fixture
async def base(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    async with listening(app_over(desk), lambda: desk.drain(5), monkeypatch) as base:
        yield base


def _picture(height: int) -> EncodedImage:
    return EncodedImage(data=fake_image(height, 8), media_type="image/png", size_hw=(height, 8))


class Raw:
    """A connection of one request, to be broken off at will."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def calling(cls, base: str, height: int, key: str | None = None) -> Raw:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
        body = orjson.dumps(ocr_call("c", height))
        key_line = f"Idempotency-Key: {key}\r\n" if key else ""
        head = f"POST /execute HTTP/1.1\r\nHost: router\r\n{key_line}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        return cls(reader, writer)

    async def status(self) -> int:
        line = await self.reader.readline()
        self.writer.close()
        return int(line.split()[1])

    def leave(self) -> None:
        self.writer.transport.abort()


async def test_calls_are_served_in_the_order_in_which_they_came(base: str, desk: Desk, backend: HeldReader) -> None:
    calls = []
    for height in range(1, 31):
        calls.append(await Raw.calling(base, height))
        await until(lambda height=height: desk.counters["ocr"].waiting + desk.counters["ocr"].running == height)
    backend.let(30)
    assert [await call.status() for call in calls] == [200] * 30
    assert [height for height, _ in backend.begun] == list(range(1, 31))


async def test_a_caller_that_leaves_the_queue_is_never_served(base: str, desk: Desk, backend: HeldReader) -> None:
    first, second, third, fourth = [await Raw.calling(base, height) for height in (1, 2, 3, 4)]
    await until(lambda: desk.counters["ocr"].waiting == 3)
    second.leave()
    third.leave()
    await until(lambda: desk.counters["ocr"].waiting == 1)
    backend.let(2)
    assert [await first.status(), await fourth.status()] == [200, 200]
    assert sorted(height for height, _ in backend.begun) == [1, 4]
    assert desk.room.held == 0


async def test_a_running_call_without_a_key_ends_with_its_caller(base: str, desk: Desk, backend: HeldReader) -> None:
    first, second = [await Raw.calling(base, height) for height in (1, 2)]
    await until(lambda: len(backend.begun) == 1 and desk.counters["ocr"].waiting == 1)
    first.leave()
    await until(lambda: len(backend.begun) == 2)
    assert backend.cancelled == 1
    backend.let()
    assert await second.status() == 200


async def test_a_running_call_with_a_key_goes_on_and_its_answer_is_kept(
    base: str, desk: Desk, backend: HeldReader
) -> None:
    first = await Raw.calling(base, 1, key="k")
    await until(lambda: len(backend.begun) == 1)
    first.leave()
    await asyncio.sleep(0.05)  # long enough for the server to see it
    assert backend.cancelled == 0
    backend.let()
    await until(lambda: desk.counters["ocr"].outcomes.get("ok") == 1)
    assert await (await Raw.calling(base, 1, key="k")).status() == 200
    assert len(backend.begun) == 1


async def test_of_several_callers_with_one_key_one_may_leave(base: str, desk: Desk, backend: HeldReader) -> None:
    blocker = await Raw.calling(base, 9)
    await until(lambda: len(backend.begun) == 1)
    one, other = [await Raw.calling(base, 1, key="k") for _ in range(2)]
    await until(lambda: desk.counters["ocr"].waiting == 1)
    await asyncio.sleep(0.05)
    one.leave()
    await asyncio.sleep(0.05)
    backend.let(2)
    assert [await blocker.status(), await other.status()] == [200, 200]
    again = await Raw.calling(base, 1, key="k")
    assert await again.status() == 200
    assert len(backend.begun) == 2


async def test_a_key_whose_callers_all_left_the_queue_is_new_again(base: str, desk: Desk, backend: HeldReader) -> None:
    blocker = await Raw.calling(base, 9)
    await until(lambda: len(backend.begun) == 1)
    (await Raw.calling(base, 1, key="k")).leave()
    await until(lambda: desk.counters["ocr"].outcomes.get("left") == 1)
    again = await Raw.calling(base, 1, key="k")
    await until(lambda: desk.counters["ocr"].waiting == 1)
    backend.let(2)
    assert [await blocker.status(), await again.status()] == [200, 200]


async def test_there_is_a_pulse_with_every_seat_taken_and_200_waiting(
    base: str, desk: Desk, backend: HeldReader, capsys: pytest.CaptureFixture[str]
) -> None:
    median = await pulse(base, backend, lambda: desk.counters["ocr"].waiting)
    with capsys.disabled():
        print(f"\n/health, every seat taken and 200 waiting: median {median * 1000:.1f} ms (aim: below 50)")
    assert median < 5 * AIM_SECONDS  # a busy machine may take longer than the aim, a blocked loop for ever


async def test_two_agents_that_ask_alike_never_meet(base: str, backend: HeldReader) -> None:
    backend.let(40)
    async with open_client() as client:
        ids = iter(f"key-{n}" for n in range(100))

        def fresh() -> str:  # the call id recurs, as models make them up; the key never does
            number = next(ids)
            return number if int(number[4:]) % 2 else "call_0"

        def agent() -> RemoteOcr:
            poster = Poster(client=client, clock=SystemClock(), retry=0)
            return RemoteOcr(RouterCaller(poster=poster, base_url=base, tool="ocr", fresh=fresh))

        one, other = agent(), agent()
        answers = await asyncio.gather(
            *(asking.read(_picture(height), timeout_seconds=20) for height in range(1, 21) for asking in (one, other))
        )
    assert [answer.value.text for answer in answers] == [f"({height}, 8)" for height in range(1, 21) for _ in (0, 1)]
    assert len(backend.begun) == 40


async def test_a_proxy_variable_never_comes_between(
    base: str, backend: HeldReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openvlharness_adapters.http.proxies import ProxySettings

    backend.let()
    proxies = ProxySettings.from_variables({"HTTP_PROXY": "http://127.0.0.1:9"})
    async with open_client(proxies=proxies) as client:
        poster = Poster(client=client, clock=SystemClock(), retry=0)
        found = await RemoteOcr(RouterCaller(poster=poster, base_url=base, tool="ocr")).read(
            _picture(3), timeout_seconds=20
        )
    assert found.value.text == "(3, 8)"


async def test_a_body_that_is_too_long_is_answered_and_not_reset(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        listening(app_over(desk, max_body_bytes=1000), lambda: desk.drain(5), monkeypatch) as base,
        httpx.AsyncClient() as client,
    ):
        assert (await client.post(f"{base}/execute", content=b"x" * 900_000)).status_code == 413
