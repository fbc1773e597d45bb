"""A key that comes back inside a reply is in nothing that leaves the adapter."""

from __future__ import annotations

import json
from typing import Any

import attrs
import httpx
import pytest

from openvlharness_core.messages import ModelReply, ModelRequest, UserMessage, VirtualCall
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing.time import FakeClock
from tests.support.protocols import CHAT, PROTOCOLS, RESPONSES, Protocol

ASK = ModelRequest(messages=(UserMessage.of_text("q"),))
KEY = "sk-CANARY/1+2"
FORMS = [KEY, KEY.replace("/", "\\/"), "sk-CANARY%2F1%2B2"]


@pytest.fixture(params=list(PROTOCOLS.values()), ids=list(PROTOCOLS))
def protocol(request: pytest.FixtureRequest) -> Protocol:
    chosen: Protocol = request.param
    return chosen


async def _reply(protocol: Protocol, body: bytes, key: str, **fields: Any) -> ModelReply:
    async def handler(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=body)

    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
        model = protocol.model(
            client=client,
            endpoint="http://h/v1/any",
            profile=ModelProfile(alias="p", model_id="m"),
            clock=FakeClock(),
            retry=0,
            key=key,
            **fields,
        )
        return await model.complete(ASK)


def _said(key: str) -> ModelReply:
    call = VirtualCall(id=f"id {key}", tool=f"tool {key}", arguments=json.dumps({"a": f"b {key}"}))
    return ModelReply(
        text=f"text {key}.",
        calls=(call,),
        reasoning=f"thought {key}",
        finish_reason="tool_calls",
        usage={f"tokens {key}": 1.0},
        model=f"model {key}",
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_no_field_of_a_reply_holds_the_key(protocol: Protocol, form: str, *, stream: bool) -> None:
    payload = protocol.payload(_said(form))
    body = protocol.as_events(payload) if stream else json.dumps(payload).encode()
    reply = await _reply(protocol, body, KEY, keep_native=True)
    for value in attrs.asdict(reply).values():
        assert "CANARY" not in str(value)
    assert reply == attrs.evolve(_said("[hidden]"), extras=reply.extras, native=reply.native)
    assert "[hidden]" in (reply.native or "")


@pytest.mark.parametrize(
    ("protocol", "fields"),
    [
        (CHAT, {"choices": [{"message": {"content": "x", "annotations": [{"url": KEY}]}, "finish_reason": KEY}]}),
        (
            RESPONSES,
            {
                "status": "incomplete",
                "incomplete_details": {"reason": KEY},
                "output": [{"type": "message", "id": f"msg {KEY}", "content": "x"}],
            },
        ),
    ],
    ids=list(PROTOCOLS),
)
async def test_neither_do_its_extras_and_its_reason(protocol: Protocol, fields: dict[str, Any]) -> None:
    reply = await _reply(protocol, json.dumps(fields).encode(), KEY)
    assert "CANARY" not in reply.extras
    assert "[hidden]" in reply.extras
    assert (reply.text, reply.finish_reason) == ("x", "[hidden]")


@pytest.mark.parametrize("key", ["empty", "a", "default"])
async def test_what_is_no_key_or_too_short_for_one_is_left_in_place(protocol: Protocol, key: str) -> None:
    said = ModelReply(text="an empty default, Bearer abcdefgh", finish_reason="stop")
    assert (await _reply(protocol, protocol.body(said), key)).text == said.text
