"""The router's routes: envelopes, status codes, what is refused, and what a repeated key brings."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import attrs
import httpx
import orjson
import pytest

from openvlharness_adapters.router.calls import ServedTool
from openvlharness_adapters.router.desk import LONG_BYTES
from openvlharness_adapters.router.shapes import Enveloped
from openvlharness_adapters.wire.envelopes import ToolCall
from openvlharness_core.errors import (
    BackendTimeoutError,
    BackendUnavailableError,
    CapabilityUnavailableError,
    MalformedResultError,
    ToolExecutionError,
    ToolFailure,
    UnreadableImageError,
    UnsupportedQueryError,
)
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered, Transcription
from openvlharness_core.testing.backends import FakeOcr
from openvlharness_core.testing.code import FakeCodeGenerator
from openvlharness_core.testing.time import FakeClock, settle
from openvlharness_core.usage import Spent
from tests.support.routing import IMAGE_URL, HeldReader, app_over, client_of, desk_over, ocr_call, reader, until


class Failing:
    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.calls = 0

    async def read(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[Transcription]:
        self.calls += 1
        raise self.error


def _client(backend: object = None, **changes: Any) -> httpx.AsyncClient:
    return client_of(app_over(desk_over(reader(backend or FakeOcr(("one", "two"))), **changes)))


async def test_a_success_is_enveloped_with_the_call_id_and_meta() -> None:
    reply = await _client().post("/execute", json=ocr_call("call-7"))
    assert reply.status_code == 200
    envelope = reply.json()
    assert (envelope["ok"], envelope["tool_name"], envelope["tool_call_id"]) == (True, "ocr", "call-7")
    assert envelope["result"]["text"] == "one\ntwo"
    assert envelope["meta"]["backend"] == "fake_ocr"
    assert envelope["meta"]["seconds"] >= 0


async def test_what_was_spent_is_in_meta() -> None:
    tool = ServedTool(name="python_coding_agent", capability="coding", backend=FakeCodeGenerator(), group="coding")
    body = {"tool_name": "python_coding_agent", "tool_call_id": "c", "args": {"objective": "count"}}
    meta = (await client_of(app_over(desk_over(tool))).post("/execute", json=body)).json()["meta"]
    assert meta["usage"] == [{"role": "coding", "model": "fake", "usage": {"completion_tokens": 5.0}}]


_SPENT = (
    Spent(role="auxiliary", model="m", usage={"total_tokens": 3.0}),
    Spent(role="search", usage={"search_credits": 2.0}),
)


@pytest.mark.parametrize(
    ("error", "status", "code", "client"),
    [
        (ToolExecutionError("b", "why", usage=_SPENT), 500, "tool_execution_error", False),
        (BackendUnavailableError("b", "why", usage=_SPENT), 502, "backend_unavailable", False),
        (BackendTimeoutError("b", "why", usage=_SPENT), 504, "backend_timeout", False),
        (UnsupportedQueryError("b", "why", usage=_SPENT), 422, "unsupported_query", True),
        (CapabilityUnavailableError("b", "why", usage=_SPENT), 503, "capability_unavailable", False),
        (MalformedResultError("lines", "texts", usage=_SPENT), 502, "malformed_result", False),
        (ToolFailure("invalid_tool_arguments", "why", usage=_SPENT), 422, "invalid_tool_arguments", True),
        (UnreadableImageError("truncated"), 422, "invalid_tool_arguments", True),
        (KeyError("secret-of-the-backend"), 500, "tool_execution_error", False),
        (SystemExit(3), 500, "tool_execution_error", False),
        (asyncio.CancelledError(), 502, "backend_unavailable", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
async def test_a_failure_is_structured(error: BaseException, status: int, code: str, client: bool) -> None:
    reply = await _client(Failing(error)).post("/execute", json=ocr_call("c"))
    envelope = reply.json()
    assert (reply.status_code, envelope["ok"], envelope["tool_name"], envelope["tool_call_id"]) == (
        status,
        False,
        "ocr",
        "c",
    )
    assert envelope["error"]["code"] == code
    assert envelope["error"]["message"]
    assert envelope["error"]["details"]["client_error"] is client
    assert envelope["error"]["details"]["exception_type"]
    assert "secret-of-the-backend" not in reply.text
    if getattr(error, "usage", ()):
        assert envelope["meta"]["usage"] == [{"role": "auxiliary", "model": "m", "usage": {"total_tokens": 3.0}}]
        assert envelope["meta"]["search_credits"] == 2.0


@pytest.mark.parametrize("body", [b"", b"[1", b"[]", b"null", b'"x"', b"\xff", b"<html>"])
async def test_a_body_that_is_no_object_is_an_invalid_request_without_a_call(body: bytes) -> None:
    reply = await _client().post("/execute", content=body)
    assert reply.status_code == 400
    envelope = reply.json()
    assert envelope["error"]["code"] == "invalid_request"
    assert envelope["tool_call_id"] is None


@pytest.mark.parametrize(
    ("change", "status", "code", "named"),
    [
        ({"tool_name": "ocrs"}, 404, "unknown_tool", "ocr"),
        ({"tool_name": 7}, 422, "invalid_request", "tool_name"),
        ({"tool_call_id": None}, 422, "invalid_request", "tool_call_id"),
        ({"endpoint": "http://elsewhere"}, 422, "invalid_request", "endpoint"),
        ({"args": []}, 422, "invalid_tool_arguments", "args"),
        ({"args": {}}, 422, "invalid_tool_arguments", "image"),
        ({"args": {"image": 5}}, 422, "invalid_tool_arguments", "image"),
        ({"args": {"image": "http://127.0.0.1/a.png"}}, 422, "invalid_tool_arguments", "image"),
        ({"args": {"image": "data:image/png;base64,!!!!"}}, 422, "invalid_tool_arguments", "image"),
        ({"args": {"image": "data:image/png;base64,AAAA"}}, 422, "invalid_tool_arguments", ""),
        *(
            ({"args": {"image": IMAGE_URL, name: "x"}}, 422, "invalid_tool_arguments", name)
            for name in ("endpoint", "key", "server_url", "timeout_seconds", "temperature", "model")
        ),
    ],
    ids=str,
)
async def test_what_is_wrong_with_a_call_is_named(change: dict[str, Any], status: int, code: str, named: str) -> None:
    backend = FakeOcr(("one",))
    reply = await _client(backend).post("/execute", json=ocr_call("c") | change)
    assert reply.status_code == status
    assert reply.json()["error"]["code"] == code
    assert named in reply.json()["error"]["message"]
    assert backend.calls == 0


async def test_health_needs_no_token_and_everything_else_does() -> None:
    client = client_of(app_over(desk_over(reader(FakeOcr(("one",)))), token="s3cret"))
    assert (await client.get("/health")).json() == {"status": "ok"}
    for wrong in (
        {},
        {"Authorization": "Bearer other"},
        {"Authorization": "s3cret"},
        {"Authorization": "Basic s3cret"},
    ):
        assert [(await client.get(path, headers=wrong)).status_code for path in ("/ready", "/tools", "/metrics")] == [
            401
        ] * 3
        assert (await client.post("/execute", json=ocr_call(), headers=wrong)).status_code == 401
    right = {"Authorization": "Bearer s3cret"}
    assert (await client.post("/execute", json=ocr_call(), headers=right)).status_code == 200
    assert (await client.get("/tools", headers=right)).status_code == 200


async def test_tools_and_metrics_tell_what_runs_and_waits() -> None:
    backend = HeldReader()
    client = _client(backend)
    calls = [asyncio.ensure_future(client.post("/execute", json=ocr_call(str(n)))) for n in range(5)]
    await settle(50)
    [row] = (await client.get("/tools")).json()
    assert row == {"name": "ocr", "capability": "ocr", "group": "ocr", "limit": 2, "running": 2, "waiting": 3}
    assert 'openvlharness_router_queue_length{tool="ocr"} 3' in (await client.get("/metrics")).text
    backend.let(5)
    await asyncio.gather(*calls)
    await client.post("/execute", json=ocr_call() | {"args": {}})
    page = (await client.get("/metrics")).text
    assert 'openvlharness_router_calls_total{tool="ocr",outcome="ok"} 5' in page
    assert 'openvlharness_router_errors_total{tool="ocr"} 1' in page
    assert 'openvlharness_router_call_seconds_count{tool="ocr"} 5' in page
    assert 'openvlharness_router_running_calls{tool="ocr"} 0' in page


async def test_ready_says_which_backend_cannot_be_reached_and_why() -> None:
    async def away() -> str:
        return "nobody answers"

    client = client_of(app_over(desk_over(reader(FakeOcr())), checks={"ocr": away}))
    reply = await client.get("/ready")
    assert reply.status_code == 503
    assert reply.json()["backends"] == {"ocr": {"reachable": False, "reason": "nobody answers"}}
    assert (await _client().get("/ready")).status_code == 200


# ---- sizes -----------------------------------------------------------------------------------------------------------


async def test_a_body_over_the_limit_gets_413_without_an_envelope() -> None:
    client = client_of(app_over(desk_over(reader(FakeOcr(("one",)))), max_body_bytes=4000))
    small = orjson.dumps(ocr_call("c"))
    assert (await client.post("/execute", content=small + b" " * (4000 - len(small)))).status_code == 200
    for content in (small + b" " * (4001 - len(small)), b"x" * 3_000_000):
        reply = await client.post("/execute", content=content)
        assert reply.status_code == 413
        assert "tool_call_id" not in reply.text

    async def chunks() -> Any:
        for _ in range(300):
            yield b" " * 100

    assert (await client.post("/execute", content=chunks())).status_code == 413


async def test_waiting_bodies_together_are_bounded_and_given_back() -> None:
    backend = HeldReader()
    desk = desk_over(reader(backend))
    size = len(orjson.dumps(ocr_call("0")))
    desk.room.limit = 3 * size + 10
    client = client_of(app_over(desk))
    calls = []
    for number in range(5):
        calls.append(asyncio.ensure_future(client.post("/execute", json=ocr_call(str(number)))))
        await settle(20)
    assert desk.room.held == 3 * size, "two have seats, three wait"
    refused = await client.post("/execute", json=ocr_call("9"))
    assert refused.status_code == 503
    assert refused.headers["retry-after"]
    backend.let(5)
    await asyncio.gather(*calls)
    assert desk.room.held == 0


async def test_a_full_queue_asks_to_come_again_without_an_envelope() -> None:
    backend = HeldReader()
    client = _client(backend, max_queue=1)
    calls = [asyncio.ensure_future(client.post("/execute", json=ocr_call(str(n)))) for n in range(3)]
    await settle(50)
    refused = await client.post("/execute", json=ocr_call("9"), headers={"Idempotency-Key": "k"})
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 1
    assert "tool_call_id" not in refused.text
    backend.let(4)
    await asyncio.gather(*calls)
    again = await client.post("/execute", json=ocr_call("9"), headers={"Idempotency-Key": "k"})
    assert again.status_code == 200, "a 503 is not kept"


# ---- repeated calls --------------------------------------------------------------------------------------------------


async def test_a_repeated_key_is_answered_once_for_all() -> None:
    backend = HeldReader()
    client, key = _client(backend), {"Idempotency-Key": "k"}
    calls = [asyncio.ensure_future(client.post("/execute", json=ocr_call("c"), headers=key)) for _ in range(4)]
    await settle(50)
    assert len(backend.begun) == 1
    backend.let()
    replies = await asyncio.gather(*calls)
    assert {reply.content for reply in replies} == {replies[0].content}
    later = await client.post("/execute", json=ocr_call("c"), headers=key)
    assert later.content == replies[0].content
    assert len(backend.begun) == 1


async def test_a_long_body_is_read_in_a_thread_and_repeats_of_it_are_joined() -> None:
    threads = set[str]()

    @attrs.frozen
    class Noting(Enveloped):
        def read(self, body: bytes, name: str) -> ToolCall:
            threads.add(threading.current_thread().name)
            return Enveloped.read(self, body, name)

    backend = HeldReader()
    desk = desk_over(reader(backend))
    desk.shape = Noting()
    client = client_of(app_over(desk, max_body_bytes=64 << 20))
    content = orjson.dumps(ocr_call("c")) + b" " * LONG_BYTES
    same = [
        asyncio.ensure_future(client.post("/execute", content=content, headers={"Idempotency-Key": "k"}))
        for _ in range(3)
    ]
    await until(lambda: len(backend.begun) == 1 and len(desk.open) == 1)
    backend.let(2)
    assert {reply.status_code for reply in await asyncio.gather(*same)} == {200}
    assert threading.main_thread().name not in threads
    assert len(backend.begun) == 1
    assert (await client.post("/execute", content=b"[" + b" " * LONG_BYTES)).status_code == 400
    assert desk.room.held == 0


async def test_call_ids_are_no_identity_and_neither_is_a_call_without_a_key() -> None:
    backend = FakeOcr(("one",))
    client = _client(backend)
    heights = [8, 4, 8]
    replies = [
        await client.post("/execute", json=ocr_call("same", height), headers={"Idempotency-Key": f"k{n}"})
        for n, height in enumerate(heights)
    ]
    assert [reply.json()["result"]["lines"][0]["box"][3] for reply in replies] == heights
    await client.post("/execute", json=ocr_call("same"))
    await client.post("/execute", json=ocr_call("same"))
    assert backend.calls == 5


async def test_a_key_with_another_body_is_an_invalid_request() -> None:
    backend = FakeOcr(("one",))
    client, key = _client(backend), {"Idempotency-Key": "k"}
    await client.post("/execute", json=ocr_call("c"), headers=key)
    reply = await client.post("/execute", json=ocr_call("d"), headers=key)
    assert reply.status_code == 422
    assert reply.json()["error"]["code"] == "invalid_request"
    assert reply.json()["tool_call_id"] == "d"
    assert backend.calls == 1


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_a_key_that_is_none_is_refused(key: str) -> None:
    reply = await _client().post("/execute", json=ocr_call(), headers={"Idempotency-Key": key})
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "invalid_request"


async def test_a_failure_is_kept_as_well_and_a_503_is_not() -> None:
    for error, calls in ((ToolExecutionError("b", "no"), 1), (CapabilityUnavailableError("b", "no"), 2)):
        backend = Failing(error)
        client = _client(backend)
        for _ in range(2):
            await client.post("/execute", json=ocr_call(), headers={"Idempotency-Key": "k"})
        assert backend.calls == calls


async def test_answers_are_kept_for_a_minute() -> None:
    clock, backend = FakeClock(), FakeOcr(("one",))
    client = _client(backend, clock=clock)
    for seconds, calls in ((0.0, 1), (59.9, 1), (0.2, 2)):
        await clock.advance(seconds)
        await client.post("/execute", json=ocr_call(), headers={"Idempotency-Key": "k"})
        assert backend.calls == calls


async def test_kept_answers_are_bounded_and_the_oldest_go_first() -> None:
    backend = FakeOcr(("one",))
    once = len((await _client(FakeOcr(("one",))).post("/execute", json=ocr_call("c"))).content)
    client = _client(backend, answer_bytes=int(once * 2.5))
    for key, calls in (("a", 1), ("b", 2), ("c", 3), ("b", 3), ("c", 3), ("a", 4)):
        await client.post("/execute", json=ocr_call("c"), headers={"Idempotency-Key": key})
        assert backend.calls == calls, key


# ---- time and ending -------------------------------------------------------------------------------------------------


async def test_the_deadline_runs_from_the_seat() -> None:
    clock, backend = FakeClock(), HeldReader()
    desk = desk_over(reader(backend, timeout_seconds=10.0), clock=clock, limits={"ocr": 1})
    client = client_of(app_over(desk))
    first = asyncio.ensure_future(client.post("/execute", json=ocr_call("first")))
    await settle(50)
    second = asyncio.ensure_future(client.post("/execute", json=ocr_call("second", 7)))
    await settle(50)
    await clock.advance(10)
    late = await first
    assert late.status_code == 504
    assert late.json()["error"]["code"] == "backend_timeout"
    await settle(50)
    assert backend.cancelled == 1
    await clock.advance(9)
    backend.let()
    assert (await second).status_code == 200, "it waited for ten seconds and worked for nine"


async def test_draining_refuses_new_calls_and_lets_the_others_end() -> None:
    clock, backend = FakeClock(), HeldReader()
    desk = desk_over(reader(backend), clock=clock)
    client = client_of(app_over(desk))
    calls = [asyncio.ensure_future(client.post("/execute", json=ocr_call(str(n)))) for n in range(4)]
    await settle(50)
    draining = asyncio.ensure_future(desk.drain(30))
    await settle(50)
    refused = await asyncio.wait_for(client.post("/execute", json=ocr_call("new")), 5)
    assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
    assert (await client.get("/ready")).status_code == 503
    assert (await client.get("/health")).status_code == 200
    backend.let(4)
    assert [reply.status_code for reply in await asyncio.gather(*calls)] == [200] * 4
    await draining


async def test_what_is_left_when_draining_ends_is_answered_by_whether_it_had_started() -> None:
    clock, backend = FakeClock(), HeldReader()
    desk = desk_over(reader(backend), clock=clock)
    client = client_of(app_over(desk))
    calls = [asyncio.ensure_future(client.post("/execute", json=ocr_call(str(n)))) for n in range(4)]
    await settle(50)
    draining = asyncio.ensure_future(desk.drain(30))
    await clock.advance(30)
    await draining
    replies = await asyncio.gather(*calls)
    assert [reply.status_code for reply in replies] == [504, 504, 503, 503]
    assert [reply.json()["error"]["code"] for reply in replies[:2]] == ["backend_timeout"] * 2
    assert all("retry-after" in reply.headers for reply in replies[2:])
    assert len(backend.begun) == 2, "what had not started never does"
