"""The gate in Redis, held to what every gate promises, over a real server."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openvlharness_adapters.router.gates import Gate, GateUnavailableError, QueueFullError
from openvlharness_adapters.router.redis_gate import RedisGate
from openvlharness_adapters.router.redis_link import RedisLink
from tests.support.redis_server import RedisServer, redis_server
from tests.unit.adapters.router.gate_rules import GateContract

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("redis")]


def _never() -> None:
    raise AssertionError("no seat was to be lost")


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Let the loop go on until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        await asyncio.sleep(0.005)


async def until_ready(*gates: RedisGate) -> None:
    """Redis is back, and every gate has seen it."""
    for gate in gates:
        for _ in range(1000):
            if await gate.check() is None:
                break
            await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def link(server: RedisServer) -> Iterator[RedisLink]:
    server.empty()
    link = RedisLink(server.url, shown=server.shown, lease_seconds=3.0)
    yield link
    link.close()


class TestRedisGate(GateContract):
    @pytest.fixture
    def gate(self, link: RedisLink) -> Gate:
        return RedisGate(link, {"ocr": 2, "depth": 1}, max_queue=3)


@pytest.fixture
def other(server: RedisServer, link: RedisLink) -> Iterator[RedisLink]:
    """As of another router."""
    other = RedisLink(server.url, shown=server.shown, lease_seconds=3.0)
    yield other
    other.close()


def _waiting(server: RedisServer, group: str = "ocr") -> int:
    client = server.client()
    try:
        return int(client.zcard(f"{{openvlharness}}:seats:{group}:waiters"))
    finally:
        client.close()


async def test_two_routers_are_served_by_their_tickets(server: RedisServer, link: RedisLink, other: RedisLink) -> None:
    gates = [RedisGate(each, {"ocr": 1}, max_queue=100) for each in (link, other)]
    held = await gates[0].acquire("ocr", _never)
    tickets: list[int] = []

    async def come(gate: RedisGate) -> None:
        seat = await gate.acquire("ocr", _never)
        tickets.append(seat.ticket)
        await gate.release(seat)

    coming = [asyncio.ensure_future(come(gates[n % 2])) for n in range(60)]
    await until(lambda: _waiting(server) == 60)
    assert tickets == []
    await gates[0].release(held)
    await asyncio.wait_for(asyncio.gather(*coming), 30)
    assert tickets == sorted(tickets)
    assert len(set(tickets)) == 60
    assert min(tickets) > held.ticket


async def test_the_queue_is_one_for_all_routers(server: RedisServer, link: RedisLink, other: RedisLink) -> None:
    gates = [RedisGate(each, {"ocr": 1}, max_queue=1) for each in (link, other)]
    held = await gates[0].acquire("ocr", _never)
    waiting = asyncio.ensure_future(gates[1].acquire("ocr", _never))
    await until(lambda: _waiting(server) == 1)
    with pytest.raises(QueueFullError, match="1 calls wait"):
        await gates[0].acquire("ocr", _never)
    await gates[0].release(held)
    assert await asyncio.wait_for(waiting, 5)


async def test_a_router_that_nobody_hears_is_passed_over_and_keeps_its_place(
    server: RedisServer, link: RedisLink, other: RedisLink
) -> None:
    """A waiter is in line whose process is alive and listens to nothing: whoever comes after it has the seat."""
    client = server.client()
    gate = RedisGate(other, {"ocr": 1}, max_queue=9)
    held = await gate.acquire("ocr", _never)
    client.zadd("{openvlharness}:seats:ocr:waiters", {"deaf:1": 5})
    client.zadd("{openvlharness}:seats:ocr:processes", {"deaf": 2**52})
    later = asyncio.ensure_future(gate.acquire("ocr", _never))
    await until(lambda: _waiting(server) == 2)
    await gate.release(held)
    assert await asyncio.wait_for(later, 5)
    assert client.zscore("{openvlharness}:seats:ocr:waiters", "deaf:1") == 5
    client.close()


async def test_wake_ups_that_are_lost_are_repaired(server: RedisServer, link: RedisLink) -> None:
    """Somebody else takes the seat's news; the thread that looks after its own finds it."""
    gate = RedisGate(link, {"ocr": 1}, max_queue=9)
    held = await gate.acquire("ocr", _never)
    waiting = asyncio.ensure_future(gate.acquire("ocr", _never))
    await until(lambda: _waiting(server) == 1)
    link._heard = lambda message: None  # type: ignore[method-assign]
    await gate.release(held)
    assert await asyncio.wait_for(waiting, 10)


async def test_a_broken_connection_costs_nobody_the_place(server: RedisServer, link: RedisLink) -> None:
    gate = RedisGate(link, {"ocr": 1}, max_queue=9)
    held = await gate.acquire("ocr", _never)
    waiting = [asyncio.ensure_future(gate.acquire("ocr", _never)) for _ in range(2)]
    await until(lambda: _waiting(server) == 2)
    client = server.client()
    for kind in ("normal", "pubsub"):
        client.client_kill_filter(_type=kind, skipme=True)
    await gate.release(held)
    for place in waiting:
        await gate.release(await asyncio.wait_for(place, 10))
    client.close()


async def test_whose_lease_is_over_is_told_and_the_seat_goes_on(
    server: RedisServer, link: RedisLink, other: RedisLink
) -> None:
    gates = [RedisGate(each, {"ocr": 1}, max_queue=9) for each in (link, other)]
    lost: list[str] = []
    held = await gates[0].acquire("ocr", lambda: lost.append("one"))
    waiting = asyncio.ensure_future(gates[1].acquire("ocr", _never))
    await until(lambda: _waiting(server) == 1)
    client = server.client()
    [name] = client.zrange("{openvlharness}:seats:ocr:holders", 0, -1)
    client.zadd("{openvlharness}:seats:ocr:holders", {name: 1})  # long over, as after a pause
    other.hurry(0)
    other.post(lambda client: None, lambda error: None)
    assert await asyncio.wait_for(waiting, 10)
    await until(lambda: lost == ["one"], seconds=10)
    await gates[0].release(held)
    assert client.zcard("{openvlharness}:seats:ocr:holders") == 1, "what was lost is not given back"
    client.close()


async def test_redis_away_and_back_empty(server: RedisServer, link: RedisLink, other: RedisLink) -> None:
    """Whoever waits is told; whoever works goes on and is the first to come back, before all that are new."""
    one, two = (RedisGate(each, {"ocr": 1}, max_queue=9) for each in (link, other))
    held = await one.acquire("ocr", _never)
    waiting = asyncio.ensure_future(two.acquire("ocr", _never))
    await until(lambda: _waiting(server) == 1)
    server.stop()
    with pytest.raises(GateUnavailableError, match=r"redis://127\.0\.0\.1:\d+/0: Redis cannot be used"):
        await asyncio.wait_for(waiting, 20)
    with pytest.raises(GateUnavailableError):
        await one.acquire("ocr", _never)
    assert "cannot be used" in str(await one.check())
    server.start(long_ago=False)
    await until_ready(one, two)
    new = asyncio.ensure_future(two.acquire("ocr", _never))
    client = server.client()
    await until(lambda: client.zcard("{openvlharness}:seats:ocr:holders") == 1, seconds=10)
    [name] = client.zrange("{openvlharness}:seats:ocr:holders", 0, -1)
    assert name.decode().startswith(link.name)
    for _ in range(200):  # well past the time for which nobody new gets a seat
        await asyncio.sleep(0.02)
    assert not new.done()
    await one.release(held)
    seat = await asyncio.wait_for(new, 10)
    assert seat.ticket > held.ticket, "numbers go on where they were, though Redis forgot them"
    client.close()


async def test_a_seat_given_back_while_redis_was_away_is_free_when_it_is_back(
    server: RedisServer, link: RedisLink
) -> None:
    gate = RedisGate(link, {"ocr": 1}, max_queue=9)
    held = await gate.acquire("ocr", _never)
    server.halt()
    try:
        with pytest.raises(GateUnavailableError):
            await asyncio.wait_for(gate.acquire("ocr", _never), 20)
        await gate.release(held)
    finally:
        server.go_on()
    await until_ready(gate)
    assert await asyncio.wait_for(gate.acquire("ocr", _never), 10)


async def test_closing_frees_what_is_held(server: RedisServer, link: RedisLink, other: RedisLink) -> None:
    one, two = (RedisGate(each, {"ocr": 1}, max_queue=9) for each in (link, other))
    await one.acquire("ocr", _never)
    waiting = asyncio.ensure_future(two.acquire("ocr", _never))
    await until(lambda: _waiting(server) == 1)
    begun = time.monotonic()
    link.close()
    assert await asyncio.wait_for(waiting, 5)
    assert time.monotonic() - begun < 2.9, "not only when its lease was over"
    with pytest.raises(GateUnavailableError, match="the server ended"):
        await one.acquire("ocr", _never)


async def test_a_password_is_in_no_error_and_no_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with redis_server(tmp_path, "CANARY-PASSWORD") as server:
        right = RedisLink(server.url, shown=server.shown, lease_seconds=3.0)
        assert await RedisGate(right, {"ocr": 1}, max_queue=1).check() is None
        right.close()
        wrong = RedisLink(server.url.replace("CANARY", "CANARY-OTHER"), shown=server.shown, lease_seconds=3.0)
        told = await RedisGate(wrong, {"ocr": 1}, max_queue=1).check()
        wrong.close()
    assert told is not None
    assert server.shown in told
    assert "CANARY" not in told + caplog.text + repr(wrong)


@pytest.mark.parametrize("url", ["redis://:CANARY@host:notaport/0", "redis://:CANARY@host/0?socket_timeout=CANARY"])
def test_an_address_that_is_none_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(ValueError, match="expected an address such as redis://") as refused:
        RedisLink(url, shown="redis://host", lease_seconds=3.0)
    assert "CANARY" not in "".join(traceback.format_exception(refused.value))
