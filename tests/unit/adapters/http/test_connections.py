"""Lanes: one connection a request, shared secrets, and no proxy on the way to this machine."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator

import httpx
import pytest

from openvlharness_adapters.http.connections import PROXY_EXTENSION, LaneTransport, open_client
from openvlharness_adapters.http.proxies import ProxySettings
from tests.support.chat_server import ChatServer, Hang, Recorded, Respond, Step, says

DEAD = ProxySettings(http="http://127.0.0.1:9", https="http://127.0.0.1:9")
BODY = b'{"model":"m","messages":[{"role":"user","content":"x"}]}'


def _has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
async def test_a_dead_proxy_does_not_swallow_local_traffic(host: str) -> None:
    if host == "::1" and not _has_ipv6():
        pytest.skip("this machine has no IPv6 loopback")
    bound = "127.0.0.1" if host == "localhost" else host
    async with ChatServer([says("hi")], host=bound) as server, open_client(proxies=DEAD) as client:
        url = server.endpoint.replace("127.0.0.1", host)
        assert (await client.post(url, content=BODY)).status_code == 200


async def test_other_hosts_go_through_the_proxy() -> None:
    async with open_client(proxies=DEAD) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("http://example.org/")


async def test_what_a_proxy_answers_is_marked_without_its_credentials() -> None:
    async with ChatServer([], strict=False) as server:
        proxy = server.base_url.replace("http://", "http://u:CANARY@")
        async with open_client(proxies=ProxySettings(http=proxy)) as client:
            response = await client.post("http://example.org/v1", content=BODY)
        assert response.status_code == 404  # the stand-in for a proxy has no such route
        assert response.extensions[PROXY_EXTENSION] == server.base_url
        assert server.requests[0].path == "http://example.org/v1"


async def test_a_proxy_of_another_kind_is_refused_when_it_is_needed() -> None:
    async with ChatServer([says("hi")]) as server, open_client(proxies=ProxySettings(http="socks5://p:1")) as client:
        assert (await client.post(server.endpoint, content=BODY)).status_code == 200
        with pytest.raises(httpx.UnsupportedProtocol, match="socks5"):
            await client.get("http://example.org/")


async def test_eight_requests_run_side_by_side_and_their_lanes_are_used_again() -> None:
    barrier = asyncio.Barrier(8)

    async def together(_: Recorded) -> Step:
        await barrier.wait()  # passes only when all eight are here
        return says("hi")

    async with ChatServer(together) as server, open_client() as client:
        for _ in range(3):
            responses = await asyncio.gather(*(client.post(server.endpoint, content=BODY) for _ in range(8)))
            assert [response.status_code for response in responses] == [200] * 8
        assert server.connections == 8


async def test_a_cancelled_request_leaves_its_connection() -> None:
    async with ChatServer([Hang(), says("hi")]) as server, open_client() as client:
        task = asyncio.create_task(client.post(server.endpoint, content=BODY))
        await server.until(lambda it: it.hanging == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.until(lambda it: it.departed == 1)
        assert (await client.post(server.endpoint, content=BODY)).status_code == 200
        assert server.connections == 2


async def test_a_server_that_closed_the_connection_meanwhile_is_connected_to_anew() -> None:
    async with open_client() as client:
        async with ChatServer([says("hi")]) as server:
            await client.post(server.endpoint, content=BODY)
            port = server.port
        async with ChatServer([says("hi")]) as server:
            assert (await client.post(server.endpoint, content=BODY)).status_code == 200
            assert server.port != port


class FakeLane(httpx.AsyncBaseTransport):
    """Answers at once and remembers whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=_Body())

    async def aclose(self) -> None:
        self.closed = True


class _Body(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"x"


async def test_lanes_share_one_tls_context_per_kind_and_few_are_kept() -> None:
    opened: list[tuple[ssl.SSLContext, FakeLane]] = []

    def open_lane(tls: ssl.SSLContext, _: str | None) -> FakeLane:
        opened.append((tls, FakeLane()))
        return opened[-1][1]

    transport = LaneTransport(max_idle=2, open_lane=open_lane)
    async with httpx.AsyncClient(transport=transport) as client:
        for scheme in ("https", "http"):
            async with contextlib.AsyncExitStack() as all_open:
                for _ in range(5):
                    await all_open.enter_async_context(client.stream("GET", f"{scheme}://h/"))
        secure, plain = opened[:5], opened[5:]
        assert len({id(tls) for tls, _ in secure}) == len({id(tls) for tls, _ in plain}) == 1
        assert secure[0][0].verify_mode is ssl.CERT_REQUIRED
        assert secure[0][0].check_hostname
        assert [lane.closed for _, lane in opened].count(False) == 4
        await client.get("https://h/")
        assert len(opened) == 10
    assert all(lane.closed for _, lane in opened)
    with pytest.raises(RuntimeError, match="closed"):
        await transport.handle_async_request(httpx.Request("GET", "https://h/"))


async def test_redirects_are_not_followed() -> None:
    moved = Respond(307, b"", {"Location": "http://127.0.0.1:9/"})
    async with ChatServer([moved]) as server, open_client() as client:
        assert (await client.post(server.endpoint, content=BODY)).status_code == 307
