"""The client of the router: what is final, what is tried again, and what it makes of each answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest

from openvlharness_adapters.http.retry import Wait
from openvlharness_adapters.router_client.backends import RemoteOcr, RemotePages
from openvlharness_adapters.router_client.posting import Poster
from openvlharness_adapters.router_client.raw import RawCaller
from openvlharness_adapters.router_client.router import RouterCaller
from openvlharness_core.errors import (
    BackendError,
    BackendTimeoutError,
    BackendUnavailableError,
    CapabilityUnavailableError,
    HarnessError,
    MalformedResultError,
    ToolExecutionError,
    ToolFailure,
    UnreadableImageError,
    UnsupportedQueryError,
)
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.images import fake_image
from openvlharness_core.testing.time import FakeClock
from openvlharness_core.usage import Spent

IMAGE = EncodedImage(data=fake_image(6, 8), media_type="image/png", size_hw=(6, 8))
Respond = Callable[[dict[str, Any]], httpx.Response]


class Server:
    """Answers requests in turn, the last answer again and again; remembers what came."""

    def __init__(self, *responses: Respond | Exception) -> None:
        self.responses = list(responses)
        self.requests: list[httpx.Request] = []
        self.waits: list[Wait] = []
        self.clock = FakeClock(auto=True)

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        respond = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        if isinstance(respond, Exception):
            raise respond
        return respond(orjson.loads(await request.aread()))

    def reader(self, retry: int = 3, token: str = "") -> RemoteOcr:
        return RemoteOcr(RouterCaller(poster=self.poster(retry, token), base_url="http://router/", tool="ocr"))

    def poster(self, retry: int = 3, token: str = "") -> Poster:
        client = httpx.AsyncClient(transport=httpx.MockTransport(self))
        return Poster(
            client=client, clock=self.clock, token=token, retry=retry, share=lambda: 1.0, on_wait=self.waits.append
        )


def success(result: object = None, **changes: Any) -> Respond:
    def respond(call: dict[str, Any]) -> httpx.Response:
        envelope = {
            "ok": True,
            "tool_name": call["tool_name"],
            "tool_call_id": call["tool_call_id"],
            "result": {"text": "found", "lines": None} if result is None else result,
            "meta": {"backend": "far_ocr", "seconds": 0.1},
        }
        return httpx.Response(200, json=envelope | changes)

    return respond


def failure(status: int, code: str, details: dict[str, Any] | None = None, **changes: Any) -> Respond:
    def respond(call: dict[str, Any]) -> httpx.Response:
        error = {"code": code, "message": "why", "details": details or {}}
        envelope = {"ok": False, "tool_name": "ocr", "tool_call_id": call["tool_call_id"], "error": error}
        return httpx.Response(status, json=envelope | changes)

    return respond


def plain(status: int, body: str = "", **headers: str) -> Respond:
    return lambda _: httpx.Response(status, text=body, headers={k.replace("_", "-"): v for k, v in headers.items()})


async def _read(reader: RemoteOcr) -> Any:
    return await reader.read(IMAGE, timeout_seconds=5.0)


async def test_a_call_goes_out_as_the_wire_says() -> None:
    server = Server(success())
    answered = await _read(server.reader(token="s3cret"))
    [request] = server.requests
    assert str(request.url) == "http://router/execute"
    assert request.headers["authorization"] == "Bearer s3cret"
    body = orjson.loads(request.content)
    assert sorted(body) == ["args", "tool_call_id", "tool_name"]
    assert body["tool_name"] == "ocr"
    assert body["args"]["image"].startswith("data:image/png;base64,")
    assert (answered.value.text, answered.backend) == ("found", "far_ocr")
    assert answered.envelope["tool_call_id"] == body["tool_call_id"]


async def test_every_call_has_a_key_of_its_own_and_keeps_it_over_retries() -> None:
    server = Server(plain(503, retry_after="2"), httpx.ConnectError("refused"), plain(502), success())
    reader = server.reader()
    await _read(reader)
    await _read(reader)
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert len(keys) == 5
    assert len(set(keys[:4])) == 1
    assert keys[4] != keys[0]
    assert len({request.content for request in server.requests[:4]}) == 1
    assert [wait.seconds for wait in server.waits] == [2.0, 1.0, 2.0]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_status_that_says_nothing_of_the_call_is_tried_again(status: int) -> None:
    server = Server(plain(status, "busy"))
    with pytest.raises(BackendUnavailableError) as caught:
        await _read(server.reader(retry=2))
    assert len(server.requests) == 3
    assert str(status) in caught.value.reason
    assert "router" in caught.value.reason


@pytest.mark.parametrize("status", [301, 400, 401, 404, 413, 418, 501])
async def test_other_statuses_end_the_call_at_once(status: int) -> None:
    server = Server(plain(status))
    with pytest.raises(BackendUnavailableError):
        await _read(server.reader())
    assert len(server.requests) == 1


_CODES: list[tuple[int, str, dict[str, Any], type[HarnessError], str]] = [
    (422, "invalid_tool_arguments", {}, ToolFailure, "invalid_tool_arguments"),
    (422, "invalid_tool_arguments", {"exception_type": "UnreadableImageError"}, UnreadableImageError, ""),
    (404, "unknown_tool", {}, ToolFailure, "unknown_tool"),
    (502, "backend_unavailable", {}, BackendUnavailableError, "backend_unavailable"),
    (500, "tool_execution_error", {}, ToolExecutionError, "tool_execution_error"),
    (504, "backend_timeout", {}, BackendTimeoutError, "backend_timeout"),
    (422, "unsupported_query", {"backend": "far_ocr"}, UnsupportedQueryError, "unsupported_query"),
    (502, "malformed_result", {"field": "lines", "expected": "texts"}, MalformedResultError, "malformed_result"),
    (502, "malformed_result", {}, MalformedResultError, "malformed_result"),
    (503, "capability_unavailable", {}, CapabilityUnavailableError, "capability_unavailable"),
    (422, "invalid_request", {}, ToolExecutionError, "tool_execution_error"),
    (500, "a_code_of_tomorrow", {}, ToolExecutionError, "tool_execution_error"),
    (200, "backend_unavailable", {}, BackendUnavailableError, "backend_unavailable"),
    (429, "tool_execution_error", {}, ToolExecutionError, "tool_execution_error"),
]


@pytest.mark.parametrize(("status", "code", "details", "kind", "told"), _CODES)
async def test_a_structured_failure_of_this_call_is_final_whatever_its_status(
    status: int, code: str, details: dict[str, Any], kind: type[HarnessError], told: str
) -> None:
    meta = {"usage": [{"role": "auxiliary", "model": "m", "usage": {"total_tokens": 3}}], "search_credits": 2}
    server = Server(failure(status, code, details, meta=meta))
    with pytest.raises(kind) as caught:
        await _read(server.reader())
    assert len(server.requests) == 1
    if told:
        assert caught.value.code == told  # type: ignore[attr-defined]
        assert caught.value.usage == (  # type: ignore[attr-defined]
            Spent(role="auxiliary", model="m", usage={"total_tokens": 3}),
            Spent(role="search", usage={"search_credits": 2}),
        )
    if isinstance(caught.value, BackendError):
        assert caught.value.backend == details.get("backend", "ocr")
        assert caught.value.reason == "why"


async def test_a_failure_of_another_call_is_none_of_ours() -> None:
    server = Server(failure(503, "backend_unavailable", tool_call_id="another"), success())
    assert (await _read(server.reader())).value.text == "found"
    assert len(server.requests) == 2


async def test_what_was_spent_comes_with_a_success_as_well_and_nonsense_in_it_costs_no_answer() -> None:
    usage = [{"role": "auxiliary", "model": None, "usage": {"a": {"b": 2}, "c": "x"}}, "nonsense", {"role": 7}]
    server = Server(success(meta={"backend": "b", "usage": usage, "search_credits": True}))
    assert (await _read(server.reader())).usage == (Spent(role="auxiliary", usage={"a.b": 2}),)


@pytest.mark.parametrize(
    ("respond", "field"),
    [
        (plain(200, "<html>"), "envelope"),
        (plain(200, "[]"), "envelope"),
        (success(tool_call_id="another"), "tool_call_id"),
        (success(tool_name="other"), "tool_name"),
        (success(ok="yes"), "ok"),
        (success(ok=False), "ok"),
        (success([]), "result"),
        (success(meta=None), "meta"),
        (success({"lines": None}), "text"),
        (success({"text": 5, "lines": None}), "text"),
        (success({"text": "a", "lines": [{"text": "a", "box": [0, 0, 1, True], "score": 1}]}), "lines[0].box"),
    ],
)
async def test_a_200_that_breaks_the_wire_is_a_malformed_result_naming_the_field(respond: Respond, field: str) -> None:
    server = Server(respond)
    with pytest.raises(MalformedResultError) as caught:
        await _read(server.reader())
    assert caught.value.field == field
    assert len(server.requests) == 1


async def test_a_malformed_result_was_paid_for_all_the_same() -> None:
    server = Server(success({}, meta={"backend": "b", "search_credits": 1}))
    with pytest.raises(MalformedResultError) as caught:
        await _read(server.reader())
    assert caught.value.usage == (Spent(role="search", usage={"search_credits": 1}),)


async def test_a_long_wait_ends_the_call_naming_it() -> None:
    server = Server(plain(503, retry_after="198300"))
    with pytest.raises(BackendUnavailableError, match="198300"):
        await _read(server.reader())
    assert len(server.requests) == 1


async def test_the_token_is_in_no_error() -> None:
    for respond in (plain(401, "no such token: CANARY-1"), httpx.ConnectError("Bearer CANARY-1")):
        with pytest.raises(BackendUnavailableError) as caught:
            await _read(Server(respond).reader(token="CANARY-1", retry=0))
        assert "CANARY" not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.__context__!r}"
    assert "CANARY" not in repr(Server(success()).reader(token="CANARY-1"))


async def test_a_visit_must_bring_one_page_a_url() -> None:
    page = {"url": "https://a.example/", "ok": True, "evidence": "", "summary": "", "reason": ""}
    server = Server(success({"pages": [page]}))
    pages = RemotePages(RouterCaller(poster=server.poster(), base_url="http://router", tool="serper_webpage_visit"))
    with pytest.raises(MalformedResultError) as caught:
        await pages.visit(["https://a.example/", "https://b.example/"], "goal", timeout_seconds=5.0)
    assert caught.value.field == "pages"


async def test_bulk_stays_out_of_the_trace() -> None:
    server = Server(success({"text": "x" * 100_000, "lines": None}))
    answered = await _read(server.reader())
    assert len(answered.value.text) == 100_000
    assert len(orjson.dumps(answered.envelope)) < 2000


class TestRawServer:
    """What differs where there is no envelope."""

    def _reader(self, server: Server) -> RemoteOcr:
        return RemoteOcr(RawCaller(poster=server.poster(), url="http://raw/embedded/ocr", tool="embedded_ocr"))

    async def test_arguments_and_result_travel_bare(self) -> None:
        server = Server(lambda call: httpx.Response(200, json={"text": ",".join(call), "lines": None}))
        answered = await _read(self._reader(server))
        assert (answered.value.text, answered.backend) == ("image", "embedded_ocr")

    async def test_an_error_object_is_final(self) -> None:
        server = Server(lambda _: httpx.Response(507, json={"error": {"code": "out_of_memory", "message": "full"}}))
        with pytest.raises(ToolExecutionError, match="full"):
            await _read(self._reader(server))
        assert len(server.requests) == 1

    async def test_a_busy_server_is_asked_again(self) -> None:
        server = Server(
            plain(503, "busy", retry_after="1"), lambda _: httpx.Response(200, json={"text": "a", "lines": None})
        )
        assert (await _read(self._reader(server))).value.text == "a"

    async def test_no_object_is_malformed(self) -> None:
        with pytest.raises(MalformedResultError):
            await _read(self._reader(Server(plain(200, "hello"))))
