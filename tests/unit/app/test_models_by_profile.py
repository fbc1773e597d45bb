"""Every packaged profile through the container: which protocol is spoken, and what arrives at a scripted server."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import attrs
import pytest

from openvlharness_adapters.models.chat_completions import ChatCompletionsModel
from openvlharness_adapters.models.responses import ResponsesModel
from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_app.registry import load_profiles
from openvlharness_core import ImageInput, ModelName, Question
from tests.support import chat_server, responses_server
from tests.unit.app.configurations import ABSENT, Tree, changed, faults_of
from tests.unit.app.test_prompts import TOOL_TALK
from tests.unit.app.wired import TOOLS, Wired, red_square, served, wired

MODEL = "services.models.orchestrator"
PROFILES = load_profiles()
OVER_HTTP = [alias for alias, profile in PROFILES.items() if profile.adapter != "embedded"]
CHAT = [alias for alias in OVER_HTTP if PROFILES[alias].adapter == "chat_completions"]
RESPONSES = [alias for alias in OVER_HTTP if PROFILES[alias].adapter == "responses"]


def _tree(alias: str, **entry: Any) -> Tree:
    named = {} if PROFILES[alias].model_id else {"model_id": "org/any"}
    return changed(
        served(),
        (MODEL, {"alias": alias, "base": "${SERVER}", **named, **entry}),
        ("agent.paired_sampling_seed", True),
    )


def _seed(request: int) -> int:
    """The first 31 bits that the hash of task and request ends its first word with."""
    return int(hashlib.sha256(f"task\n{request}".encode()).hexdigest()[:8], 16) % 2**31


def _over(alias: str) -> bool:
    return alias in RESPONSES


async def _asked(stage: Wired, task_id: str | None = "task") -> list[dict[str, Any]]:
    """The bodies of a question that is answered after one call."""
    question = Question("Which colour?", [ImageInput.from_bytes(red_square())])
    report = await stage.container.agent().answer(question, task_id=task_id)
    assert (report.answer, report.stop_reason) == ("red", "answered")
    return [request.json for request in stage.server.requests]


@pytest.mark.parametrize("alias", OVER_HTTP)
async def test_a_question_over_the_protocol_of_the_profile(alias: str) -> None:
    profile = PROFILES[alias]
    model_id = profile.model_id or "org/any"
    async with wired(_tree(alias, max_tokens=900), {}, responses=_over(alias)) as stage:
        first, second = await _asked(stage)
        named = attrs.evolve(stage.container.agent().model_name, profile=None)
        assert named == ModelName(alias=alias, model_id=model_id, protocol=profile.adapter)
        path = stage.server.requests[0].path
    assert first["model"] == model_id
    system = load_prompt_bundle(profile.prompt_bundle, frozenset({*TOOLS, "coding"})).text("system")
    assert json.dumps(system)[1:-1] in json.dumps(first)
    names = sorted(tool.get("function", tool)["name"] for tool in first["tools"])
    assert names[-1] == "Zoom_In_Tool"
    assert len(names) == 8
    if _over(alias):
        assert path == "/v1/responses"
        assert (first["store"], first["max_output_tokens"]) == (False, 900)
        assert "seed" not in first
        assert any(item.get("encrypted_content") == "gAAAA" for item in second["input"])
    else:
        assert path == "/v1/chat/completions"
        assert first["max_tokens"] == 900
        assert (first["seed"], second["seed"]) == (_seed(1), _seed(2))


@pytest.mark.parametrize("alias", CHAT)
async def test_without_a_task_there_is_no_seed(alias: str) -> None:
    async with wired(_tree(alias), {}) as stage:
        assert all("seed" not in body for body in await _asked(stage, task_id=None))


async def test_a_sample_has_a_seed_of_its_own() -> None:
    async with wired(_tree("generic-chat"), {"HARNESS_SEARCH_SAMPLE_INDEX": "2"}) as stage:
        first, _ = await _asked(stage)
    assert first["seed"] == (_seed(1) + 2 * 1_000_003) % 2**31


@pytest.mark.parametrize("alias", ["qwen3-vl-8b-instruct", "kimi-k3", "gpt-5-2025-08-07", "generic-responses"])
async def test_a_streamed_reply_is_the_same(alias: str) -> None:
    async with wired(_tree(alias, stream=True), {}, responses=_over(alias)) as stage:
        bodies = await _asked(stage)
    assert all(body["stream"] is True for body in bodies)


@pytest.mark.parametrize(
    ("alias", "entry", "sent"),
    [
        (
            "gpt-6-luna",
            {"reasoning_effort": "xhigh", "service_tier": "flex", "max_tokens": 16000},
            {"reasoning": {"effort": "xhigh"}, "service_tier": "flex", "max_output_tokens": 16000},
        ),
        ("generic-responses", {"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5, "top_p": 0.9}),
        (
            "qwen3-vl-32b-instruct",
            {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.0, "presence_penalty": 1.5},
            {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.0, "presence_penalty": 1.5},
        ),
        (
            "kimi-k3",
            {"temperature": 0.6, "top_p": 0.95, "reasoning_effort": "low"},
            {"temperature": 0.6, "top_p": 0.95, "reasoning_effort": "low"},
        ),
    ],
)
async def test_options_arrive_in_the_words_of_the_protocol(
    alias: str, entry: dict[str, Any], sent: dict[str, Any]
) -> None:
    async with wired(_tree(alias, **entry), {}, responses=_over(alias)) as stage:
        first, _ = await _asked(stage)
    assert {name: first.get(name) for name in sent} == sent


async def test_options_left_out_are_the_providers_own() -> None:
    async with wired(_tree("gpt-5-2025-08-07"), {}, responses=True) as stage:
        first, _ = await _asked(stage)
    assert not {"temperature", "top_p", "reasoning", "service_tier"} & first.keys()


@pytest.mark.parametrize("ending", ["", "/v1", "/v1/{endpoint}"])
@pytest.mark.parametrize("alias", ["generic-chat", "generic-responses"])
async def test_a_base_in_every_spelling(alias: str, ending: str) -> None:
    endpoint = "responses" if _over(alias) else "chat/completions"
    base = "${SERVER}" + ending.format(endpoint=endpoint)
    async with wired(_tree(alias), {}, responses=_over(alias)) as stage:
        stage.tree = changed(stage.tree, (f"{MODEL}.base", base))
        await _asked(stage)


@pytest.mark.parametrize("alias", ["qwen3-vl-8b-instruct", "gpt-5-2025-08-07", "kimi-k3", "generic-chat"])
async def test_without_tools_nothing_is_said_about_them(alias: str) -> None:
    says = responses_server.says if _over(alias) else chat_server.says
    tree = changed(_tree(alias), ("capabilities.tools", {}))
    async with wired(tree, {}, lambda _: says("<answer>red</answer>"), responses=_over(alias)) as stage:
        [body] = await _asked(stage)
    assert not {"tools", "tool_choice"} & body.keys()
    texts = re.findall(r'"text": "([^"]*)"|"content": "([^"]*)"', json.dumps(body))
    said = " ".join(first or second for first, second in texts).replace("[input_image_1]", "")
    assert "Which colour?" in said
    assert TOOL_TALK.findall(said) == []


# ---- endings that the profile decides --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alias", "answer"),
    [("gpt-5-2025-08-07", "It is red."), ("generic-chat", "It is red."), ("qwen3-vl-8b-instruct", None)],
)
async def test_a_text_without_a_tag(alias: str, answer: str | None) -> None:
    says = responses_server.says if _over(alias) else chat_server.says
    tree = changed(_tree(alias), ("agent.max_iterations", 2))
    async with wired(tree, {}, lambda _: says("It is red."), responses=_over(alias)) as stage:
        report = await stage.answered()
        asked = len(stage.server.requests)
    assert report.answer == answer
    assert asked == (1 if answer else 3)  # two requests, and the extra one


@pytest.mark.parametrize(("alias", "requests"), [("gpt-6-sol", 2), ("kimi-k3", 3), ("generic-responses", 3)])
async def test_when_the_calls_are_spent(alias: str, requests: int) -> None:
    """Profiles with an extra request ask once more, without tools."""
    calls = responses_server.calls if _over(alias) else chat_server.calls
    zoom = ("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [0, 0, 500, 500]})
    tree = changed(_tree(alias), ("agent.max_iterations", 2))

    def script(request: chat_server.Recorded) -> chat_server.Completion:
        return calls(zoom, ids=[f"call_{request.number}"])

    async with wired(tree, {}, script, responses=_over(alias)) as stage:
        await stage.answered()
        bodies = [request.json for request in stage.server.requests]
    assert len(bodies) == requests
    assert ["tools" in body for body in bodies] == [True, True, False][:requests]


# ---- who writes programs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alias", "effort"),
    [
        ("gpt-5-2025-08-07", "medium"),
        ("gpt-6-luna", "medium"),
        ("kimi-k3", "medium"),
        ("qwen3-vl-8b-instruct", None),
        ("generic-chat", None),
        ("generic-responses", None),
    ],
)
async def test_programs_are_written_over_the_same_protocol(alias: str, effort: str | None) -> None:
    """With fixed settings a model that thinks does so at medium effort, whatever the orchestrator's entry says."""
    program = "```python\nprint(6 * 7)\n```"
    says = responses_server.says if _over(alias) else chat_server.says
    async with wired(_tree(alias), {}, lambda _: says(program), responses=_over(alias)) as stage:
        generator = stage.container.code_generator()
        assert isinstance(generator.model, ResponsesModel if _over(alias) else ChatCompletionsModel)  # type: ignore[attr-defined]
        answered = await generator.write("6 times 7", {}, timeout_seconds=10.0)
        [request] = stage.server.requests
    assert answered.value == "print(6 * 7)\n"
    body = request.json
    assert "seed" not in body
    assert (body["max_output_tokens"] if _over(alias) else body["max_tokens"]) == 4096
    found = body.get("reasoning", {}).get("effort") if _over(alias) else body.get("reasoning_effort")
    assert found == effort


async def test_a_level_set_for_any_model_tells_that_it_thinks() -> None:
    async with wired(_tree("generic-chat", reasoning_effort="high"), {}) as stage:
        assert stage.container.code_generator().model.options["reasoning_effort"] == "medium"  # type: ignore[attr-defined]


def test_a_generic_entry_without_a_name_is_refused() -> None:
    for alias in ("generic-chat", "generic-responses"):
        tree = changed(_tree(alias), (f"{MODEL}.model_id", ABSENT), (f"{MODEL}.base", "http://models"))
        assert [fault.key for fault in faults_of(tree)] == [f"{MODEL}.model_id"]
