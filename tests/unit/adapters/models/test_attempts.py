"""How often a model service is asked, and after which waits: one table, over both protocols, in no real time.

Attempts are counted where they arrive, at the server. Nobody but `with_retries` makes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Any

import httpx
import pytest

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.models.served import ServedModel
from openvlharness_core.errors import ModelError, ModelRefusedError, ModelUnavailableError
from openvlharness_core.messages import ModelRequest, UserMessage
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing.time import FakeClock, settle
from tests.support.chat_server import ChatServer, Hang, Reset, Respond
from tests.support.protocols import PROTOCOLS, Protocol
from tests.support.watcher import Watcher

ASK = ModelRequest(messages=(UserMessage.of_text("Hi"),))
NOW = FakeClock().wall()
AGAIN = {408, 429, 500, 502, 503, 504}
STATUSES = (400, 401, 403, 404, 408, 409, 422, 429, 500, 501, 502, 503, 504)
RETRIES = 3
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture(params=PROTOCOLS.values(), ids=PROTOCOLS.keys())
def protocol(request: pytest.FixtureRequest) -> Protocol:
    made: Protocol = request.param
    return made


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with open_client() as client:
        yield client


def _model(protocol: Protocol, client: httpx.AsyncClient, server: ChatServer, **fields: Any) -> ServedModel:
    clock = FakeClock()
    profile = ModelProfile(alias="p", model_id="m", adapter=protocol.name)  # type: ignore[arg-type]
    settings = {"clock": clock, "on_wait": Watcher(clock), "share": lambda: 1.0, "retry": RETRIES}
    return protocol.model(client=client, endpoint=server.endpoint, profile=profile, **settings | fields)


def _waits(model: ServedModel) -> list[float]:
    assert isinstance(model.on_wait, Watcher)
    return [wait.seconds for wait in model.on_wait.waits]


async def _failure(model: ServedModel) -> ModelError:
    with pytest.raises(ModelError) as failure:
        await model.complete(ASK)
    return failure.value


@pytest.mark.parametrize("status", STATUSES)
async def test_attempts_of_a_status_that_stays(protocol: Protocol, client: httpx.AsyncClient, status: int) -> None:
    attempts = RETRIES + 1 if status in AGAIN else 1
    async with protocol.server([Respond.error(status, "no")] * attempts) as server:
        model = _model(protocol, client, server)
        error = await _failure(model)
        server.assert_spent()
        assert len(server.requests) == attempts
    assert type(error) is (ModelUnavailableError if status in AGAIN else ModelRefusedError)
    assert error.code == f"http_{status}"
    assert _waits(model) == [0.5, 1.0, 2.0][: attempts - 1]


@pytest.mark.parametrize("status", sorted(AGAIN))
@pytest.mark.parametrize("failures", [1, RETRIES])
async def test_attempts_of_a_status_that_passes(
    protocol: Protocol, client: httpx.AsyncClient, status: int, failures: int
) -> None:
    async with protocol.server([Respond.error(status, "no")] * failures + [protocol.says("hi")]) as server:
        assert (await _model(protocol, client, server).complete(ASK)).text == "hi"
        server.assert_spent()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("30", 30.0),
        ("0", 0.0),
        ("0.25", 0.25),
        (formatdate(NOW + 12, usegmt=True), 12.0),
        (formatdate(NOW + 30, usegmt=True), 30.0),
        (formatdate(NOW - 100, usegmt=True), 0.0),
        ("-1", 0.5),
        ("NaN", 0.5),
        ("inf", 0.5),
        ("", 0.5),
        ("soon", 0.5),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_the_wait_that_a_server_names(
    protocol: Protocol, client: httpx.AsyncClient, header: str, seconds: float, status: int
) -> None:
    script = [Respond.error(status, "later", {"Retry-After": header}), protocol.says("hi")]
    async with protocol.server(script) as server:
        model = _model(protocol, client, server)
        assert (await model.complete(ASK)).text == "hi"
        server.assert_spent()
    assert _waits(model) == [seconds]


@pytest.mark.parametrize("header", ["31", "198300", "9" * 400, formatdate(NOW + 172_800, usegmt=True)])
async def test_a_wait_beyond_thirty_seconds_ends_the_call(
    protocol: Protocol, client: httpx.AsyncClient, header: str
) -> None:
    async with protocol.server([Respond.error(429, "later", {"Retry-After": header})]) as server:
        model = _model(protocol, client, server)
        error = await _failure(model)
        server.assert_spent()
    assert isinstance(error, ModelUnavailableError)
    assert "it asks to wait" in error.message
    assert _waits(model) == []


async def test_a_named_wait_of_what_is_not_tried_again_is_nothing(
    protocol: Protocol, client: httpx.AsyncClient
) -> None:
    async with protocol.server([Respond.error(422, "no", {"Retry-After": "198300"})]) as server:
        error = await _failure(_model(protocol, client, server))
        server.assert_spent()
    assert "asks to wait" not in error.message


@pytest.mark.parametrize(
    "broken",
    [Reset(), Reset(HEAD + b'{"choices": ['), Reset(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{")],
    ids=["before the head", "in the body", "in a chunk"],
)
async def test_attempts_of_connections_that_break(protocol: Protocol, client: httpx.AsyncClient, broken: Reset) -> None:
    async with protocol.server([broken] * (RETRIES + 1)) as server:
        model = _model(protocol, client, server)
        error = await _failure(model)
        server.assert_spent()
    assert isinstance(error, ModelUnavailableError)
    assert error.code == "connection"
    assert _waits(model) == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("hang", [Hang(), Hang(HEAD + b'{"choi')], ids=["mute", "in the body"])
async def test_attempts_that_run_out_of_time(protocol: Protocol, client: httpx.AsyncClient, hang: Hang) -> None:
    async with protocol.server([hang, hang]) as server:
        model = _model(protocol, client, server, retry=1, timeout_seconds=9.0)
        clock = model.clock
        assert isinstance(clock, FakeClock)
        asking = asyncio.create_task(_failure(model))
        for number in (1, 2):
            await server.until(lambda it, number=number: it.hanging == 1 and len(it.requests) == number)  # type: ignore[misc]
            await clock.advance(9.0)
            await server.until(lambda it, number=number: it.departed == number)  # type: ignore[misc]
        error = await asking
        server.assert_spent()
    assert (error.code, "(2 attempts)" in error.message) == ("timeout", True)
    assert _waits(model) == [0.5]


async def test_cancelling_ends_a_wait_and_no_request_follows(protocol: Protocol, client: httpx.AsyncClient) -> None:
    waiting, clock = asyncio.Event(), FakeClock()
    async with protocol.server([Respond.error(503, "no", {"Retry-After": "30"})]) as server:
        model = _model(protocol, client, server, clock=clock, on_wait=lambda _: waiting.set())
        asking = asyncio.create_task(model.complete(ASK))
        await waiting.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await clock.advance(60.0)
        await settle()
        assert len(server.requests) == 1


async def test_different_failures_share_one_count(protocol: Protocol, client: httpx.AsyncClient) -> None:
    script = [
        Respond.error(503, "no"),
        Reset(),
        Respond.error(429, "no", {"Retry-After": "4"}),
        Respond.error(500, "no"),
    ]
    async with protocol.server(script) as server:
        model = _model(protocol, client, server)
        error = await _failure(model)
        server.assert_spent()
    assert error.code == "http_500"
    assert "(4 attempts)" in error.message
    assert _waits(model) == [0.5, 1.0, 4.0]
