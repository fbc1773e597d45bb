"""Whole questions against a strict Chat Completions server on loopback: configuration, container, wire and memory.

Pictures and crops are real; only the reader is a double. The server refuses what the strictest real one refuses, and
every request that is no extension of the one before.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from openvlharness_app import build_container, load_agent_config, open_agent
from openvlharness_app.presets import preset_text
from openvlharness_app.yaml_lines import parse_yaml
from openvlharness_core import ImageInput, MainAgent, Question, Report, ToolFailure, ToolStep
from openvlharness_core.agent.steps import EnvironmentUpdateStep
from openvlharness_core.testing import FakeOcr
from tests.support.chat_server import ChatServer, Completion, Respond, calls, reply, says
from tests.support.picture_server import PictureServer

ZOOM, OCR = "Zoom_In_Tool", "OCR_Tool"
LEFT = {"image_id": "input_image_1", "coords": [0, 0, 500, 1000]}


def picture(colour: str = "red") -> bytes:
    image = Image.new("RGB", (200, 100), "white")
    image.paste(colour, (0, 0, 100, 100))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def configuration(server: ChatServer, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    tree = parse_yaml(preset_text("openai_compatible")).tree
    assert isinstance(tree, dict)
    return merged(tree, changes or {})


def merged(tree: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(tree)
    for key, value in changes.items():
        result[key] = merged(result[key], value) if isinstance(value, Mapping) and key in result else value
    return result


@asynccontextmanager
async def agent_for(
    server: ChatServer, changes: Mapping[str, Any] | None = None, ocr: object | None = None
) -> AsyncIterator[MainAgent]:
    environment = {"MODEL_BASE_URL": server.base_url, "MODEL_NAME": "scripted", "MODEL_API_KEY": "CANARY-1"}
    container = build_container(load_agent_config(configuration(server, changes), environment))
    container.ocr_backend.override(ocr or FakeOcr(("TOTAL 12.50",)))
    async with open_agent(container) as agent:
        yield agent


async def ask(script: list[Any], changes: Mapping[str, Any] | None = None, **server: Any) -> tuple[Report, ChatServer]:
    async with ChatServer(script, **server) as chat, agent_for(chat, changes) as agent:
        report = await agent.answer(Question("What is it?", [ImageInput.from_bytes(picture())]))
    chat.assert_spent()
    return report, chat


def tool_steps(report: Report) -> list[ToolStep]:
    return [step for step in report.steps if isinstance(step, ToolStep)]


def updates(report: Report) -> list[str]:
    return [step.text for step in report.steps if isinstance(step, EnvironmentUpdateStep)]


def new_messages(chat: ChatServer, request: int) -> list[dict[str, Any]]:
    """What request number `request` (from 0) says that the one before it did not."""
    return chat.requests[request].json["messages"][len(chat.requests[request - 1].json["messages"]) :]


def pictures_of(message: Mapping[str, Any]) -> list[bytes]:
    parts = message["content"] if isinstance(message["content"], list) else []
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.partition("base64,")[2]) for url in urls]


def text_of(message: Mapping[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(p["text"] for p in content if p["type"] == "text")


async def test_a_question_with_zoom_and_reading() -> None:
    report, chat = await ask(
        [
            calls((ZOOM, LEFT)),
            calls((OCR, {"image_id": "Tool_Generated_Image_1.PNG"}), ids=["second"]),
            says("<answer>12.50</answer>"),
        ]
    )
    assert (report.answer, report.stop_reason, report.error) == ("12.50", "answered", None)
    assert report.usage["total"] == {"prompt_tokens": 300, "completion_tokens": 30, "total_tokens": 330}
    assert [step.result.ok for step in tool_steps(report)] == [True, True]
    said, evidence, update = new_messages(chat, 1)[1:]
    assert said == {"role": "tool", "tool_call_id": "call_0", "content": text_of(said)}
    (crop,) = pictures_of(evidence)
    assert Image.open(io.BytesIO(crop)).size == (100, 100)
    assert "tool_generated_image_1" in text_of(evidence)
    assert text_of(update) == updates(report)[1]
    assert chat.requests[0].headers["authorization"] == "Bearer CANARY-1"
    assert "CANARY-1" not in json.dumps(report.to_dict())


async def test_the_request_of_a_turn_is_a_byte_prefix_of_the_next() -> None:
    _, chat = await ask(
        [calls((ZOOM, LEFT)), says(""), calls((OCR, {"image_id": "input_image_1"})), says("<answer>x</answer>")]
    )
    for earlier, later in zip(chat.requests, chat.requests[1:], strict=False):
        end = earlier.body.index(b'],"', earlier.body.index(b'"messages":['))
        while not _is_whole(earlier.body[:end]):
            end = earlier.body.index(b'],"', end + 1)
        assert later.body.startswith(earlier.body[:end] + b",")


def _is_whole(head: bytes) -> bool:
    try:
        json.loads(head + b"]}")
    except ValueError:
        return False
    return True


async def test_of_several_calls_in_one_turn_none_runs() -> None:
    report, chat = await ask(
        [calls((ZOOM, LEFT), (OCR, LEFT), ids=["a", "b"]), calls((ZOOM, LEFT)), says("<answer>x</answer>")]
    )
    refused = new_messages(chat, 1)[1:]
    assert [(message["role"], message["tool_call_id"]) for message in refused] == [("tool", "a"), ("tool", "b")]
    assert all("one" in message["content"] for message in refused)
    assert [step.result.failure.code if step.result.failure else "ok" for step in tool_steps(report)] == [
        "one_call_per_turn",
        "one_call_per_turn",
        "ok",
    ]
    assert [message["role"] for message in new_messages(chat, 2)] == ["assistant", "tool", "user", "user"]
    assert len(updates(report)) == 2


async def test_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    report, chat = await ask([calls(("Zoom It!", {})), says("<answer>x</answer>")])
    assistant, answer = new_messages(chat, 1)
    assert assistant["tool_calls"][0]["function"]["name"] == "Zoom_It_"
    assert ZOOM in answer["content"]
    assert tool_steps(report)[0].tool == "Zoom It!"


@pytest.mark.parametrize(
    "arguments",
    ['{"image_id": "input_image_1", "coords": [10, 20', "null", "[]", '"x"', "", "{} {}", '{"a": NaN}', "{'a': 1}"],
)
async def test_broken_arguments_never_poison_the_conversation(arguments: str) -> None:
    report, chat = await ask([calls((ZOOM, arguments)), calls((ZOOM, LEFT)), says("<answer>x</answer>")])
    assistant, answer = new_messages(chat, 1)
    assert assistant["tool_calls"][0]["function"]["arguments"] == "{}"
    assert "one JSON object" in answer["content"]
    first, second = tool_steps(report)
    assert (first.arguments, second.result.ok) == (arguments, True)
    assert report.steps[1].calls[0].arguments == arguments  # type: ignore[union-attr]
    assert report.answer == "x"


async def test_a_cut_inside_the_arguments_is_said_to_be_one() -> None:
    cut = calls((ZOOM, '{"image_id": "inp')).payload
    choice = {**cut["choices"][0], "finish_reason": "length"}
    report, _ = await ask([Completion({**cut, "choices": [choice]}), says("<answer>x</answer>")])
    assert tool_steps(report)[0].result.failure.code == "arguments_truncated"  # type: ignore[union-attr]


async def test_ids_that_repeat_or_are_missing() -> None:
    right = {"image_id": "input_image_1", "coords": [500, 0, 1000, 1000]}
    nameless = calls((OCR, {"image_id": "input_image_1"})).payload
    del nameless["choices"][0]["message"]["tool_calls"][0]["id"]
    report, chat = await ask(
        [
            calls((ZOOM, LEFT), ids=["zoom:0"]),
            calls((ZOOM, right), ids=["zoom:0"]),
            Completion(nameless),
            says("<answer>x</answer>"),
        ]
    )
    ids = [step.call_id for step in tool_steps(report)]
    assert ids[0] == "zoom:0"
    assert len(set(ids)) == 3
    assert [record.handle for record in report.images] == [
        "input_image_1",
        "tool_generated_image_1",
        "tool_generated_image_2",
    ]
    for request, call_id in enumerate(ids, 1):
        assistant, answer = new_messages(chat, request)[:2]
        assert assistant["tool_calls"][0]["id"] == answer["tool_call_id"] == call_id


async def test_null_content_beside_a_call() -> None:
    _, chat = await ask([calls((ZOOM, LEFT), text=None), says("<answer>x</answer>")])
    assert new_messages(chat, 1)[0]["content"] is None


@pytest.mark.parametrize("text", [None, "", "   ", "<tool_call>{}</tool_call>"])
async def test_an_empty_answer_is_continued_with_a_nudge(text: str | None) -> None:
    report, chat = await ask([reply({"content": text}), says("<answer>x</answer>")])
    assistant, nudge = new_messages(chat, 1)
    assert assistant["content"].strip()
    assert "<answer>" in nudge["content"]
    assert report.answer == "x"


async def test_a_spent_budget_with_the_extra_request() -> None:
    script = [calls((ZOOM, LEFT)), calls((ZOOM, LEFT), ids=["late"]), says("so it is x")]
    report, chat = await ask(script, {"agent": {"max_iterations": 2}})
    assert report.answer == "so it is x"
    assert "tools" in chat.requests[1].json
    assert "tools" not in chat.requests[2].json
    assert tool_steps(report)[1].result.failure.code == "budget_spent"  # type: ignore[union-attr]


async def test_a_spent_budget_without_the_extra_request(tmp_path: Path) -> None:
    changes = with_profile(tmp_path, {"extra_final_request": False}) | {"agent": {"max_iterations": 1}}
    report, _ = await ask([calls((ZOOM, LEFT))], changes)
    assert (report.answer, report.stop_reason) == (None, "budget_spent")
    assert report.error is not None


async def test_equal_bytes_keep_one_handle() -> None:
    report, _ = await ask([calls((ZOOM, LEFT)), calls((ZOOM, LEFT), ids=["b"]), says("<answer>x</answer>")])
    assert [step.result.artifacts.images for step in tool_steps(report)] == [("tool_generated_image_1",)] * 2
    assert [record.handle for record in report.images] == ["input_image_1", "tool_generated_image_1"]


@pytest.mark.parametrize("alias", ["INPUT_IMAGE_1", " 'input_image_1' ", "input_image_1.png", '"Input_Image_1"'])
async def test_aliases_are_read_generously(alias: str) -> None:
    report, _ = await ask([calls((OCR, {"image_id": alias})), says("<answer>x</answer>")])
    assert tool_steps(report)[0].result.data["image_id"] == "input_image_1"  # type: ignore[index]


@pytest.mark.parametrize(("policy", "expected"), [("always", 3), ("on_change", 2)])
async def test_when_the_inventory_is_said(policy: str, expected: int) -> None:
    script = [calls((ZOOM, LEFT)), calls((ZOOM, LEFT), ids=["b"]), says("<answer>x</answer>")]
    report, _ = await ask(script, {"memory": {"emit_policy": policy}})
    assert len(updates(report)) == expected


class FailingReader:
    """A double that registers nothing because it never answers well."""

    async def read(self, image: object, *, timeout_seconds: float) -> object:
        raise ToolFailure("unsupported_query", "this reader reads nothing")


async def test_a_failed_call_registers_nothing_and_says_no_inventory() -> None:
    script = [calls((OCR, {"image_id": "input_image_1"})), calls((OCR, {"image_id": "input_image_7"})), says("x")]
    async with ChatServer(script) as chat, agent_for(chat, ocr=FailingReader()) as agent:
        report = await agent.answer(Question("What is it?", [ImageInput.from_bytes(picture())]))
    chat.assert_spent()
    codes = [step.result.failure.code for step in tool_steps(report) if step.result.failure]
    assert codes == ["unsupported_query", "unknown_reference"]
    assert (report.bindings, len(report.images), len(updates(report))) == ((), 1, 1)


def with_profile(folder: Path, fields: Mapping[str, object]) -> dict[str, Any]:
    path = folder / "profiles.yaml"
    path.write_text(json.dumps({"mine": fields}))
    return {"models": {"registry_paths": [str(path)]}, "services": {"models": {"orchestrator": {"alias": "mine"}}}}


async def test_a_lazy_remote_picture_is_downloaded_once_and_stays_after_a_failure(tmp_path: Path) -> None:
    remote = {"image_id": "input_image_1", "coords": [0, 0, 500, 1000]}
    script = [
        calls((ZOOM, {**remote, "coords": [500, 0, 500, 1000]})),
        calls((ZOOM, remote), ids=["b"]),
        says("<answer>x</answer>"),
    ]
    async with PictureServer({"/a.png": picture()}) as pictures, ChatServer(script) as chat:
        changes = with_profile(tmp_path, {"remote_images": "pass_url"})
        changes |= {"security": {"fetch_hosts": [pictures.host_and_port]}}
        async with agent_for(chat, changes) as agent:
            report = await agent.answer(Question("What is it?", [ImageInput.from_url(pictures.url("/a.png"))]))
    chat.assert_spent()
    first = chat.requests[0].json["messages"]
    assert first[1]["content"][-1]["image_url"]["url"] == pictures.url("/a.png")
    assert "size unknown" in text_of(first[2])
    assert "200x100" in updates(report)[1]
    assert pictures.served == ["/a.png"]
    assert [step.result.ok for step in tool_steps(report)] == [False, True]


async def test_a_remote_picture_is_shown_downloaded_by_default() -> None:
    async with (
        PictureServer({"/a.png": picture()}) as pictures,
        ChatServer([says("<answer>x</answer>")]) as chat,
        agent_for(chat, {"security": {"fetch_hosts": [pictures.host_and_port]}}) as agent,
    ):
        await agent.answer(Question("What is it?", [ImageInput.from_url(pictures.url("/a.png"))]))
    assert pictures_of(chat.requests[0].json["messages"][1]) == [picture()]


async def test_a_dead_and_a_lying_server_end_in_a_report() -> None:
    report, _ = await ask([Respond(200, b"<html>hello</html>")])
    assert (report.stop_reason, report.answer) == ("model_failed", None)
    report, _ = await ask([calls((ZOOM, LEFT)), Respond.error(401, "bad key CANARY-1")])
    assert report.stop_reason == "model_failed"
    assert len(tool_steps(report)) == 1
    assert "CANARY-1" not in json.dumps(report.to_dict())
    no_retry = {"services": {"models": {"orchestrator": {"retry": 0}}}}
    async with ChatServer([]) as gone, agent_for(gone, no_retry) as agent:
        await gone.__aexit__()
        report = await agent.answer(Question("What is it?", []))
    assert report.stop_reason == "model_failed"
