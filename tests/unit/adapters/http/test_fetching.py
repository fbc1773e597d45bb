"""Fetching addresses that somebody else chose: every hop is checked, no proxy is asked, and bodies are bounded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import attrs
import httpx
import pytest

from openvlharness_adapters.http.addresses import AddressGuard, GuardedTransport, open_guarded_client
from openvlharness_adapters.http.fetching import Fetching, parsed
from openvlharness_core.errors import FetchError
from tests.support.serper_server import Says, SerperServer

PUBLIC, INSIDE = "93.184.216.34", "10.0.0.1"


@attrs.define
class Names:
    """A resolver whose answers for a name are used up, but for the last."""

    table: dict[str, list[str]]

    async def __call__(self, host: str, port: int) -> list[str]:
        answers = self.table.get(host, [])
        return [answers.pop(0) if len(answers) > 1 else answers[0]] if answers else []


@attrs.define
class Wire(httpx.AsyncBaseTransport):
    """Stands where connections are made, and answers by path."""

    pages: dict[str, httpx.Response]
    seen: list[str] = attrs.field(factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(f"{request.url.host}{request.url.path} for {request.headers['host']}")
        assert "authorization" not in request.headers
        return self.pages[request.url.path]


def _fetching(client: httpx.AsyncClient, **fields: Any) -> Fetching:
    settings: dict[str, Any] = {"wanted": "a page", "headers": {}, "max_bytes": 10} | fields
    return Fetching(client=client, **settings)


def _client(table: dict[str, list[str]], wire: Wire) -> httpx.AsyncClient:
    guard = AddressGuard(resolver=Names(table))
    return httpx.AsyncClient(transport=GuardedTransport(guard=guard, open_inner=lambda _: wire), trust_env=False)


def _to(target: str) -> httpx.Response:
    return httpx.Response(302, headers={"Location": target})


async def test_a_redirect_is_checked_like_a_first_request() -> None:
    wire = Wire({"/a": _to("http://inside.example/b"), "/b": httpx.Response(200, content=b"secret")})
    async with _client({"outside.example": [PUBLIC], "inside.example": [INSIDE]}, wire) as client:
        with pytest.raises(FetchError, match=r"inside\.example/b: the host has an address that is not public"):
            await _fetching(client).fetch(parsed("http://outside.example/a"))
    assert wire.seen == [f"{PUBLIC}/a for outside.example"]


async def test_a_name_that_turns_inward_between_two_hops_is_refused() -> None:
    wire = Wire({"/a": _to("/b"), "/b": httpx.Response(200, content=b"secret")})
    async with _client({"turns.example": [PUBLIC, INSIDE]}, wire) as client:
        with pytest.raises(FetchError, match="not public"):
            await _fetching(client).fetch(parsed("http://turns.example/a"))
    assert len(wire.seen) == 1


async def test_credentials_of_a_redirect_are_dropped() -> None:
    wire = Wire({"/a": _to("http://u:CANARY@outside.example/b"), "/b": httpx.Response(200, content=b"page")})
    async with _client({"outside.example": [PUBLIC]}, wire) as client:
        found = await _fetching(client).fetch(parsed("http://outside.example/a"))
    assert (str(found.url), found.data) == ("http://outside.example/b", b"page")


@pytest.mark.parametrize(
    ("response", "beginning", "expected"),
    [
        (httpx.Response(200, content=b"x" * 10), False, (10, False)),
        (httpx.Response(200, content=b"x" * 11), False, "at most 10 bytes, got 11"),
        (httpx.Response(200, content=b"x" * 11), True, (10, True)),
        (httpx.Response(200, content=b""), True, "empty body"),
        (httpx.Response(204, content=b"x"), True, "expected a page, got 204 No Content"),
    ],
)
async def test_bodies_are_bounded(response: httpx.Response, beginning: bool, expected: Any) -> None:
    async with _client({"outside.example": [PUBLIC]}, Wire({"/a": response})) as client:
        fetching = _fetching(client, beginning=beginning)
        if isinstance(expected, str):
            with pytest.raises(FetchError, match=expected):
                await fetching.fetch(parsed("http://outside.example/a"))
            return
        found = await fetching.fetch(parsed("http://outside.example/a"))
    assert (len(found.data), found.cut) == expected


@pytest.fixture
async def web() -> AsyncIterator[SerperServer]:
    async with SerperServer() as server:
        server.files["/page"] = Says(200, b"page", {"Content-Type": "text/plain"})
        yield server


async def test_no_proxy_of_the_environment_is_asked(web: SerperServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    async with open_guarded_client(AddressGuard(fetch_hosts=[f"127.0.0.1:{web.port}"])) as client:
        found = await _fetching(client).fetch(parsed(f"{web.base}/page"))
    assert (found.data, found.content_type) == (b"page", "text/plain")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "0.0.0.0", "localhost"])  # fmt: skip
async def test_this_machine_is_not_reached_by_any_spelling(web: SerperServer, host: str) -> None:
    async with open_guarded_client(AddressGuard()) as client:
        with pytest.raises(FetchError, match="not public"):
            await _fetching(client).fetch(parsed(f"http://{host}:{web.port}/page"))
    assert web.fetched == []


async def test_an_exemption_is_of_one_port(web: SerperServer) -> None:
    async with open_guarded_client(AddressGuard(fetch_hosts=[f"127.0.0.1:{web.port + 1}"])) as client:
        with pytest.raises(FetchError, match="not public"):
            await _fetching(client).fetch(parsed(f"{web.base}/page"))
    await asyncio.sleep(0)
    assert web.fetched == []


@pytest.mark.parametrize("source", ["http://", "https:///x", "http://CANARY:x\x00/"])
def test_what_is_no_address_is_not_shown(source: str) -> None:
    with pytest.raises(FetchError, match="got something that is none") as failure:
        parsed(source)
    assert "CANARY" not in str(failure.value)
