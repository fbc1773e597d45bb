"""Replicas on loopback: the least busy one is asked, one that dies is set aside until it is healthy again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import attrs
import httpx
import pytest

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.http.replicas import LONGEST_PAUSE_SECONDS, ReplicaTransport, open_replicated
from openvlharness_adapters.router_client.posting import Poster
from openvlharness_core.testing.time import FakeClock
from tests.support.routing import until


@attrs.define(eq=False)
class Server:
    """A replica: counts calls, holds those it is told to, and can die and come back on its port."""

    calls: int = 0
    healths: int = 0
    status: int = 200
    held: bool = False
    port: int = 0
    hosts: list[str] = attrs.field(factory=list)
    go: asyncio.Event = attrs.field(factory=asyncio.Event)
    _server: asyncio.Server | None = None
    _writers: set[asyncio.StreamWriter] = attrs.field(factory=set)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def live(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def die(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._answer(head, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()  # the other side has gone, or this replica dies
        finally:
            self._writers.discard(writer)

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        await reader.readexactly(int(fields.get(b"content-length", 0)))
        if head.startswith(b"GET /health "):
            self.healths += 1
        else:
            assert head.startswith(b"POST /work?x=1 "), head
            self.calls += 1
            self.hosts.append(fields[b"host"].decode())
            if self.held:
                await self.go.wait()
        body = self.base.encode()
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (self.status, len(body), body))
        await writer.drain()


@pytest.fixture
async def servers() -> AsyncIterator[list[Server]]:
    servers = [Server(), Server(), Server()]
    for server in servers:
        await server.live()
    yield servers
    for server in servers:
        await server.die()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def client(servers: list[Server], clock: FakeClock) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        open_client() as inner,
        open_replicated(inner, [f"{server.base}/" for server in servers], clock=clock) as client,
    ):
        yield client


def _work(client: httpx.AsyncClient, servers: list[Server]) -> asyncio.Future[httpx.Response]:
    return asyncio.ensure_future(client.post(f"{servers[0].base}/work?x=1", content=b"abc"))


def _aside(client: httpx.AsyncClient) -> tuple[str, ...]:
    transport = client._transport
    assert isinstance(transport, ReplicaTransport)
    return transport.aside


async def test_idle_replicas_take_turns_and_the_host_is_their_own(
    client: httpx.AsyncClient, servers: list[Server]
) -> None:
    answered = [(await _work(client, servers)).text for _ in range(6)]
    assert answered == [server.base for server in servers] * 2
    assert [server.hosts for server in servers] == [[server.base[7:]] * 2 for server in servers]


async def test_the_least_busy_is_asked(client: httpx.AsyncClient, servers: list[Server]) -> None:
    servers[0].held = servers[2].held = True
    held = [_work(client, servers) for _ in range(3)]
    await until(lambda: all(server.calls == 1 for server in servers))
    await held[1]
    for _ in range(4):
        assert (await _work(client, servers)).text == servers[1].base
    servers[0].go.set()
    servers[2].go.set()
    await asyncio.gather(*held)
    assert [server.calls for server in servers] == [1, 5, 1]


async def test_one_that_dies_is_set_aside_and_is_asked_again_when_it_is_healthy(
    client: httpx.AsyncClient, servers: list[Server], clock: FakeClock
) -> None:
    await servers[0].die()
    poster = Poster(client=client, clock=clock, retry=1, share=lambda: 0.0)
    url = f"{servers[0].base}/work?x=1"
    answered = [await poster.post(url, b"{}", "k", "b", 5.0, lambda _, body: body.decode()) for _ in range(7)]
    assert servers[0].base not in answered
    assert [server.calls for server in servers] == [0, 4, 3], "the first attempt failed, its second went elsewhere"
    assert _aside(client) == (servers[0].base,)
    await servers[0].live()
    assert servers[0].healths == 0
    await clock.advance(1.0)
    await until(lambda: _aside(client) == ())
    assert servers[0].healths == 1
    assert (await _work(client, servers)).text == servers[0].base, "least recently used"


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_one_whose_gateway_says_that_nobody_is_there_is_set_aside_as_well(
    client: httpx.AsyncClient, servers: list[Server], status: int
) -> None:
    servers[0].status = status
    assert (await _work(client, servers)).status_code == status
    for _ in range(6):
        assert (await _work(client, servers)).status_code == 200


@pytest.mark.parametrize("status", [400, 422, 500, 507])
async def test_a_failure_of_the_work_is_no_reason(
    client: httpx.AsyncClient, servers: list[Server], status: int
) -> None:
    servers[0].status = status
    await _work(client, servers)
    assert _aside(client) == ()


async def test_one_whose_call_was_given_up_is_asked_how_it_is(
    client: httpx.AsyncClient, servers: list[Server], clock: FakeClock
) -> None:
    servers[0].held = True
    hanging = _work(client, servers)
    await until(lambda: servers[0].calls == 1)
    hanging.cancel()
    await until(lambda: servers[0].healths == 1)
    await until(lambda: _aside(client) == ())
    servers[0].status = 503
    again = [_work(client, servers) for _ in range(3)]
    await until(lambda: servers[0].calls == 2)
    again[2].cancel()
    await until(lambda: _aside(client) == (servers[0].base,))
    await asyncio.gather(*again[:2])


async def test_with_all_set_aside_all_are_tried_and_pauses_grow_to_a_bound(
    client: httpx.AsyncClient, servers: list[Server], clock: FakeClock
) -> None:
    for server in servers:
        await server.die()
    for _ in range(4):
        with pytest.raises(httpx.ConnectError):
            await _work(client, servers)
    assert len(_aside(client)) == 3
    clock.slept.clear()
    for _ in range(8):
        await clock.advance(LONGEST_PAUSE_SECONDS)
        for _ in range(20):
            await asyncio.sleep(0.001)
    pauses = [pause for pause in clock.slept if pause != 5.0]
    assert max(pauses) == LONGEST_PAUSE_SECONDS
    await servers[1].live()
    await clock.advance(LONGEST_PAUSE_SECONDS)
    await until(lambda: len(_aside(client)) == 2)
    assert (await _work(client, servers)).text == servers[1].base


async def test_no_address_and_another_service_are_refused(client: httpx.AsyncClient, clock: FakeClock) -> None:
    with pytest.raises(ValueError, match="at least one address"):
        open_replicated(client, [], clock=clock)
    with pytest.raises(httpx.UnsupportedProtocol, match="replicas only"):
        await client.get("http://127.0.0.1:9/")
