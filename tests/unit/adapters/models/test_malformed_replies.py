"""Bodies with status 200 that are no reply, over both protocols: each fails at once, in the library's own words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.models.served import ServedModel
from openvlharness_core.agent.turns import mend_reply
from openvlharness_core.errors import HarnessError, ModelRefusedError
from openvlharness_core.messages import ModelReply, ModelRequest, ToolMessage, UserMessage
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing.time import FakeClock
from tests.support.official_types import refusals_of
from tests.support.protocols import PROTOCOLS, RESPONSES, Protocol

ASK = ModelRequest(messages=(UserMessage.of_text("SECRET-QUESTION"),))

SHARED: dict[str, bytes] = {
    "nothing": b"",
    "blank": b" \n",
    "cut": b'{"choices": [{"mess',
    "text": b"upstream connect error",
    "page": b"<html><body><h1>502</h1></body></html>",
    "page after blanks": b"\n\n <!doctype html><title>x</title>",
    "null": b"null",
    "true": b"true",
    "number": b"12",
    "string": b'"x"',
    "list": b"[]",
    "empty object": b"{}",
    "NaN": b"NaN",
    "error object": b'{"error": {"message": "gone", "code": 503}}',
    "error text": b'{"error": "gone"}',
    "old error": b'{"object": "error", "message": "x", "code": 500}',
    "deep": b'{"choices": ' + b"[" * 100_000,
    "deep list": b'{"output": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "wrong bytes": b"\xff\xfe\x00\x01",
    "zeroes": bytes(64),
    "events without a chunk": b"data: [DONE]\n\n",
    "broken events": b'data: {"choices": [\n\ndata: x\n\n',
}
CHAT: dict[str, bytes] = {
    "no choices": b'{"choices": []}',
    "choices null": b'{"choices": null}',
    "choices object": b'{"choices": {"message": {"content": "x"}}}',
    "choices text": b'{"choices": "x"}',
    "choice null": b'{"choices": [null]}',
    "choice text": b'{"choices": ["x"]}',
    "choice empty": b'{"choices": [{}]}',
    "message null": b'{"choices": [{"message": null}]}',
    "message text": b'{"choices": [{"message": "x"}]}',
    "message list": b'{"choices": [{"message": ["x"]}]}',
    "content number": b'{"choices": [{"message": {"content": 3}}]}',
    "content false": b'{"choices": [{"message": {"content": false}}]}',
    "calls text": b'{"choices": [{"message": {"tool_calls": "zoom()"}}]}',
    "calls number": b'{"choices": [{"message": {"tool_calls": 1}}]}',
    "error beside a reply": b'{"error": {"message": "x"}, "choices": [{"message": {"content": "y"}}]}',
    "error in the choice": b'{"choices": [{"error": {"code": 502, "message": "x"}, "message": {"content": ""}}]}',
    "two values": b'{"choices": [{"message": {"content": "x"}}]} {"a": 1}',
    "deep and whole": b'{"choices": [{"message": {"content": "x", "e": ' + b"[" * 5000 + b"]" * 5000 + b"}}]}",
    "error event": b'data: {"choices": [{"delta": {"content": "x"}}]}\n\ndata: {"error": {"message": "gone"}}\n\n',
    "a response": b'{"status": "completed", "output": [{"type": "message", "content": "x"}]}',
}
RESPONSE: dict[str, bytes] = {
    "no status, no items": b'{"output": []}',
    "output null": b'{"status": "completed", "output": null}',
    "output text": b'{"output": "x"}',
    "output number": b'{"output": 1}',
    "item null": b'{"output": [null]}',
    "item text": b'{"status": "completed", "output": ["x"]}',
    "item list": b'{"output": [[{"type": "message"}]]}',
    "content number": b'{"output": [{"type": "message", "content": 3}]}',
    "content false": b'{"output": [{"type": "message", "role": "assistant", "content": false}]}',
    "failed": b'{"status": "failed", "output": []}',
    "failed with an error": b'{"status": "failed", "error": {"code": "server_error", "message": "x"}, "output": []}',
    "cancelled": b'{"status": "cancelled", "output": [{"type": "message", "content": "x"}]}',
    "queued": b'{"status": "queued", "output": null}',
    "error beside a reply": b'{"error": {"message": "x"}, "output": [{"type": "message", "content": "y"}]}',
    "two values": b'{"output": [{"type": "message", "content": "x"}]} {"a": 1}',
    "deep and whole": b'{"output": [{"type": "message", "content": "x", "e": ' + b"[" * 5000 + b"]" * 5000 + b"}]}",
    "error alone": b'{"type": "error", "code": "server_error", "message": "gone"}',
    "error event": b'data: {"type": "response.created", "response": {}}\n\ndata: {"type": "error", "message": "gone"}\n\n',
    "nested error event": b'data: {"type": "error", "error": {"message": "gone"}}\n\n',
    "failed event": b'data: {"type": "response.failed", "response": {"status": "failed", "error": {"code": "x"}}}\n\n',
    "failed event, no word": b'data: {"type": "response.failed", "response": {}}\n\n',
    "completed, nothing in it": b'data: {"type": "response.completed", "response": {}}\n\n',
    "a chat completion": b'{"choices": [{"message": {"content": "x"}}]}',
}
MALFORMED = {"chat_completions": SHARED | CHAT, "responses": SHARED | RESPONSE}
CASES = [
    pytest.param(PROTOCOLS[name], body, id=f"{name}-{about}")
    for name, bodies in MALFORMED.items()
    for about, body in bodies.items()
]


def _model(protocol: Protocol, handler: Callable[[httpx.Request], httpx.Response], **fields: Any) -> ServedModel:
    return protocol.model(
        client=httpx.AsyncClient(transport=httpx.MockTransport(handler)),
        endpoint="http://h/v1/any",
        profile=ModelProfile(alias="p", model_id="m"),
        clock=FakeClock(),
        **fields,
    )


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(("protocol", "body"), CASES)
async def test_a_200_that_is_no_reply_fails_at_once(protocol: Protocol, body: bytes, *, stream: bool) -> None:
    asked = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, content=body)

    with pytest.raises(ModelRefusedError) as failure:
        await _model(protocol, handler, retry=3, stream=stream).complete(ASK)
    assert failure.value.code == "not_a_reply"
    assert len(asked) == 1
    assert len(failure.value.message) < 700
    assert "SECRET-QUESTION" not in failure.value.message


@pytest.mark.parametrize("name", MALFORMED)
def test_there_are_at_least_thirty(name: str) -> None:
    assert len(MALFORMED[name]) >= 30


KEYS = ["choices", "message", "content", "tool_calls", "function", "name", "arguments", "id", "finish_reason", "usage"]
KEYS += ["error", "text", "type", "reasoning", "refusal", "delta", "index", "code", "detail", "msg", "loc", "response"]
KEYS += ["output", "status", "summary", "encrypted_content", "call_id", "role", "item", "output_index", "item_id"]
WORDS = [
    "message",
    "reasoning",
    "function_call",
    "output_text",
    "refusal",
    "completed",
    "incomplete",
    "failed",
    "error",
]
WORDS += ["response.completed", "response.output_item.added", "response.output_item.done", "response.output_text.delta"]
WORDS += ["response.function_call_arguments.delta", "response.reasoning_summary_text.delta", "assistant"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)
ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "reasoning", "function_call", "odd"])},
    optional=dict.fromkeys(
        ("id", "content", "summary", "encrypted_content", "call_id", "name", "arguments", "status"), JSON
    ),
)
EVENT = st.fixed_dictionaries(
    {"type": st.sampled_from(WORDS)},
    optional={
        "item": ITEM | JSON,
        "response": JSON,
        "output_index": JSON,
        "item_id": JSON,
        "delta": JSON,
        "error": JSON,
    },
)


@given(st.builds(lambda items, status: {"output": items, "status": status}, st.lists(ITEM, max_size=4), JSON) | JSON)
def test_any_json_gives_a_response_or_an_error_of_ours(payload: object) -> None:
    _reply_or_error(json.dumps(payload).encode())


@given(st.lists(EVENT | JSON, max_size=5))
def test_any_events_give_a_response_or_an_error_of_ours(events: list[object]) -> None:
    raw = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    _reply_or_error(raw + b"data: [DONE]\n\n")


def _reply_or_error(body: bytes) -> None:
    """A reply of the right types whose message can be sent back to the strictest service, or an error of ours."""

    async def ask() -> None:
        model = _model(RESPONSES, lambda _: httpx.Response(200, content=body), retry=0)
        try:
            reply = await model.complete(ASK)
        except HarnessError:
            return
        assert isinstance(reply, ModelReply)
        assert all(isinstance(value, int | float) for value in reply.usage.values())
        hash(reply)
        _goes_back(model, reply)

    asyncio.run(ask())


def _goes_back(model: ServedModel, reply: ModelReply) -> None:
    mended = mend_reply(reply, frozenset(), 1, "nothing")
    answers = tuple(ToolMessage(call_id=call.call.id, tool="t", text="no") for call in mended.calls)
    body = b"".join(model.encoder.body(ModelRequest(messages=(*ASK.messages, mended.message, *answers))))
    assert list(RESPONSES.faults_of(json.loads(body))) == []
    assert refusals_of("responses", json.loads(body)) == []
