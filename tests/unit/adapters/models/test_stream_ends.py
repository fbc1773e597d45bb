"""A stream ends with its last event, however long the server leaves the connection open behind it."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.models.event_stream import StreamEnd
from openvlharness_adapters.models.served import ServedModel
from openvlharness_core.errors import ModelRefusedError, ModelUnavailableError
from openvlharness_core.messages import ModelReply, ModelRequest, UserMessage
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing.time import FakeClock
from tests.support.chat_server import Hang, Respond
from tests.support.protocols import CHAT, PROTOCOLS, RESPONSES, Protocol

ASK = ModelRequest(messages=(UserMessage.of_text("q"),))
SAID = ModelReply(text="hi", finish_reason="stop")
NEVER_LONGER_SECONDS = 20.0
"""Real time; only a test that fails needs it."""


@pytest.fixture(params=list(PROTOCOLS.values()), ids=list(PROTOCOLS))
def protocol(request: pytest.FixtureRequest) -> Protocol:
    chosen: Protocol = request.param
    return chosen


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with open_client() as client:
        yield client


def _model(protocol: Protocol, client: httpx.AsyncClient, endpoint: str, **fields: Any) -> ServedModel:
    settings: dict[str, Any] = {"clock": FakeClock(), "retry": 0, "stream": True} | fields
    profile = ModelProfile(alias="p", model_id="m")
    return protocol.model(client=client, endpoint=endpoint, profile=profile, **settings)


async def _complete(model: ServedModel) -> ModelReply:
    return await asyncio.wait_for(model.complete(ASK), NEVER_LONGER_SECONDS)


def _head(packing: str = "", content_type: str = "text/event-stream") -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Type: {content_type}"]
    lines += [f"Content-Encoding: {packing}"] if packing else []
    return "\r\n".join([*lines, "", ""]).encode()


def _chunks(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


async def test_a_whole_reply_counts_though_the_connection_stays_open(
    protocol: Protocol, client: httpx.AsyncClient
) -> None:
    events = protocol.as_events(protocol.payload(SAID))
    async with protocol.server([Hang(_head() + events), protocol.says("again")]) as server:
        model = _model(protocol, client, server.endpoint)
        assert (await _complete(model)).text == "hi"
        await server.until(lambda it: it.departed == 1)  # the connection was given up, not kept
        assert (await _complete(model)).text == "again"
        server.assert_spent()
        assert (len(server.requests), server.connections) == (2, 2)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
async def test_packed_or_undeclared_or_of_other_line_ends(
    protocol: Protocol, client: httpx.AsyncClient, line_end: bytes, content_type: str
) -> None:
    events = protocol.as_events(protocol.payload(SAID)).replace(b"\n", line_end)
    steps = [
        Hang(_head(content_type=content_type) + events),
        Hang(_head("gzip", content_type) + gzip.compress(events)),
    ]
    async with protocol.server(steps) as server:
        for _ in steps:
            assert (await _complete(_model(protocol, client, server.endpoint))).text == "hi"
        server.assert_spent()


async def test_a_mark_without_an_end_of_line_closes_a_stream(client: httpx.AsyncClient) -> None:
    events = CHAT.as_events(CHAT.payload(SAID)).rstrip(b"\n")
    assert events.endswith(b"[DONE]")
    async with CHAT.server([Hang(_head() + events)]) as server:
        assert (await _complete(_model(CHAT, client, server.endpoint))).text == "hi"


async def test_an_error_ends_a_stream(protocol: Protocol, client: httpx.AsyncClient) -> None:
    event = {"type": "error", "error": {"message": "overloaded"}}
    async with protocol.server([Hang(_head() + b"data: " + json.dumps(event).encode() + b"\n\n")]) as server:
        with pytest.raises(ModelRefusedError, match="overloaded"):
            await _complete(_model(protocol, client, server.endpoint))


@pytest.mark.parametrize("kind", ["incomplete", "failed"])
async def test_every_last_event_of_a_response_ends_it(client: httpx.AsyncClient, kind: str) -> None:
    payload = RESPONSES.payload(SAID) | {"status": kind}
    events = RESPONSES.as_events(payload)
    assert f"response.{kind}".encode() in events
    async with RESPONSES.server([Hang(_head() + events)]) as server:
        asking = _complete(_model(RESPONSES, client, server.endpoint))
        if kind == "failed":
            with pytest.raises(ModelRefusedError, match="failed"):
                await asking
        else:
            assert (await asking).finish_reason == "length"


async def test_a_stream_that_ends_in_good_order_leaves_its_connection_to_the_next(
    protocol: Protocol, client: httpx.AsyncClient
) -> None:
    steps = [protocol.says(str(n)) for n in range(3)]
    async with protocol.server(steps) as server:
        model = _model(protocol, client, server.endpoint)
        assert [(await _complete(model)).text for _ in steps] == ["0", "1", "2"]
        assert server.connections == 1


async def test_so_does_one_whose_end_comes_in_a_chunk_of_its_own(protocol: Protocol, client: httpx.AsyncClient) -> None:
    events = protocol.as_events(protocol.payload(SAID))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while head := await reader.readline():
            while (line := await reader.readline()).strip():
                head += line
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            assert length is not None
            await reader.readexactly(int(length[1]))
            writer.write(_head().replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n") + _chunks(events))
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        writer.close()

    connections = 0
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        path = protocol.server.path
        model = _model(protocol, client, f"http://127.0.0.1:{port}{path}")
        for _ in range(3):
            assert (await _complete(model)).text == "hi"
        await client.aclose()
    assert connections == 1


async def test_a_broken_end_behind_a_whole_reply_costs_nothing(protocol: Protocol, client: httpx.AsyncClient) -> None:
    events = protocol.as_events(protocol.payload(SAID))
    head = _head().replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    async with protocol.server([Hang(head + _chunks(events) + b"no chunk\r\n")]) as server:
        assert (await _complete(_model(protocol, client, server.endpoint))).text == "hi"


async def test_half_a_stream_still_runs_out_of_time(protocol: Protocol, client: httpx.AsyncClient) -> None:
    events = protocol.as_events(protocol.payload(SAID))
    clock = FakeClock()
    async with protocol.server([Hang(_head() + events[: len(events) // 2])]) as server:
        asking = asyncio.create_task(_model(protocol, client, server.endpoint, clock=clock).complete(ASK))
        await server.until(lambda it: it.hanging == 1)
        await clock.advance(601.0)
        with pytest.raises(ModelUnavailableError, match="no answer within"):
            await asking


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_the_end_is_found_where_it_is_however_the_pieces_are_cut(protocol: Protocol, size: int) -> None:
    text = 'says [DONE], "error" and response.completed'
    events = protocol.as_events(protocol.payload(ModelReply(text=text, finish_reason="stop")), 1 << 20)
    end = StreamEnd("", protocol.model.dialect.is_last)
    body = bytearray()
    found = None
    for at in range(0, len(events), size):
        body += events[at : at + size]
        if end(body):
            found = len(body)
            break
    assert found is not None
    last = events.rstrip(b"\n").rfind(b"\n") + 1
    assert last < found <= len(events)


def test_a_last_event_over_several_lines_is_one() -> None:
    end = StreamEnd("text/event-stream", RESPONSES.model.dialect.is_last)
    body = bytearray(b'data: {"type":\ndata: "response.completed",\ndata: "response": {}}\n')
    assert not end(body)
    body += b"\n"
    assert end(body)


@pytest.mark.parametrize("body", [b'{"choices": [{"x": "\\ndata: [DONE]"}]}\n', b"[1,\ndata: [DONE]\n", b"", b"\n"])
def test_json_is_no_stream_and_never_ends_early(protocol: Protocol, body: bytes) -> None:
    assert not StreamEnd("text/event-stream", protocol.model.dialect.is_last)(bytearray(body))


async def test_the_beginning_of_a_plain_body_is_read_to_its_end(protocol: Protocol, client: httpx.AsyncClient) -> None:
    body = json.dumps(protocol.payload(ModelReply(text="data: [DONE]\n\n", finish_reason="stop")), indent=1).encode()
    async with protocol.server([Respond(200, body)]) as server:
        assert (await _complete(_model(protocol, client, server.endpoint))).text == "data: [DONE]\n\n"
