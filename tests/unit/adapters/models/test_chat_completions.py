"""The client of the Chat Completions protocol: attempts, malformed replies, secrets, streams."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.models.chat_completions import ChatCompletionsModel
from openvlharness_core.errors import (
    ContextLengthError,
    HarnessError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from openvlharness_core.messages import ModelReply, ModelRequest, UserMessage, VirtualCall
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing.time import FakeClock
from tests.support.chat_server import (
    ChatServer,
    Completion,
    Hang,
    Recorded,
    Reset,
    Respond,
    Step,
    as_events,
    calls,
    says,
)
from tests.support.watcher import Watcher

ASK = ModelRequest(messages=(UserMessage.of_text("SECRET-QUESTION"),))
PROFILE = ModelProfile(alias="p", model_id="m")
CANARY = "CANARY-1"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with open_client() as client:
        yield client


def _model(
    client: httpx.AsyncClient, endpoint: str = "http://h/v1/chat/completions", **fields: Any
) -> ChatCompletionsModel:
    clock = FakeClock()
    settings = {"profile": PROFILE, "clock": clock, "on_wait": Watcher(clock), "share": lambda: 1.0, "key": CANARY}
    return ChatCompletionsModel(client=client, endpoint=endpoint, **settings | fields)


def _answering(content: bytes, status: int = 200, **headers: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(status, content=content, headers=headers))
    )


async def _failure(model: ChatCompletionsModel, request: ModelRequest = ASK) -> ModelError:
    with pytest.raises(ModelError) as failure:
        await model.complete(request)
    return failure.value


# Attempts


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_statuses_that_pass_are_tried_again(client: httpx.AsyncClient, status: int) -> None:
    async with ChatServer([Respond.error(status, "busy")] * 3 + [says("hi")]) as server:
        model = _model(client, server.endpoint, retry=3)
        assert (await model.complete(ASK)).text == "hi"
        server.assert_spent()
    assert isinstance(model.on_wait, Watcher)
    assert [wait.seconds for wait in model.on_wait.waits] == [0.5, 1, 2]
    assert all(f"{status} " in wait.reason for wait in model.on_wait.waits)
    assert len({request.body for request in server.requests}) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 501, 505, 302])
async def test_other_statuses_fail_at_once(client: httpx.AsyncClient, status: int) -> None:
    async with ChatServer([Respond.error(status, "no", {"Retry-After": "1"})]) as server:
        error = await _failure(_model(client, server.endpoint, retry=3))
        assert len(server.requests) == 1
    assert isinstance(error, ModelRefusedError)
    assert error.code == f"http_{status}"
    assert server.endpoint in error.message


async def test_attempts_are_counted_exactly(client: httpx.AsyncClient) -> None:
    async with ChatServer([Respond.error(503, "overloaded")] * 4) as server:
        error = await _failure(_model(client, server.endpoint, retry=3))
        server.assert_spent()
    assert isinstance(error, ModelUnavailableError)
    assert "(4 attempts): overloaded" in error.message


async def test_two_days_are_not_waited(client: httpx.AsyncClient) -> None:
    async with ChatServer([Respond.error(429, "slow", {"Retry-After": "198300"})]) as server:
        model = _model(client, server.endpoint, retry=3)
        error = await _failure(model)
        server.assert_spent()
    assert "it asks to wait 198300 s" in error.message
    assert isinstance(error, ModelUnavailableError)
    assert isinstance(model.on_wait, Watcher)
    assert model.on_wait.waits == []


@pytest.mark.parametrize(
    "broken",
    [
        Reset(),
        Reset(b"HTTP/1.1 200 OK\r\nContent-Le"),
        Reset(HEAD + b'{"choices": ['),
        Reset(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"),
        Reset(b"SSH-2.0-OpenSSH_9\r\n"),
    ],
    ids=["at once", "in the head", "in the body", "in a chunk", "another protocol"],
)
async def test_connections_that_break_are_tried_again(client: httpx.AsyncClient, broken: Reset) -> None:
    async with ChatServer([broken, broken, says("hi")]) as server:
        assert (await _model(client, server.endpoint, retry=2).complete(ASK)).text == "hi"
        server.assert_spent()
    async with ChatServer([broken]) as server:
        error = await _failure(_model(client, server.endpoint, retry=0))
    assert isinstance(error, ModelUnavailableError)
    assert error.code == "connection"


async def test_a_port_where_nobody_listens(client: httpx.AsyncClient) -> None:
    async with ChatServer([]) as server:
        endpoint = server.endpoint
    error = await _failure(_model(client, endpoint, retry=2))
    assert isinstance(error, ModelUnavailableError)
    assert (error.code, "(3 attempts)" in error.message) == ("connection", True)


@pytest.mark.parametrize(
    "hang", [Hang(), Hang(b"HTTP/1.1 200 OK\r\nX-Slow: "), Hang(HEAD + b'{"choi')], ids=["mute", "head", "body"]
)
async def test_the_limit_holds_for_the_whole_attempt(client: httpx.AsyncClient, hang: Hang) -> None:
    async with ChatServer([hang, says("hi")]) as server:
        clock = FakeClock()
        model = _model(client, server.endpoint, retry=1, timeout_seconds=9.0, clock=clock, on_wait=Watcher(clock))
        task = asyncio.create_task(model.complete(ASK))
        await server.until(lambda it: it.hanging == 1)
        await clock.advance(8.9)
        assert not task.done()
        await clock.advance(0.2)
        await server.until(lambda it: it.departed == 1)
        assert (await task).text == "hi"
        server.assert_spent()


async def test_running_out_of_time_is_told(client: httpx.AsyncClient) -> None:
    async with ChatServer([Hang()]) as server:
        clock = FakeClock()
        task = asyncio.create_task(_failure(_model(client, server.endpoint, retry=0, timeout_seconds=9.0, clock=clock)))
        await server.until(lambda it: it.hanging == 1)
        await clock.advance(9.0)
        error = await task
    assert isinstance(error, ModelUnavailableError)
    assert (error.code, "no answer within 9 s" in error.message) == ("timeout", True)


async def test_cancelling_interrupts_the_wait(client: httpx.AsyncClient) -> None:
    async with ChatServer([Respond.error(503, "busy")]) as server:
        waiting = asyncio.Event()
        model = _model(client, server.endpoint, retry=5, on_wait=lambda _: waiting.set())
        task = asyncio.create_task(model.complete(ASK))
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(server.requests) == 1


async def test_a_context_error_is_never_tried_again(client: httpx.AsyncClient) -> None:
    for status in (400, 413, 429, 500, 503):
        full = Respond.error(status, "This model's maximum context length is 8 tokens", {"Retry-After": "1"})
        async with ChatServer([full]) as server:
            assert isinstance(await _failure(_model(client, server.endpoint, retry=3)), ContextLengthError)
            server.assert_spent()


async def test_eight_questions_at_once(client: httpx.AsyncClient) -> None:
    barrier = asyncio.Barrier(8)

    async def echo(request: Recorded) -> Step:
        await barrier.wait()
        return says(request.json["messages"][0]["content"])

    async with ChatServer(echo) as server:
        model = _model(client, server.endpoint)
        asked = [str(n) for n in range(8)]
        requests = [ModelRequest(messages=(UserMessage.of_text(text),)) for text in asked]
        replies = await asyncio.gather(*map(model.complete, requests))
        assert [reply.text for reply in replies] == asked
        assert server.connections == 8


# Replies


def _content(**message: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"\xef\xbb\xbf" + _content(content="x"), "x"),
        (b"\n \n" + _content(content="x") + b"\n", "x"),
        (_content(content="a\ud83d b"), "a\ufffd b"),
        (_content(content="🙂"), "🙂"),
        (_content(content="x").replace(b"x", b"\xff"), "\ufffd"),
        (_content(content="x", n=10**400), "x"),
        (b'{"usage": {"a": NaN, "b": 1' + b"0" * 400 + b', "c": 2}, ' + _content(content="x")[1:], "x"),
    ],
)
async def test_a_reply_that_can_be_read_is_read(body: bytes, text: str) -> None:
    reply = await _model(_answering(body)).complete(ASK)
    assert reply.text == text
    assert reply.usage in ({}, {"c": 2})


async def test_a_reply_is_kept_as_it_came_only_when_asked() -> None:
    body = _content(content="x", é="\ud83d")
    assert (await _model(_answering(body)).complete(ASK)).native is None
    kept = (await _model(_answering(b"\xef\xbb\xbf" + body), keep_native=True).complete(ASK)).native
    assert kept == body.decode()


async def test_a_broken_encoding_fails_at_once() -> None:
    async def handler(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=_Raw(b"not gzip"))

    error = await _failure(_model(httpx.AsyncClient(transport=httpx.MockTransport(handler)), retry=3))
    assert error.code == "not_a_reply"


class _Raw(httpx.AsyncByteStream):
    def __init__(self, data: bytes) -> None:
        self.data = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.data


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["choices", "message", "content", "tool_calls", "function", "name", "arguments", "id", "finish_reason", "usage",
             "error", "text", "type", "reasoning", "refusal", "delta", "index", "code", "detail", "msg", "loc"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip
MESSAGE = st.dictionaries(
    st.sampled_from(["content", "tool_calls", "reasoning", "refusal", "x", "function_call"]), JSON
)


@given(JSON | st.builds(lambda m, f: {"choices": [{"message": m, "finish_reason": f}]}, MESSAGE, JSON))
def test_any_json_gives_a_reply_or_an_error_of_ours(payload: object) -> None:
    _reply_or_error(json.dumps(payload).encode())


@given(st.lists(JSON | st.builds(lambda d: {"choices": [{"delta": d}]}, MESSAGE), max_size=4))
def test_any_events_give_a_reply_or_an_error_of_ours(chunks: list[object]) -> None:
    events = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    _reply_or_error(events + b"data: [DONE]\n\n")


@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda tail: _content(content="x")[:30] + tail))
def test_any_bytes_give_a_reply_or_an_error_of_ours(body: bytes) -> None:
    _reply_or_error(body)


def _reply_or_error(body: bytes) -> None:
    async def ask() -> None:
        model = _model(_answering(body), retry=0)
        try:
            reply = await model.complete(ASK)
        except HarnessError:
            return
        assert isinstance(reply, ModelReply)
        assert isinstance(json.loads(reply.extras), dict)
        assert all(isinstance(value, int | float) for value in reply.usage.values())
        hash(reply)

    asyncio.run(ask())


# Streams


@pytest.mark.parametrize(
    "completion",
    [
        says("Hello, <answer>2 🙂</answer>", reasoning_content="hm"),
        calls(("zoom", {"coords": [1, 2, 3, 4]}), text="Closer."),
        calls(("a", {"x": 1}), ("b", {}), ("c", "{broken")),
        says(None, "content_filter"),
    ],
    ids=["text", "call", "calls", "filtered"],
)
async def test_a_streamed_reply_is_the_same(client: httpx.AsyncClient, completion: Completion) -> None:
    replies = []
    for stream in (False, True):
        async with ChatServer([completion]) as server:
            replies.append(await _model(client, server.endpoint, stream=stream).complete(ASK))
            assert server.requests[0].json.get("stream_options") == ({"include_usage": True} if stream else None)
    assert replies[0] == replies[1]
    assert replies[0].usage == {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def _events(completion: Completion, change: Callable[[bytes], bytes]) -> bytes:
    return change(as_events(completion.payload))


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw.replace(b"\n", b"\r"),
        lambda raw: raw.replace(b"data: ", b"data:"),
        lambda raw: raw.replace(b"\n\n", b"\n"),
        lambda raw: b": ping\n\nretry: 5\n\n" + raw.replace(b"data: ", b"event: message\nid: 1\ndata: "),
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.removesuffix(b"data: [DONE]\n\n"),
        lambda raw: raw.removesuffix(b"\n\n"),
        lambda raw: raw.replace(b'"index": 0, "id"', b'"id"').replace(b'{"index": 0, "function"', b'{"function"'),
        lambda raw: b"data: 1\n\ndata: null\n\n" + raw,
    ],
    ids=["crlf", "cr", "no blank", "no empty line", "comments", "mark", "no end", "cut end", "no index", "strays"],
)
async def test_streams_as_servers_send_them(change: Callable[[bytes], bytes]) -> None:
    raw = _events(calls(("zoom", {"x": 1}), text="Closer."), change)
    for content_type in ("text/event-stream; charset=utf-8", ""):
        reply = await _model(_answering(raw, **{"Content-Type": content_type}), stream=True).complete(ASK)
        assert reply.text == "Closer."
        assert reply.calls == (VirtualCall(id="call_0", tool="zoom", arguments='{"x": 1}'),)


async def test_calls_whose_index_is_always_0_are_told_apart_by_id() -> None:
    function = {"name": "zoom", "arguments": "{}"}
    chunks = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": i, "function": function}]}, "finish_reason": "stop"}]}
        for i in "ab"
    ]
    raw = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    reply = await _model(_answering(raw), stream=True).complete(ASK)
    assert [call.id for call in reply.calls] == ["a", "b"]
    assert [call.arguments for call in reply.calls] == ["{}", "{}"]


async def test_a_server_that_does_not_stream_is_understood() -> None:
    for content_type in ("application/json", "text/event-stream"):
        client = _answering(_content(content="x"), **{"Content-Type": content_type})
        assert (await _model(client, stream=True).complete(ASK)).text == "x"


async def test_a_stream_that_was_cut_is_tried_again(client: httpx.AsyncClient) -> None:
    cut = as_events(says("Hello").payload)[:200]
    headers = {"Content-Type": "text/event-stream"}
    async with ChatServer([Respond(200, cut[: cut.rindex(b"\n\n") + 2], headers), says("hi")]) as server:
        assert (await _model(client, server.endpoint, stream=True, retry=1).complete(ASK)).text == "hi"
        server.assert_spent()


# Secrets and settings


def _echo_everything(request: httpx.Request) -> dict[str, object]:
    return {"headers": dict(request.headers), "body": request.content.decode(), "key": CANARY}


@pytest.mark.parametrize("status", [200, 401, 422, 500])
@pytest.mark.parametrize("shape", ["json", "message", "detail", "text", "page", "header"])
async def test_no_key_and_no_question_in_any_error(status: int, shape: str) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        seen = _echo_everything(request)
        assert CANARY in str(seen)
        match shape:
            case "json":
                return httpx.Response(status, json={"error": seen})
            case "message":
                return httpx.Response(status, json={"error": {"message": f"bad key {CANARY}, sent Bearer {CANARY}"}})
            case "detail":
                detail = [{"loc": ["body"], "msg": f"no {CANARY}", "input": seen}]
                return httpx.Response(status, json={"detail": detail})
            case "text":
                return httpx.Response(status, text=f"x-key: {CANARY}; {seen['body']}")
            case "page":
                return httpx.Response(status, html=f"<html>{CANARY} {'x ' * 180}{CANARY}</html>")
        return httpx.Response(status, headers={"X-Echo": CANARY, "Retry-After": CANARY})

    model = _model(httpx.AsyncClient(transport=httpx.MockTransport(handler)), retry=1)
    error = await _failure(model)
    _holds_no_secret(error, model)


@pytest.mark.parametrize(
    "raised",
    [
        httpx.LocalProtocolError(f"Illegal header value b'Bearer {CANARY}'"),
        httpx.ConnectError(f"connecting with {CANARY} failed"),
        httpx.ProxyError(f"http://u:{CANARY}@proxy refused"),
        httpx.InvalidURL(f"http://{CANARY}"),
        OSError(5, CANARY),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_no_key_from_what_the_client_raises(raised: Exception) -> None:
    def handler(_: httpx.Request) -> httpx.Response:
        raise raised

    model = _model(httpx.AsyncClient(transport=httpx.MockTransport(handler)), retry=1)
    _holds_no_secret(await _failure(model), model)


def _holds_no_secret(error: ModelError, model: ChatCompletionsModel) -> None:
    assert isinstance(model.on_wait, Watcher)
    told = [str(error), repr(error), "".join(traceback.format_exception(error)), repr(model), repr(model._service)]
    told += [f"{wait} {wait!r}" for wait in model.on_wait.waits]
    for secret in (CANARY, "CANARY", "SECRET-QUESTION"):
        assert not [text for text in told if secret in text]
    # Not only unprinted: nothing that holds the request hangs on the error.
    assert error.__context__ is None
    assert error.__cause__ is None


async def test_the_key_is_sent_and_only_where_there_is_one(client: httpx.AsyncClient) -> None:
    async with ChatServer([says("a"), says("b"), says("c")]) as server:
        for key in ("sk-1", "empty", None):
            await _model(client, server.endpoint, key=key).complete(ASK)
    assert [request.headers.get("authorization") for request in server.requests] == ["Bearer sk-1", None, None]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"key": "CANARY-2\n"}, "key"),
        ({"endpoint": "http://u:CANARY-3@h/v1/chat/completions"}, "endpoint"),
        ({"options": {"messages": [], "model": "x"}}, "options"),
        ({"profile": ModelProfile(alias="p")}, "model_id"),
        ({"profile": ModelProfile(alias="p", model_id="m", replay_fields=("content",))}, "profile.replay_fields"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"retry": -1}, "retry"),
    ],
)
def test_a_setting_that_cannot_be_is_named(fields: dict[str, Any], place: str) -> None:
    with pytest.raises(ValueError, match="expected") as refused:
        _model(httpx.AsyncClient(), **fields)
    assert str(refused.value).startswith(f"{place}: ")
    assert "CANARY" not in "".join(traceback.format_exception(refused.value)).replace(repr(fields), "")


async def test_options_pass_through_in_front_of_the_messages(client: httpx.AsyncClient) -> None:
    options = {"temperature": 0.0, "reasoning_effort": "high", "top_k": 5, "service_tier": "flex"}
    async with ChatServer([says("a")]) as server:
        await _model(client, server.endpoint, options=options, model_id="other", stream=True).complete(ASK)
    sent = list(server.requests[0].json)
    assert sent == ["model", "stream", "stream_options", *options, "messages"]
    assert server.requests[0].json["model"] == "other"
    assert int(server.requests[0].headers["content-length"]) == len(server.requests[0].body)


async def test_a_server_in_a_thread_serves_another_loop() -> None:
    with ChatServer([says("a")]).in_thread() as server:
        async with open_client() as client:
            assert (await _model(client, server.endpoint).complete(ASK)).text == "a"
    server.assert_spent()
