"""The auxiliary client over the openai SDK: what it sends, how often, and what its failures say."""

from __future__ import annotations

import asyncio
import gzip
import json
import traceback
import tracemalloc
from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Any

import httpx
import openai._base_client as sdk
import pytest

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.http.proxies import ProxySettings
from openvlharness_adapters.models.auxiliary import OpenAIAuxiliary
from openvlharness_core.errors import ContextLengthError, ModelError, ModelRefusedError, ModelUnavailableError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.time import FakeClock
from tests.support.chat_server import ChatServer, Hang, Reset, Respond, Script, says

CANARY = "CANARY-1"
SOON = {"Retry-After-Ms": "1"}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with open_client() as client:
        yield client


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the SDK would have slept, which it does with anyio and not with a clock of ours."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(sdk.anyio, "sleep", sleep)
    return slept


def _model(client: httpx.AsyncClient, endpoint: str, **fields: Any) -> OpenAIAuxiliary:
    settings = {"model_id": "m", "clock": FakeClock(), "key": CANARY} | fields
    return OpenAIAuxiliary(client=client, endpoint=endpoint, **settings)


async def _failure(model: OpenAIAuxiliary) -> ModelError:
    with pytest.raises(ModelError) as failure:
        await model.write("SECRET-PROMPT")
    return failure.value


def _server(script: Script) -> ChatServer:
    return ChatServer(script, prefix=False)


# What is sent


async def test_one_greedy_request_of_8192_tokens(client: httpx.AsyncClient) -> None:
    async with _server([says("s")]) as server:
        pixel = EncodedImage(data=b"\xff\xd8\xff", media_type="image/jpeg", size_hw=(1, 1))
        written = await _model(client, server.endpoint).write("p", system="s", images=[pixel])
        server.assert_spent()
    (sent,) = server.requests
    assert sent.json == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "p"},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/"}},
                ],
            },
        ],
        "max_tokens": 8192,
        "temperature": 0.0,
    }
    assert sent.headers["authorization"] == f"Bearer {CANARY}"
    assert written.spent.usage == {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    assert (written.spent.role, written.spent.model) == ("auxiliary", "m")


async def test_a_judge_spends_under_its_own_role_and_may_leave_the_temperature_out(client: httpx.AsyncClient) -> None:
    async with _server([says("s")]) as server:
        model = _model(client, server.endpoint, role="judge", temperature=None, max_tokens=16)
        assert (await model.write("p")).spent.role == "judge"
    assert server.requests[0].json["max_tokens"] == 16
    assert "temperature" not in server.requests[0].json


async def test_nothing_of_the_environment_is_sent(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "LEAKED")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/LEAKED")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: LEAKED\nAuthorization: Bearer LEAKED")
    async with _server([says("s"), says("s")]) as server:
        await _model(client, server.endpoint, key="empty").write("p")
        await _model(client, server.endpoint).write("p")
        server.assert_spent()
    anonymous, keyed = (request.headers for request in server.requests)
    assert "authorization" not in anonymous
    assert keyed["authorization"] == f"Bearer {CANARY}"
    for headers in (anonymous, keyed):
        assert "LEAKED" not in str(headers)
        assert not {"x-team", "openai-organization", "openai-project"} & headers.keys()


async def test_a_query_of_the_base_is_kept(client: httpx.AsyncClient) -> None:
    async with _server([says("s")]) as server:
        await _model(client, f"{server.endpoint}?version=a%20b&version=c").write("p")
    assert server.requests[0].path == "/v1/chat/completions?version=a%20b&version=c"


async def test_this_machine_is_reached_without_a_proxy() -> None:
    dead = ProxySettings.from_variables({"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"})
    async with open_client(proxies=dead) as client, _server([says("a"), says("b")]) as server:
        assert (await _model(client, server.endpoint, retry=0).write("p")).text == "a"
        named = server.endpoint.replace("127.0.0.1", "localhost")
        assert (await _model(client, named, retry=0).write("p")).text == "b"


# How often

AGAIN = {408, 409, 429, 500, 501, 502, 503, 504}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 501, 502, 503, 504, 302])
@pytest.mark.parametrize("retry", [0, 1, 3])
async def test_attempts_are_the_sdks_alone(
    client: httpx.AsyncClient, waits: list[float], status: int, retry: int
) -> None:
    attempts = retry + 1 if status in AGAIN else 1
    async with _server([Respond.error(status, "no", SOON)] * attempts) as server:
        error = await _failure(_model(client, server.endpoint, retry=retry))
        server.assert_spent()
    assert isinstance(error, ModelUnavailableError if status in AGAIN else ModelRefusedError)
    assert error.code == f"http_{status}"
    assert (f"({attempts} attempts)" in error.message) == (attempts > 1)
    assert error.message.endswith(": no")
    assert waits == [0.001] * (attempts - 1)


async def test_two_more_attempts_by_default(client: httpx.AsyncClient, waits: list[float]) -> None:
    async with _server([Respond.error(503, "busy"), Reset(), says("at last")]) as server:
        assert (await _model(client, server.endpoint).write("p")).text == "at last"
        server.assert_spent()
    first, second = waits
    assert 0.375 <= first <= 0.5
    assert 0.75 <= second <= 1.0
    assert len({request.body for request in server.requests}) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("120", 120.0),
        ("-1", None),
        ("NaN", None),
        ("", None),
        ("inf", None),
        ("soon", None),
        (formatdate(1_000_000_000, usegmt=True), None),
    ],
)
async def test_the_wait_that_a_server_names(
    client: httpx.AsyncClient, waits: list[float], header: str, seconds: float | None
) -> None:
    async with _server([Respond.error(429, "slow", {"Retry-After": header}), says("hi")]) as server:
        assert (await _model(client, server.endpoint, retry=1).write("p")).text == "hi"
        server.assert_spent()
    (wait,) = waits
    assert wait == seconds or (seconds is None and 0.375 <= wait <= 0.5)


@pytest.mark.parametrize("header", ["198300", "121", "9" * 400, formatdate(4_000_000_000, usegmt=True)])
async def test_two_days_are_not_waited(client: httpx.AsyncClient, waits: list[float], header: str) -> None:
    async with _server([Respond.error(429, "slow", {"Retry-After": header})]) as server:
        error = await _failure(_model(client, server.endpoint))
        server.assert_spent()
    assert isinstance(error, ModelUnavailableError)
    assert waits == []
    assert "it asks to wait" in error.message
    assert "longer than 120" in error.message


@pytest.mark.parametrize("broken", [Reset(), Reset(HEAD + b'{"choices": ['), Reset(b"SSH-2.0\r\n")])
async def test_connections_that_break_are_tried_again(
    client: httpx.AsyncClient, waits: list[float], broken: Reset
) -> None:
    async with _server([broken, says("hi")]) as server:
        assert (await _model(client, server.endpoint, retry=1).write("p")).text == "hi"
        server.assert_spent()
    async with _server([broken] * 3) as server:
        error = await _failure(_model(client, server.endpoint))
        server.assert_spent()
    assert isinstance(error, ModelUnavailableError)
    assert error.code == "connection"
    assert "(3 attempts)" in error.message
    assert len(waits) == 3


async def test_a_port_where_nobody_listens(client: httpx.AsyncClient, waits: list[float]) -> None:
    async with _server([]) as server:
        endpoint = server.endpoint
    error = await _failure(_model(client, endpoint))
    assert (error.code, len(waits)) == ("connection", 2)
    assert endpoint in error.message


async def test_the_entrys_timeout_is_the_sdks(client: httpx.AsyncClient, waits: list[float]) -> None:
    async with _server([Hang(), Hang(HEAD + b'{"choi')]) as server:
        error = await _failure(_model(client, server.endpoint, retry=1, timeout_seconds=0.05))
        server.assert_spent()
    assert isinstance(error, ModelUnavailableError)
    assert error.code == "timeout"
    assert len(waits) == 1


def test_connecting_is_given_five_seconds_and_an_attempt_ten_minutes() -> None:
    model = _model(httpx.AsyncClient(), "http://h/v1/chat/completions")
    assert isinstance(model._sdk.timeout, sdk.Timeout)
    assert model._sdk.timeout.as_dict() == {"connect": 5.0, "read": 600.0, "write": 600.0, "pool": 600.0}
    assert model._sdk.max_retries == 2


async def test_an_answer_that_drips_for_ever_ends(client: httpx.AsyncClient) -> None:
    clock = FakeClock()
    async with _server([Hang()]) as server:
        model = _model(client, server.endpoint, clock=clock, retry=1, timeout_seconds=600.0)
        asking = asyncio.create_task(_failure(model))
        await server.until(lambda it: it.hanging == 1)
        await clock.advance(1319.0)
        assert not asking.done()
        await clock.advance(1.0)
        error = await asking
        await server.until(lambda it: it.departed == 1)
    assert (error.code, "no whole answer within 1320 s" in error.message) == ("timeout", True)


async def test_cancelling_interrupts_the_wait(client: httpx.AsyncClient) -> None:
    async with _server([Respond.error(503, "busy", {"Retry-After": "100"})]) as server:
        asking = asyncio.create_task(_model(client, server.endpoint).write("p"))
        await server.until(lambda it: len(it.requests) == 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert len(server.requests) == 1


# What failures say


async def test_neither_key_nor_prompt_is_told(client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    echo = f'{{"error": {{"message": "bad key {CANARY}", "headers": "Bearer {CANARY}"}}, "input": "SECRET-PROMPT"}}'
    async with _server([Respond(401, echo.encode()), Respond(200, echo.encode()), Reset()]) as server:
        for _ in range(3):
            model = _model(client, server.endpoint, retry=0)
            error = await _failure(model)
            told = "".join(traceback.format_exception(error)) + repr(model)
            assert CANARY not in told
            assert error.__cause__ is None
            assert error.__context__ is None
    assert CANARY not in caplog.text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "an empty body"),
        (b"<html><body>Welcome</body></html>", "an HTML page, Welcome"),
        (b"[]", "expected an object"),
        (b'{"choices": []}', "choices"),
        (b'{"error": {"message": "quota"}}', "quota"),
    ],
)
async def test_a_200_that_is_no_reply_fails_at_once(client: httpx.AsyncClient, body: bytes, words: str) -> None:
    async with _server([Respond(200, body)]) as server:
        error = await _failure(_model(client, server.endpoint))
        server.assert_spent()
    assert isinstance(error, ModelRefusedError)
    assert error.code == "not_a_reply"
    assert words in error.message


async def test_a_context_error_is_one_whatever_the_status(client: httpx.AsyncClient) -> None:
    words = "This model's maximum context length is 8 tokens"
    for step in (Respond.error(400, words), Respond.error(200, words), Respond.error(413, words)):
        async with _server([step]) as server:
            assert isinstance(await _failure(_model(client, server.endpoint)), ContextLengthError)
            server.assert_spent()


async def test_a_wait_that_was_sat_through_is_not_complained_of(client: httpx.AsyncClient, waits: list[float]) -> None:
    async with _server([Respond.error(429, "slow", {"Retry-After": "120"})] * 2) as server:
        error = await _failure(_model(client, server.endpoint, retry=1))
        server.assert_spent()
    assert (waits, "asks to wait" in error.message) == ([120.0], False)


async def test_a_key_that_a_service_writes_is_hidden(client: httpx.AsyncClient) -> None:
    payload = {**says(f"your key is {CANARY}").payload, "model": CANARY, "usage": {CANARY: 1}}
    async with _server([Respond(200, json.dumps(payload).encode())]) as server:
        written = await _model(client, server.endpoint).write("p")
    assert written.text == "your key is [hidden]"
    assert CANARY not in repr(written)


async def test_an_error_says_which_status_held_no_reply(client: httpx.AsyncClient) -> None:
    async with _server([Respond(206, b"[]")]) as server:
        error = await _failure(_model(client, server.endpoint))
    assert "status 206 that is no reply" in error.message


# Bodies that are meant to cost

MEBI = 1 << 20
REPLY = json.dumps(says("s").payload).encode()


class _Endless(httpx.AsyncByteStream):
    """Pieces for as long as anybody takes them, up to a number at which whoever takes them has no limit."""

    def __init__(self, piece: bytes, most_bytes: int = 400 * MEBI) -> None:
        self._piece = piece
        self._left = most_bytes // len(piece)
        self.given = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._left:
            self._left -= 1
            self.given += len(self._piece)
            yield self._piece

    async def aclose(self) -> None:
        self.closed = True


def _answering(stream: httpx.AsyncByteStream, status: int = 200, packing: str = "") -> httpx.AsyncClient:
    async def handler(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, stream=stream, headers={"Content-Encoding": packing})

    return httpx.AsyncClient(transport=httpx.MockTransport(handler))


async def test_an_endless_reply_is_given_up_at_a_limit() -> None:
    body = _Endless(b" " * MEBI)
    error = await _failure(_model(_answering(body), "http://h/v1/chat/completions"))
    assert (error.code, "more than 67108864 bytes" in error.message) == ("not_a_reply", True)
    assert body.given <= 66 * MEBI
    assert body.closed


@pytest.mark.parametrize("status", [400, 503])
async def test_of_an_endless_error_the_beginning_is_read(waits: list[float], status: int) -> None:
    body = _Endless(b'{"error": {"message": "so it is"}} ' + b" " * 8000)
    error = await _failure(_model(_answering(body, status), "http://h/v1/chat/completions", retry=0))
    assert error.code == f"http_{status}"
    assert "so it is" in error.message
    assert body.given <= 2 * MEBI
    assert body.closed


async def test_a_bomb_is_unpacked_no_further_than_the_limit() -> None:
    bomb = gzip.compress(bytes(300 * MEBI), 1)
    model = _model(_answering(_Endless(bomb, len(bomb)), packing="gzip"), "http://h/v1/chat/completions")
    tracemalloc.start()
    try:
        error = await _failure(model)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "more than 67108864 bytes" in error.message
    assert peak < 290 * MEBI


@pytest.mark.parametrize("packing", ["gzip, gzip", "br", "zstd"])
async def test_a_reply_packed_otherwise_than_was_asked_for_is_none(client: httpx.AsyncClient, packing: str) -> None:
    packed = gzip.compress(gzip.compress(REPLY))
    async with _server([Respond(200, packed, {"Content-Encoding": packing})]) as server:
        error = await _failure(_model(client, server.endpoint))
        server.assert_spent()  # one attempt: it would be the same again
    assert (error.code, f"packed as {packing}" in error.message) == ("not_a_reply", True)


@pytest.mark.parametrize(("status", "code"), [(200, "not_a_reply"), (400, "http_400")])
async def test_a_body_that_is_not_packed_as_it_says_is_asked_for_once(
    client: httpx.AsyncClient, status: int, code: str
) -> None:
    async with _server([Respond(status, REPLY, {"Content-Encoding": "gzip"})]) as server:
        assert (await _failure(_model(client, server.endpoint))).code == code
        server.assert_spent()


async def test_what_was_asked_for_is_unpacked(client: httpx.AsyncClient) -> None:
    async with _server([Respond(200, gzip.compress(REPLY), {"Content-Encoding": "gzip"})]) as server:
        assert (await _model(client, server.endpoint).write("p")).text == "s"
    assert server.requests[0].headers["accept-encoding"] == "gzip"


async def test_connections_are_used_again(client: httpx.AsyncClient) -> None:
    async with _server([says("s")] * 3) as server:
        for _ in range(3):
            await _model(client, server.endpoint).write("p")
        assert server.connections == 1


@pytest.mark.parametrize("usage", [None, {}, [], "x"])
async def test_missing_usage_is_fine(client: httpx.AsyncClient, usage: object) -> None:
    completion = says("s")
    async with _server([type(completion)({**completion.payload, "usage": usage})]) as server:
        assert (await _model(client, server.endpoint).write("p")).spent.usage == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("retry", -1),
        ("retry", True),
        ("timeout_seconds", 0),
        ("timeout_seconds", float("nan")),
        ("model_id", ""),
        ("key", f"{CANARY}\x07"),
        ("endpoint", f"http://u:{CANARY}@h/v1/chat/completions"),
        ("endpoint", "http://h/v1/responses"),
    ],
)
def test_a_setting_that_cannot_be_is_named_and_not_shown(field: str, value: object) -> None:
    settings = {"endpoint": "http://h/v1/chat/completions", field: value}
    with pytest.raises(ValueError, match=f"^{field}: expected") as fault:
        _model(httpx.AsyncClient(), **settings)  # type: ignore[arg-type]
    assert CANARY not in str(fault.value)
