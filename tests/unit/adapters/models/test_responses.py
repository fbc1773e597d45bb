"""What is particular to the Responses protocol: its options, its streams, its failures, what it is asked for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.http.endpoints import endpoint_of
from openvlharness_adapters.models.responses import ENDPOINT, ResponsesModel
from openvlharness_core.errors import ContextLengthError, ModelError, ModelRefusedError, ModelUnavailableError
from openvlharness_core.messages import ModelReply, ModelRequest, SystemMessage, UserMessage, VirtualCall
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing.time import FakeClock
from tests.support.chat_server import Completion, Reset, Respond, Step
from tests.support.responses_server import (
    ResponsesServer,
    as_events,
    call,
    calls,
    in_lines,
    message,
    reasoning,
    response,
    says,
)
from tests.support.watcher import Watcher

ASK = ModelRequest(messages=(UserMessage.of_text("SECRET-QUESTION"),))
PROFILE = ModelProfile(alias="p", model_id="m")
STREAM = {"Content-Type": "text/event-stream"}


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with open_client() as client:
        yield client


def _model(client: httpx.AsyncClient, endpoint: str = "http://h/v1/responses", **fields: Any) -> ResponsesModel:
    clock = FakeClock()
    settings: dict[str, Any] = {"profile": PROFILE, "clock": clock, "on_wait": Watcher(clock), "share": lambda: 1.0}
    settings |= {"key": "CANARY-1"}
    return ResponsesModel(client=client, endpoint=endpoint, **settings | fields)


def _answering(content: bytes, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, content=content, headers=headers))
    )


async def _failure(model: ResponsesModel) -> ModelError:
    with pytest.raises(ModelError) as failure:
        await model.complete(ASK)
    return failure.value


# What is asked


async def test_a_body_in_its_order(client: httpx.AsyncClient) -> None:
    options = {"temperature": 0.0, "reasoning_effort": "high", "max_tokens": 50, "service_tier": "flex"}
    async with ResponsesServer([says("a")]) as server:
        endpoint = endpoint_of(server.base_url + "/v1", ENDPOINT)
        model = _model(client, endpoint, options=options, model_id="other", stream=True)
        await model.complete(ModelRequest(messages=(SystemMessage(text="s"), *ASK.messages), seed=7))
        server.assert_spent()
    sent = server.requests[0].json
    assert list(sent.items())[:-1] == [
        ("model", "other"),
        ("stream", True),
        ("store", False),
        ("include", ["reasoning.encrypted_content"]),
        ("temperature", 0.0),
        ("reasoning", {"effort": "high"}),
        ("max_output_tokens", 50),
        ("service_tier", "flex"),
    ]
    assert [(item["role"], item["content"]) for item in sent["input"]] == [("system", "s"), ("user", "SECRET-QUESTION")]
    assert server.requests[0].headers["authorization"] == "Bearer CANARY-1"
    assert int(server.requests[0].headers["content-length"]) == len(server.requests[0].body)


async def test_sealed_reasoning_is_not_asked_of_a_model_that_does_none(client: httpx.AsyncClient) -> None:
    plain = ModelProfile(alias="p", model_id="m", reasoning_efforts=())
    anyone = ModelProfile(alias="p")
    async with ResponsesServer([says("a"), says("b"), says("c")]) as server:
        await _model(client, server.endpoint, profile=plain).complete(ASK)
        await _model(client, server.endpoint, profile=anyone, model_id="m").complete(ASK)
        effort = {"reasoning_effort": "low"}
        await _model(client, server.endpoint, profile=anyone, model_id="m", options=effort).complete(ASK)
    assert ["include" in request.json for request in server.requests] == [False, False, True]


async def test_an_effort_joins_other_wishes_about_the_reasoning(client: httpx.AsyncClient) -> None:
    options = {"reasoning": {"summary": "auto"}, "reasoning_effort": "low"}
    async with ResponsesServer([says("a")]) as server:
        await _model(client, server.endpoint, options=options).complete(ASK)
    assert server.requests[0].json["reasoning"] == {"summary": "auto", "effort": "low"}


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"options": {"input": [], "store": True}}, "options: expected generation options, got input, store"),
        ({"options": {"previous_response_id": "x"}}, "options"),
        ({"options": {"max_tokens": 5, "max_output_tokens": 6}}, "options: expected each field once"),
        ({"options": {"reasoning": {"effort": "low"}, "reasoning_effort": "low"}}, "options: expected each field once"),
        ({"key": "CANARY-2\n"}, "key"),
        ({"endpoint": "http://u:CANARY-3@h/v1/responses"}, "endpoint"),
        ({"profile": ModelProfile(alias="p")}, "model_id"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"retry": -1}, "retry"),
    ],
)
def test_a_setting_that_cannot_be_is_named(fields: dict[str, Any], place: str) -> None:
    with pytest.raises(ValueError, match="expected") as refused:
        _model(httpx.AsyncClient(), **fields)
    assert str(refused.value).startswith(place)


# Attempts


async def test_what_passes_is_tried_again(client: httpx.AsyncClient) -> None:
    script: list[Step] = [
        Respond.error(503, "busy"),
        Reset(),
        Respond.error(429, "slow", {"Retry-After": "3"}),
        says("hi"),
    ]
    async with ResponsesServer(script) as server:
        model = _model(client, server.endpoint, retry=3)
        assert (await model.complete(ASK)).text == "hi"
        server.assert_spent()
    assert isinstance(model.on_wait, Watcher)
    assert [wait.seconds for wait in model.on_wait.waits] == [0.5, 1, 3]
    assert len({request.body for request in server.requests}) == 1


async def test_a_failed_response_fails_at_once(client: httpx.AsyncClient) -> None:
    failed = response(status="failed", error={"code": "server_error", "message": "it broke"})
    async with ResponsesServer([failed]) as server:
        error = await _failure(_model(client, server.endpoint, retry=3))
        server.assert_spent()
    assert isinstance(error, ModelRefusedError)
    assert "it broke" in error.message


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_a_full_context_inside_a_failed_response(client: httpx.AsyncClient, *, stream: bool) -> None:
    failed = response(status="failed", error={"code": "context_length_exceeded", "message": "too long"})
    async with ResponsesServer([failed]) as server:
        error = await _failure(_model(client, server.endpoint, retry=3, stream=stream))
    assert isinstance(error, ContextLengthError)


# Replies


async def test_a_byte_order_mark_and_half_a_pair() -> None:
    body = json.dumps(says("a\ud83d b 🙂").payload).encode()
    reply = await _model(_answering(b"\xef\xbb\xbf" + body)).complete(ASK)
    assert reply.text == "a\ufffd b 🙂"
    assert json.loads(reply.extras)["output"][0]["content"][0]["text"] == "a\ufffd b 🙂"


async def test_a_reply_is_kept_as_it_came_only_when_asked() -> None:
    body = json.dumps(says("x").payload).encode()
    assert (await _model(_answering(body)).complete(ASK)).native is None
    assert (await _model(_answering(body), keep_native=True).complete(ASK)).native == body.decode()


@pytest.mark.parametrize(
    ("spent", "truncated"), [(16, True), (17, True), (15, False), (None, False)], ids=["met", "passed", "not", "unsaid"]
)
async def test_a_cut_that_is_called_complete_is_told_by_the_limit(spent: int | None, *, truncated: bool) -> None:
    cut = response(call("zoom", '{"x": "in'), usage=None if spent is None else {"output_tokens": spent}).payload
    model = _model(_answering(json.dumps(cut).encode()), options={"max_tokens": 16})
    reply = await model.complete(ASK)
    assert reply.calls[0].truncated is truncated
    assert reply.finish_reason == ("length" if truncated else "tool_calls")


# Streams

STREAMED = {
    "text": says("Hello, <answer>2 🙂</answer>", reasoning(summary=[{"type": "summary_text", "text": "hm hm hm"}])),
    "call": calls(("zoom", {"coords": [1, 2, 3, 4]}), text="Closer.", before=[reasoning()]),
    "calls": calls(("a", {"x": 1}), ("b", {}), ("c", "{broken")),
    "cut": response(call("a", '{"x'), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    "filtered": response(status="incomplete", incomplete_details={"reason": "content_filter"}),
    "refused": response(message("") | {"content": [{"type": "refusal", "refusal": "I will not."}]}),
    "unknown items": response(reasoning(), {"type": "web_search_call", "id": "ws"}, message("x")),
}


@pytest.mark.parametrize("completion", STREAMED.values(), ids=STREAMED.keys())
async def test_a_streamed_reply_is_the_same(client: httpx.AsyncClient, completion: Completion) -> None:
    replies = []
    for stream in (False, True):
        async with ResponsesServer([completion]) as server:
            replies.append(await _model(client, server.endpoint, stream=stream).complete(ASK))
            assert server.requests[0].json.get("stream") == (True if stream else None)
    assert replies[0] == replies[1]
    assert replies[0].usage == {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}


def _events(raw: bytes) -> list[dict[str, Any]]:
    lines = [line for line in raw.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def _without(*kinds: str) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda events: [event for event in events if event["type"] not in kinds]


def _bare_end(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    whole = events[-1]["response"]
    return [*events[:-1], events[-1] | {"response": {**whole, "output": []}}]


def _unplaced(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in event.items() if key not in ("output_index", "item_id")} for event in events]


def _by_id(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in event.items() if key != "output_index"} for event in events]


WHOLE = calls(("zoom", {"x": 1}), text="Closer.", before=[reasoning()]).payload
for _number, _item in enumerate(WHOLE["output"]):
    _item.setdefault("id", f"item_{_number}")


@pytest.mark.parametrize(
    "change",
    [
        lambda events: events,
        _bare_end,
        lambda events: _bare_end(_without("response.function_call_arguments.done")(events)),
        lambda events: _bare_end(_without("response.output_item.added")(events)),
        lambda events: _bare_end(_unplaced(events)),
        lambda events: _bare_end(_by_id(events)),
        lambda events: [{"type": "response.queued"}, {"type": "novelty", "delta": 1}, *events],
    ],
    ids=["as it should be", "bare end", "no end of arguments", "nothing announced", "no places", "ids only", "strays"],
)
async def test_streams_as_services_send_them(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    wanted = await _model(_answering(json.dumps(WHOLE).encode())).complete(ASK)
    raw = in_lines(change(_events(as_events(WHOLE))))
    assert await _model(_answering(raw, STREAM), stream=True).complete(ASK) == wanted


async def test_pieces_alone_make_the_texts_and_the_calls() -> None:
    """A service that neither finishes its items nor repeats them at the end."""
    raw = in_lines(_bare_end(_without("response.output_item.done")(_events(as_events(WHOLE)))))
    reply = await _model(_answering(raw, STREAM), stream=True).complete(ASK)
    assert reply.text == "Closer."
    assert reply.calls == (VirtualCall(id="call_0", tool="zoom", arguments='{"x": 1}'),)


async def test_a_stream_that_closes_in_good_order_without_its_last_event() -> None:
    raw = in_lines(_events(as_events(WHOLE))[:-1]) + b"data: [DONE]\n\n"
    reply = await _model(_answering(raw, STREAM), stream=True).complete(ASK)
    assert (reply.text, len(reply.calls), reply.finish_reason) == ("Closer.", 1, "tool_calls")


@pytest.mark.parametrize("mark", [b"", b"data: [DONE]\n\n"], ids=["no mark", "a mark behind half an item"])
async def test_a_stream_that_was_cut_is_tried_again(client: httpx.AsyncClient, mark: bytes) -> None:
    events = _events(as_events(WHOLE))
    cut = in_lines(events[: next(n for n, event in enumerate(events) if "delta" in event) + 1]) + mark
    async with ResponsesServer([Respond(200, cut, STREAM), says("hi")]) as server:
        assert (await _model(client, server.endpoint, stream=True, retry=1).complete(ASK)).text == "hi"
        server.assert_spent()
    error = await _failure(_model(_answering(cut, STREAM), stream=True, retry=0))
    assert isinstance(error, ModelUnavailableError)


async def test_a_service_that_does_not_stream_is_understood() -> None:
    body = json.dumps(says("x").payload).encode()
    assert (await _model(_answering(body, STREAM), stream=True).complete(ASK)).text == "x"
    assert isinstance(await _model(_answering(as_events(says("x").payload))).complete(ASK), ModelReply)
