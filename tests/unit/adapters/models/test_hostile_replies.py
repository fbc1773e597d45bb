"""Replies that are meant to cost: packed over and over, nested without end, of a million calls, of endless text."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import attrs
import httpx
import pytest

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.models.served import ServedModel
from openvlharness_core.agent.turns import mend_reply
from openvlharness_core.errors import ModelRefusedError
from openvlharness_core.messages import ModelReply, ModelRequest, UserMessage, VirtualCall
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing.time import FakeClock
from tests.support import responses_server
from tests.support.chat_server import Respond
from tests.support.protocols import CHAT, PROTOCOLS, RESPONSES, Protocol
from tests.support.responses_server import as_events, message, reasoning

ASK = ModelRequest(messages=(UserMessage.of_text("q"),))
JSON = {"Content-Type": "application/json"}


@pytest.fixture(params=list(PROTOCOLS.values()), ids=list(PROTOCOLS))
def protocol(request: pytest.FixtureRequest) -> Protocol:
    chosen: Protocol = request.param
    return chosen


def _model(protocol: Protocol, client: httpx.AsyncClient, **fields: Any) -> ServedModel:
    settings: dict[str, Any] = {"endpoint": "http://h/v1/any", "clock": FakeClock(), "retry": 0}
    return protocol.model(client=client, profile=ModelProfile(alias="p", model_id="m"), **settings | fields)


class _Whole(httpx.AsyncByteStream):
    def __init__(self, data: bytes) -> None:
        self._data = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._data


def _answering(body: bytes, status: int = 200, packing: str = "") -> httpx.AsyncClient:
    async def handler(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, stream=_Whole(body), headers={"Content-Encoding": packing})

    return httpx.AsyncClient(transport=httpx.MockTransport(handler))


async def _reply(protocol: Protocol, body: bytes, **fields: Any) -> ModelReply:
    return await _model(protocol, _answering(body), **fields).complete(ASK)


async def _refusal(protocol: Protocol, client: httpx.AsyncClient, **fields: Any) -> ModelRefusedError:
    with pytest.raises(ModelRefusedError) as failure:
        await _model(protocol, client, **fields).complete(ASK)
    return failure.value


def _as_sent(protocol: Protocol, reply: ModelReply, *, stream: bool) -> bytes:
    """A reply as it travels; texts of a stream come in one piece, so that what stands in them can be replaced."""
    reply = attrs.evolve(reply, finish_reason="stop")
    if not stream:
        return protocol.body(reply)
    return protocol.as_events(protocol.payload(reply), 1 << 30)


def _calling(*calls: tuple[str, str, str]) -> ModelReply:
    """A reply with calls: id, tool, arguments."""
    return ModelReply(calls=tuple(VirtualCall(id=i, tool=tool, arguments=text) for i, tool, text in calls))


def _deep(levels: int) -> bytes:
    return b'{"a": ' * levels + b"1" + b"}" * levels


# Packed


async def test_a_reply_packed_once_is_read_from_a_real_server(protocol: Protocol) -> None:
    packed = gzip.compress(protocol.body(ModelReply(text="x")))
    async with (
        open_client() as client,
        protocol.server([Respond(200, packed, JSON | {"Content-Encoding": "gzip"})]) as server,
    ):
        assert (await _model(protocol, client, endpoint=server.endpoint).complete(ASK)).text == "x"
        asked = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert asked["accept-encoding"] == "gzip"


@pytest.mark.parametrize("packing", ["gzip, gzip", "br", "zstd"])
async def test_a_reply_packed_twice_or_otherwise_is_none(protocol: Protocol, packing: str) -> None:
    body = gzip.compress(gzip.compress(protocol.body(ModelReply(text="x"))))
    error = await _refusal(protocol, _answering(body, packing=packing))
    assert error.code == "not_a_reply"
    assert f"packed as {packing}, expected gzip" in error.message


@pytest.mark.parametrize("packing", ["gzip, gzip", "br"])
async def test_a_refusal_packed_twice_keeps_its_status(protocol: Protocol, packing: str) -> None:
    body = gzip.compress(gzip.compress(b'{"error": {"message": "from the body"}}'))
    error = await _refusal(protocol, _answering(body, 400, packing))
    assert error.code == "http_400"
    assert "from the body" not in error.message


# Nested


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("levels", [65, 250, 900])
async def test_arguments_nested_too_deeply_are_a_failed_call(protocol: Protocol, levels: int, *, stream: bool) -> None:
    body = _as_sent(protocol, _calling(("c", "zoom", "DEEP")), stream=stream).replace(b'"DEEP"', _deep(levels))
    reply = await _reply(protocol, body, keep_native=True)
    mended = mend_reply(reply, frozenset(), 1, "nothing")
    assert mended.calls[0].arguments is None
    assert mended.calls[0].fault is not None
    assert "nested too deeply" in mended.calls[0].fault
    assert mended.calls[0].replayed.arguments == "{}"


async def test_arguments_as_deep_as_is_allowed_are_taken(protocol: Protocol) -> None:
    body = _as_sent(protocol, _calling(("c", "zoom", "DEEP")), stream=False).replace(b'"DEEP"', _deep(64))
    assert mend_reply(await _reply(protocol, body), frozenset(), 1, "nothing").calls[0].fault is None


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_a_further_field_nested_too_deeply_costs_itself_only(*, stream: bool) -> None:
    said = ModelReply(text="x", extras='{"odd": "DEEP", "kept": {"a": 1}}')
    body = _as_sent(CHAT, said, stream=stream).replace(b'"DEEP"', _deep(900))
    reply = await _reply(CHAT, body, keep_native=True)
    assert reply.text == "x"
    assert json.loads(reply.extras) == {"kept": {"a": 1}}


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_an_unknown_field_of_an_item_nested_too_deeply_is_left_out(*, stream: bool) -> None:
    sealed = reasoning("rs_1", "sealed")
    payload = responses_server.response(sealed | {"odd": "DEEP"}, message("x")).payload
    body = as_events(payload) if stream else json.dumps(payload).encode()
    reply = await _reply(RESPONSES, body.replace(b'"DEEP"', _deep(900)), keep_native=True)
    assert reply.text == "x"
    assert json.loads(reply.extras)["output"][0] == sealed


@pytest.mark.parametrize(
    "body",
    [
        _deep(990),
        b"[" * 990 + b"]" * 990,
        b'{"error": ' * 900 + b"1" + b"}" * 900,
        b'{"error": {"message": "said", "loc": ' + _deep(900) + b"}}",
        b'{"error": [' + _deep(900) + b"]}",
    ],
    ids=["objects", "lists", "errors in errors", "a place", "a list of errors"],
)
async def test_a_refusal_nested_too_deeply_keeps_its_status(protocol: Protocol, body: bytes) -> None:
    assert (await _refusal(protocol, _answering(body, 400))).code == "http_400"
    assert (await _refusal(protocol, _answering(body, 200))).code == "not_a_reply"


# Many and long


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_a_reply_of_very_many_calls_is_none_and_says_so(protocol: Protocol, *, stream: bool) -> None:
    body = _as_sent(protocol, _calling(*((f"c{at}", "a", "{}") for at in range(20_000))), stream=stream)
    began = time.process_time()
    error = await _refusal(protocol, _answering(body))
    assert time.process_time() - began < 5  # pairs of them took minutes
    assert error.code == "not_a_reply"
    counted_early = stream and protocol is CHAT
    assert f"expected at most 256 calls, got {'more' if counted_early else 20000}" in error.message


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_as_many_calls_as_are_allowed_are_taken(protocol: Protocol, *, stream: bool) -> None:
    said = _calling(*((f"c{at}", "a", "{}") for at in range(256)))
    reply = await _reply(protocol, _as_sent(protocol, said, stream=stream))
    assert reply.calls == said.calls


def _events(*deltas: object) -> bytes:
    chunks = [{"choices": [{"delta": delta, "finish_reason": "stop"}]} for delta in deltas]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


@pytest.mark.parametrize("index", [None, 0, [0], {"a": 0}], ids=str)
async def test_pieces_of_one_call_find_each_other_whatever_their_index(index: object) -> None:
    first = {"index": index, "id": "c", "function": {"name": "a", "arguments": '{"x"'}}
    second = {"index": index, "function": {"arguments": ": 1}"}}
    reply = await _reply(CHAT, _events({"tool_calls": [first]}, {"tool_calls": [second]}))
    assert [(call.id, call.arguments) for call in reply.calls] == [("c", '{"x": 1}')]


LONG = "x" * (5 << 20)


@pytest.mark.parametrize(
    "said",
    [
        ModelReply(text=LONG + LONG),
        ModelReply(text=LONG, reasoning=LONG),
        _calling(("a", "t", LONG), ("b", "t", LONG)),
    ],
    ids=["text", "text and reasoning", "arguments"],
)
async def test_a_reply_of_endless_text_is_none_and_says_how_long(protocol: Protocol, said: ModelReply) -> None:
    error = await _refusal(protocol, _answering(protocol.body(said)))
    assert error.code == "not_a_reply"
    assert f"expected at most {8 << 20} characters, got {10 << 20}" in error.message


@pytest.mark.parametrize(
    "items",
    [[reasoning(f"rs_{n}") for n in range(5000)], [reasoning("rs_1", LONG + LONG)]],
    ids=["very many", "very long"],
)
async def test_endless_reasoning_is_not_carried_along(items: list[dict[str, Any]]) -> None:
    reply = await _reply(RESPONSES, json.dumps(responses_server.response(*items, message("x")).payload).encode())
    assert (reply.text, reply.extras) == ("x", "{}")


@pytest.mark.parametrize("piece", [b"<", b"<script", b"<a ", b"</script "], ids=repr)
async def test_a_page_of_nothing_but_openings_is_soon_read(protocol: Protocol, piece: bytes) -> None:
    page = b"<html>" + piece * (64 * 1024 // len(piece))
    began = time.process_time()
    assert (await _refusal(protocol, _answering(page, 400))).code == "http_400"
    assert time.process_time() - began < 1
