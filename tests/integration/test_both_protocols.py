"""The same questions over both protocols: real pictures and crops, strict servers, the same outcome.

Each server refuses what the strictest real one refuses: answers that do not stand next to their calls, ids that are not
known, arguments that are no JSON object, incomplete item sets, users that do not take turns where they should.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from PIL import Image

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.zoom import InProcessZoom
from openvlharness_core import ImageInput, MainAgent, ModelProfile, Question, Report, Toolset, ToolStep, TurnPolicy
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.messages import ModelReply, VirtualCall
from openvlharness_core.testing import FakeClock, FakeFetcher, FakeOcr, InlineOffload, WordCounter, plain_prompts
from tests.support.chat_server import ChatServer, Completion, Recorded, Respond, Script, Step
from tests.support.official_types import refusals_of
from tests.support.protocols import CHAT, PROTOCOLS, RESPONSES, Protocol
from tests.support.responses_server import call, message, reasoning, response

ZOOM, OCR = "Zoom_In_Tool", "OCR_Tool"
LEFT = {"image_id": "input_image_1", "coords": [0, 0, 500, 1000]}
RIGHT = {"image_id": "input_image_1", "coords": [500, 0, 1000, 1000]}
BOTH = pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS.keys())


def picture() -> bytes:
    image = Image.linear_gradient("L").resize((200, 100)).convert("RGB")
    image.paste("red", (0, 0, 100, 100))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


async def ask(
    protocol: Protocol,
    script: Script,
    question: str = "What is it?",
    *,
    policy: dict[str, Any] | None = None,
    stream: bool = False,
    alternate: bool = False,
    **server: Any,
) -> tuple[Report, ChatServer]:
    codec, offload, clock = PillowCodec(), InlineOffload(), FakeClock()
    async with protocol.server(script, alternate=alternate, **server) as service, open_client() as client:
        model = protocol.model(
            client=client,
            endpoint=service.endpoint,
            profile=ModelProfile(alias="any", model_id="scripted", alternate_roles=alternate),
            clock=clock,
            retry=0,
            stream=stream,
        )
        zoom = ZoomCapability(backend=InProcessZoom(codec=codec, offload=offload))
        agent = MainAgent(
            model=model,
            toolset=Toolset([zoom, OcrCapability(backend=FakeOcr(("TOTAL \ud83d 12.50",)))]),
            policy=TurnPolicy(prompts=plain_prompts(), **policy or {}),
            codec=codec,
            fetcher=FakeFetcher(),
            offload=offload,
            clock=clock,
            token_counter=WordCounter(),
        )
        report = await agent.answer(Question(question, [ImageInput.from_bytes(picture())]))
    service.assert_spent()
    for request in service.requests:
        assert refusals_of(protocol.name, request.json) == []
    return report, service


def strings_of(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every string of a JSON value under the name of its field, in order."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from strings_of(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from strings_of(item, key)
    elif isinstance(value, str):
        yield key, value


def shown(protocol: Protocol, request: Recorded) -> list[str | bytes]:
    """What a request shows, in order and without the protocol: texts line by line, pictures as bytes."""
    seen: list[str | bytes] = []
    for key, text in strings_of(request.json[protocol.conversation]):
        if text.startswith("data:image/png;base64,"):
            seen.append(base64.b64decode(text.partition(",")[2], validate=True))
        elif key in ("content", "text", "output", "arguments", "name"):
            seen += [line for line in text.splitlines() if line]
    return seen


def calling(tool: str, arguments: Any, call_id: str = "call_0", text: str | None = None) -> ModelReply:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    wanted = (VirtualCall(id=call_id, tool=tool, arguments=given),)
    return ModelReply(text=text, calls=wanted, finish_reason="tool_calls")


def saying(text: str) -> ModelReply:
    return ModelReply(text=text, finish_reason="stop")


def tool_steps(report: Report) -> list[ToolStep]:
    return [step for step in report.steps if isinstance(step, ToolStep)]


def outcome(report: Report) -> list[Any]:
    """Everything of a report that must not depend on the protocol."""
    document = report.to_dict()
    images = [(record.handle, record.picture.sent.data if record.picture else None) for record in report.images]
    steps = [
        (step.call_id, step.tool, step.result.ok, step.result.artifacts, step.result.failure, step.result.evidence)
        for step in tool_steps(report)
    ]
    return [report.answer, report.stop_reason, images, steps, document["bindings"], document["pages"]]


SCRIPTS: dict[str, Sequence[ModelReply]] = {
    "two tools": [
        calling(ZOOM, LEFT, text="Closer."),
        calling(OCR, {"image_id": "Tool_Generated_Image_1.PNG"}, "second"),
        saying("<answer>12.50</answer>"),
    ],
    "ids that restart each turn": [
        calling(ZOOM, LEFT, "zoom:0"),
        calling(ZOOM, RIGHT, "zoom:0"),
        calling(OCR, RIGHT, ""),
        saying("<answer>x</answer>"),
    ],
    "several calls at once": [
        ModelReply(calls=(*calling(ZOOM, LEFT, "a").calls, *calling(ZOOM, RIGHT, "b").calls)),
        calling(ZOOM, LEFT, "a"),
        saying("<answer>x</answer>"),
    ],
    "failures": [calling("No Such", {}), calling(OCR, {"image_id": "input_image_9"}), saying("<answer>x</answer>")],
    "an empty answer": [saying(""), calling(ZOOM, LEFT), saying("  "), saying("<answer>x</answer>")],
    "half a pair": [calling(OCR, '{"image_id": "input_image_1", "note": "a\\ud83d b"}'), saying("<answer>\ud83d</answer>")],
}  # fmt: skip


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("alternate", [False, True], ids=["free", "alternating"])
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
async def test_the_same_question_goes_the_same_way(
    script: Sequence[ModelReply], *, alternate: bool, stream: bool
) -> None:
    runs = {}
    for protocol in (CHAT, RESPONSES):
        report, server = await ask(
            protocol,
            [protocol.step(reply) for reply in script],
            "a\ud83d b 🙂",
            alternate=alternate,
            stream=stream,
        )
        runs[protocol.name] = (outcome(report), [shown(protocol, request) for request in server.requests])
        assert report.stop_reason == "answered"
    (chat, chat_shown), (responses, responses_shown) = runs.values()
    assert chat == responses
    assert chat_shown == responses_shown
    assert sum(isinstance(item, bytes) for item in chat_shown[-1]) >= 1


async def test_a_crop_arrives_inside_the_answer_to_its_call_with_its_label_before_it() -> None:
    report, server = await ask(RESPONSES, [RESPONSES.step(reply) for reply in SCRIPTS["two tools"]])
    said, wanted, answer, update = server.requests[1].json["input"][len(server.requests[0].json["input"]) :]
    assert (said["content"], wanted["call_id"], answer["call_id"]) == ("Closer.", "call_0", "call_0")
    kinds = [part["type"] for part in answer["output"]]
    place = kinds.index("input_image")
    assert kinds.count("input_image") == 1
    assert "tool_generated_image_1" in answer["output"][place - 1]["text"]
    sent = base64.b64decode(answer["output"][place]["image_url"].partition(",")[2])
    record = report.images[1].picture
    assert record is not None
    assert sent == record.sent.data
    assert (update["role"], "tool_generated_image_1" in str(update["content"])) == ("user", True)


async def test_of_several_calls_none_runs_and_the_answers_are_adjacent() -> None:
    report, server = await ask(RESPONSES, [RESPONSES.step(reply) for reply in SCRIPTS["several calls at once"]])
    new = server.requests[1].json["input"][len(server.requests[0].json["input"]) :]
    assert [(item["type"], item["call_id"]) for item in new] == [
        ("function_call", "a"),
        ("function_call", "b"),
        ("function_call_output", "a"),
        ("function_call_output", "b"),
    ]
    assert [step.result.ok for step in tool_steps(report)] == [False, False, True]


@BOTH
@pytest.mark.parametrize(
    "arguments", ['{"image_id": "input_image_1", "coords": [10, 20', "null", "[]", '"x"', "", "{} {}"]
)
async def test_broken_arguments_never_poison_the_conversation(protocol: Protocol, arguments: str) -> None:
    script = [calling(ZOOM, arguments), calling(ZOOM, LEFT), saying("<answer>x</answer>")]
    report, server = await ask(protocol, [protocol.step(reply) for reply in script])
    first, second = tool_steps(report)
    assert (first.arguments, first.result.ok, second.result.ok) == (arguments, False, True)
    replayed = [text for key, text in strings_of(server.requests[1].json[protocol.conversation]) if key == "arguments"]
    assert replayed == ["{}"]


@BOTH
async def test_a_cut_inside_the_arguments_is_said_to_be_one(protocol: Protocol) -> None:
    cut = protocol.step(ModelReply(calls=calling(ZOOM, '{"image_id": "inp').calls, finish_reason="length"))
    report, _ = await ask(protocol, [cut, protocol.says("<answer>x</answer>")])
    failure = tool_steps(report)[0].result.failure
    assert failure is not None
    assert failure.code == "arguments_truncated"


# Reasoning that only the service can read


def thinking(n: int, arguments: Any = None, words: str = "") -> Completion:
    """Sealed reasoning in front of a call, as the service numbers them."""
    said = [message(words, f"msg_{n}", phase="commentary")] if words else []
    wanted = call(ZOOM, arguments or LEFT, f"call_{n}", id=f"fc_{n}", status="completed")
    return response(reasoning(f"rs_{n}", f"sealed-{n}"), *said, wanted)


def sealed_in(request: Recorded) -> list[str]:
    return [item["encrypted_content"] for item in request.json["input"] if item["type"] == "reasoning"]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_sealed_reasoning_is_carried_along(*, stream: bool) -> None:
    end = response(reasoning("rs_9", "sealed-9"), message("<answer>x</answer>", "msg_9"))
    report, server = await ask(
        RESPONSES, [thinking(0, words="Closer."), thinking(1, '{"cut'), thinking(2, RIGHT), end], stream=stream
    )
    assert [sealed_in(request) for request in server.requests] == [
        [], ["sealed-0"], ["sealed-0", "sealed-1"], ["sealed-0", "sealed-1", "sealed-2"]
    ]  # fmt: skip
    kinds = [item["type"] for item in server.requests[1].json["input"][-5:]]
    assert kinds == ["reasoning", "message", "function_call", "function_call_output", "message"]
    assert server.requests[1].json["input"][-4]["phase"] == "commentary"
    assert [step.result.ok for step in tool_steps(report)] == [True, False, True]
    assert report.answer == "x"


async def test_an_empty_answer_goes_back_without_its_reasoning() -> None:
    empty = response(reasoning("rs_0", "sealed-0"))
    report, server = await ask(RESPONSES, [empty, RESPONSES.says("<answer>x</answer>")])
    assert report.answer == "x"
    assert sealed_in(server.requests[1]) == []


@BOTH
async def test_a_full_context_is_compacted_in_pairs_and_sets(protocol: Protocol) -> None:
    full = Respond.error(400, "too long", code="context_length_exceeded")
    if protocol is RESPONSES:
        turns = [thinking(n, LEFT if n % 2 else RIGHT) for n in range(6)]
    else:
        turns = [protocol.step(calling(ZOOM, LEFT if n % 2 else RIGHT, f"call_{n}")) for n in range(6)]
    report, server = await ask(protocol, [*turns, full, protocol.says("<answer>x</answer>")], prefix=False)
    assert report.answer == "x"
    before, after = server.requests[-2:]
    assert len(after.body) < len(before.body)
    assert _ids(protocol, after) == [f"call_{n}" for n in range(6)]
    if protocol is RESPONSES:
        assert sealed_in(after) == [f"sealed-{n}" for n in range(6)]


@BOTH
@pytest.mark.parametrize("budget", [400, 420, 440, 460, 480, 500, 800])
async def test_counted_history_leaves_in_pairs_and_sets(protocol: Protocol, budget: int) -> None:
    if protocol is RESPONSES:
        turns = [thinking(n, LEFT if n % 2 else RIGHT) for n in range(6)]
    else:
        turns = [protocol.step(calling(ZOOM, LEFT if n % 2 else RIGHT, f"call_{n}")) for n in range(6)]
    policy = {"count_tokens": True, "max_context_length": budget, "reserved_output_tokens": 10}
    report, server = await ask(protocol, [*turns, protocol.says("<answer>x</answer>")], policy=policy, prefix=False)
    assert report.answer == "x"
    left = _ids(protocol, server.requests[-1])
    assert left == [f"call_{n}" for n in range(6)][6 - len(left) :]
    assert left[-1] == "call_5"
    assert (budget, len(left)) != (400, 6), "whole turns leave"
    assert sum(isinstance(item, bytes) for item in shown(protocol, server.requests[-1])) < 7, "pictures leave"
    if protocol is RESPONSES:
        assert sealed_in(server.requests[-1]) == [f"sealed-{call_id[5:]}" for call_id in left]
    assert [record.handle for record in report.images] == [
        "input_image_1", "tool_generated_image_1", "tool_generated_image_2"
    ]  # fmt: skip


def _ids(protocol: Protocol, request: Recorded) -> list[str]:
    """Ids of the answered calls, in order; the server has seen that each stands by its call."""
    key = "call_id" if protocol is RESPONSES else "tool_call_id"
    kinds = ("function_call_output", "tool")
    said = request.json[protocol.conversation]
    return [item[key] for item in said if item.get("type") in kinds or item.get("role") in kinds]


# Odd replies in the middle of a question

ODD: dict[str, Callable[[Protocol], Step]] = {
    "nothing": lambda _: Respond(200, b""),
    "page": lambda _: Respond(200, b"<html>hello</html>"),
    "null": lambda _: Respond(200, b"null"),
    "list": lambda _: Respond(200, b"[]"),
    "empty object": lambda _: Respond(200, b"{}"),
    "number": lambda _: Respond(200, b"1e999"),
    "error with 200": lambda _: Respond(200, b'{"error": {"message": "gone"}}'),
    "no JSON": lambda _: Respond(200, b'{"output": [{"choices": ['),
    "refusal 400": lambda _: Respond.error(400, "no"),
    "refusal 401": lambda _: Respond.error(401, "no"),
    "overloaded": lambda _: Respond.error(503, "busy"),
    "empty list": lambda _: Respond(200, b'{"status": "completed", "output": [], "choices": []}'),
    "no text": lambda it: it.step(ModelReply(finish_reason="stop")),
    "blank text": lambda it: it.step(ModelReply(text=" \n", finish_reason="stop")),
    "no finish": lambda it: it.step(ModelReply(text="")),
    "filtered": lambda it: it.step(ModelReply(finish_reason="content_filter")),
    "cut text": lambda it: it.step(ModelReply(text="I see", finish_reason="length")),
    "markup": lambda it: it.step(ModelReply(text='<tool_call>{"name": "x"}</tool_call>')),
    "half a pair": lambda it: it.step(ModelReply(text="\ud83d")),
    "zero": lambda it: it.step(ModelReply(text="\0")),
    "call, no arguments": lambda it: it.step(calling(ZOOM, "")),
    "call, null": lambda it: it.step(calling(ZOOM, "null")),
    "call, list": lambda it: it.step(calling(ZOOM, "[1]")),
    "call, two objects": lambda it: it.step(calling(ZOOM, "{}{}")),
    "call, NaN": lambda it: it.step(calling(ZOOM, '{"coords": NaN}')),
    "call, cut": lambda it: it.step(ModelReply(calls=calling(ZOOM, '{"a": "').calls, finish_reason="length")),
    "call, deep": lambda it: it.step(calling(ZOOM, '{"a": ' * 500 + "1" + "}" * 500)),
    "call, half a pair": lambda it: it.step(calling(ZOOM, '{"image_id": "\ud83d"}', "\udfff")),
    "call, escaped half": lambda it: it.step(calling(ZOOM, '{"image_id": "\\ud83d"}')),
    "call, no name": lambda it: it.step(calling("", "{}")),
    "call, long name": lambda it: it.step(calling("x" * 300, "{}")),
    "call, odd name": lambda it: it.step(calling("functions.zoom in 🙂", "{}")),
    "call, no id": lambda it: it.step(calling(ZOOM, LEFT, "")),
    "call, blank id": lambda it: it.step(calling(ZOOM, LEFT, "  ")),
    "calls, one id": lambda it: it.step(ModelReply(calls=calling(ZOOM, LEFT, "a").calls * 2)),
    "calls, no ids": lambda it: it.step(ModelReply(calls=calling(ZOOM, LEFT, "").calls * 3)),
    "call, id of the turn before": lambda it: it.step(calling(ZOOM, LEFT, "call_before")),
    "call, repeated key": lambda it: it.step(calling(ZOOM, '{"a": 1, "a": 2}')),
    "reasoning alone": lambda it: it.step(ModelReply(reasoning="hm")),
}
ODD_ITEMS: dict[str, Step] = {
    "unsealed": response({"type": "reasoning", "id": "rs", "summary": []}, call(ZOOM, LEFT)),
    "no reasoning id": response({"type": "reasoning", "encrypted_content": "x"}, call(ZOOM, LEFT)),
    "reasoning last": response(call(ZOOM, LEFT), reasoning()),
    "reasoning of numbers": response({"type": "reasoning", "id": 1, "summary": 3, "content": 4}, call(ZOOM, LEFT)),
    "unknown between": response(reasoning(), {"type": "mcp_call", "id": "m"}, call(ZOOM, LEFT)),
    "one id thrice": response(reasoning("i"), message("a", "i"), call(ZOOM, LEFT, id="i")),
    "ids of the turn before": response(reasoning("rs_before"), call(ZOOM, LEFT, "new", id="fc_before")),
    "object arguments": response(reasoning(), {**call(ZOOM, ""), "arguments": LEFT}),
    "empty message": response(reasoning(), message(""), call(ZOOM, LEFT)),
    "message null": response(reasoning(), {"type": "message", "id": "m", "content": None}, call(ZOOM, LEFT)),
    "only an unknown item": response({"type": "image_generation_call", "id": "ig", "result": "x"}),
    "no types": response({"id": "a"}, {"id": "b"}),
    "no call id": response(reasoning(), {"type": "function_call", "id": "fc_1", "name": ZOOM, "arguments": "{}"}),
    "failed": response(status="failed", error=None),
    "in progress": response(call(ZOOM, LEFT, status="in_progress"), status="in_progress"),
    "many messages": response(*(message("a", f"m{n}", phase="commentary") for n in range(5)), call(ZOOM, LEFT)),
}
ODD_CASES = [
    *(pytest.param(it, make(it), id=f"{it.name}-{about}") for it in PROTOCOLS.values() for about, make in ODD.items()),
    *(pytest.param(RESPONSES, step, id=f"responses-items-{about}") for about, step in ODD_ITEMS.items()),
]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(("protocol", "odd"), ODD_CASES)
async def test_an_odd_reply_ends_in_a_report_or_is_gone_on_from(protocol: Protocol, odd: Step, *, stream: bool) -> None:
    before = thinking(7) if protocol is RESPONSES else protocol.step(calling(ZOOM, LEFT, "call_before"))
    if protocol is RESPONSES and isinstance(before, Completion):
        before = Completion(json.loads(json.dumps(before.payload).replace('_7"', '_before"')))
    steps = iter([before, odd])
    report, server = await ask(protocol, lambda _: next(steps, protocol.says("<answer>x</answer>")), stream=stream)
    assert tool_steps(report)[0].result.ok
    if len(server.requests) == 2:
        assert (report.stop_reason, report.answer is None) in (("model_failed", True), ("answered", False))
    else:  # the strict server took the odd reply back
        assert (report.stop_reason, report.answer) == ("answered", "x")
    report.to_dict()


def test_there_are_at_least_thirty_odd_replies() -> None:
    assert len(ODD) >= 30
