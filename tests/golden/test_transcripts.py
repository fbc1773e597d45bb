"""Golden transcripts of both protocols, run in both directions.

Out: core messages become the very bytes of the written body. In: the written reply becomes the written core reply. Back:
a core reply, spelled by the scripted server as a service would, is read as the same core reply, plain and streamed.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from openvlharness_adapters.models.event_stream import stream_events
from openvlharness_adapters.models.served import ServedModel
from openvlharness_core import errors
from openvlharness_core.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelReply,
    ModelRequest,
    Part,
    SystemMessage,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
    VirtualCall,
)
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing.time import FakeClock
from tests.support.chat_rules import prefix_fault
from tests.support.official_types import refusals_of
from tests.support.protocols import PROTOCOLS

FOLDER = Path(__file__).resolve().parents[2] / "contracts" / "transcripts"
TRANSCRIPTS = [
    (protocol, path.stem, json.loads(path.read_text(encoding="utf-8")))
    for protocol in PROTOCOLS
    for path in sorted((FOLDER / protocol).glob("*.json"))
]
TURNS = [
    pytest.param(protocol, doc, n, id=f"{protocol}-{name}-{n}")
    for protocol, name, doc in TRANSCRIPTS
    for n in range(len(doc.get("turns", ())))
]
REPLIES = [
    *(
        pytest.param(protocol, turn["wire_reply"], turn["reply"], id=f"{protocol}-{name}-{n}")
        for protocol, name, doc in TRANSCRIPTS
        for n, turn in enumerate(doc.get("turns", ()))
    ),
    *(
        pytest.param(protocol, case["wire"], case["reply"], id=f"{protocol}-{case['about']}")
        for protocol, _, doc in TRANSCRIPTS
        for case in doc.get("replies", ())
    ),
]
FAILURES = [
    pytest.param(protocol, case, id=f"{protocol}-{case['about']}")
    for protocol, _, doc in TRANSCRIPTS
    for case in doc.get("failures", ())
]


def _part(doc: dict[str, Any]) -> Part:
    if "text" in doc:
        return TextPart(text=doc["text"])
    if "url" in doc:
        return ImagePart(**doc)
    image = EncodedImage(
        data=base64.b64decode(doc["base64"]), media_type=doc["media_type"], size_hw=tuple(doc["size_hw"])
    )
    return ImagePart(handle=doc["handle"], image=image)


def _message(doc: dict[str, Any]) -> Message:
    fields = {key: value for key, value in doc.items() if key != "role"}
    match doc["role"]:
        case "system":
            return SystemMessage(**fields)
        case "user":
            return UserMessage(parts=tuple(map(_part, doc["parts"])))
        case "tool":
            return ToolMessage(**fields | {"parts": tuple(map(_part, doc.get("parts", ())))})
    return AssistantMessage(**_said(fields))


def _said(doc: dict[str, Any]) -> dict[str, Any]:
    calls = tuple(VirtualCall(**call) for call in doc.get("calls", ()))
    return doc | {"calls": calls, "extras": orjson.dumps(doc.get("extras", {})).decode()}


def _request(doc: dict[str, Any]) -> ModelRequest:
    return ModelRequest(
        **doc
        | {
            "messages": tuple(map(_message, doc["messages"])),
            "tools": tuple(ToolSpec(**tool) for tool in doc.get("tools", ())),
        }
    )


def _model(protocol: str, doc: dict[str, Any], handler: Any = None) -> ServedModel:
    profile = ModelProfile(
        alias="golden", **{key: tuple(v) if isinstance(v, list) else v for key, v in doc["profile"].items()}
    )
    return PROTOCOLS[protocol].model(
        client=httpx.AsyncClient(transport=httpx.MockTransport(handler or (lambda _: httpx.Response(500)))),
        endpoint="http://127.0.0.1:1/v1",
        profile=profile,
        options=doc["options"],
        clock=FakeClock(),
        retry=0,
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_file_says_where_it_came_from(protocol: str) -> None:
    docs = {name: doc for of, name, doc in TRANSCRIPTS if of == protocol}
    assert len(docs) >= 9
    assert [name for name, doc in docs.items() if not doc.get("source") or not doc.get("about")] == []


@pytest.mark.parametrize(("protocol", "doc", "n"), TURNS)
def test_core_becomes_the_body_byte_for_byte(protocol: str, doc: dict[str, Any], n: int) -> None:
    turn = doc["turns"][n]
    body = b"".join(_model(protocol, doc).encoder.body(_request(turn["request"])))
    assert json.loads(body) == turn["body"]
    assert body == orjson.dumps(turn["body"])
    assert list(PROTOCOLS[protocol].faults_of(turn["body"])) == []


@pytest.mark.parametrize(("protocol", "doc", "n"), TURNS)
def test_the_official_types_accept_the_body(protocol: str, doc: dict[str, Any], n: int) -> None:
    assert refusals_of(protocol, doc["turns"][n]["body"]) == []


@pytest.mark.parametrize(("protocol", "doc", "n"), [param for param in TURNS if param.values[2] > 0])
def test_a_body_begins_with_the_one_before(protocol: str, doc: dict[str, Any], n: int) -> None:
    turn = doc["turns"][n]
    if turn.get("continues", True):
        last, now = (orjson.dumps(doc["turns"][m]["body"]) for m in (n - 1, n))
        assert prefix_fault(last, now, PROTOCOLS[protocol].conversation) is None


@pytest.mark.parametrize(("protocol", "doc", "n"), TURNS)
async def test_the_body_travels_and_the_reply_comes_back(protocol: str, doc: dict[str, Any], n: int) -> None:
    turn, seen = doc["turns"][n], []

    async def handler(request: httpx.Request) -> httpx.Response:
        seen.append(await request.aread())
        return httpx.Response(200, json=turn["wire_reply"])

    reply = await _model(protocol, doc, handler).complete(_request(turn["request"]))
    assert reply == ModelReply(**_said(turn["reply"]))
    assert seen == [orjson.dumps(turn["body"])]


@pytest.mark.parametrize(("protocol", "wire", "core"), REPLIES)
def test_a_written_reply_becomes_core(protocol: str, wire: dict[str, Any], core: dict[str, Any]) -> None:
    assert PROTOCOLS[protocol].read(wire) == ModelReply(**_said(core))


@pytest.mark.parametrize(("protocol", "wire", "core"), REPLIES)
def test_a_core_reply_is_read_back(protocol: str, wire: dict[str, Any], core: dict[str, Any]) -> None:
    spoken, reply = PROTOCOLS[protocol], ModelReply(**_said(core))
    payload = spoken.payload(reply)
    assert spoken.read(payload) == reply
    assert spoken.read(spoken.gathered(stream_events(spoken.as_events(payload)))) == reply


@pytest.mark.parametrize(("protocol", "case"), FAILURES)
async def test_a_failure_becomes_its_error(protocol: str, case: dict[str, Any]) -> None:
    content = case["text"].encode() if "text" in case else orjson.dumps(case["body"])
    asked = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(case["status"], content=content)

    model = _model(protocol, {"profile": {"model_id": "m"}, "options": {}}, handler)
    with pytest.raises(getattr(errors, case["error"])) as failure:
        await model.complete(ModelRequest(messages=(UserMessage.of_text("SECRET-QUESTION"),)))
    assert type(failure.value).__name__ == case["error"]
    assert failure.value.code == case["code"]
    assert case["says"] in failure.value.message
    assert "SECRET-QUESTION" not in failure.value.message
    assert len(asked) == 1
