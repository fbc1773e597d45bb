"""Counting tokens by configuration: with a tokenizer, without one, and never in the way of a running loop."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from dependency_injector import providers

from openvlharness_adapters.tokens import TokenizerCounter
from openvlharness_app import build_container, open_agent, open_agent_sync
from openvlharness_app.building.models import TokenCounting
from openvlharness_app.cli.steps import WaitPrinter
from openvlharness_app.container import AgentContainer
from openvlharness_core import ImageInput, Question
from openvlharness_core.agent.protocol import Effect, Event
from tests.support.chat_server import calls, says
from tests.support.small_tokenizer import small_tokenizer
from tests.unit.app.configurations import changed, load
from tests.unit.app.wired import red_square, served, wired

MODEL = "services.models.orchestrator"


class Notes:
    """A tracer that keeps its notes."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def event(self, question_id: str, event: Event) -> None:
        pass

    def effect(self, question_id: str, effect: Effect) -> None:
        pass

    def note(self, question_id: str, kind: str, text: str) -> None:
        self.notes.append((kind, text))


def _tree(folder: Path, length: int | None = 6000, **profile: Any) -> dict[str, Any]:
    path = folder / "tokenizer.json"
    small_tokenizer().save(str(path))
    counting = {
        "model_id": "m",
        "context_policy": "local_tokens",
        "tokenizer": str(path),
        "image_token_patch": 32,
        "image_token_pixels": [65_536, 16_777_216],
    }
    registry = folder / "registry.yaml"
    registry.write_text(yaml.safe_dump({"counting": counting | profile}))
    entry = {"alias": "counting", "base": "${SERVER}", "max_tokens": 100}
    return changed(
        served(),
        ("models.registry_paths", [str(registry)]),
        (MODEL, entry),
        ("agent.max_context_length", length),
        ("capabilities.tools", {"zoom": {"backend": "zoom_in_image_by_bbox"}}),
    )


def _container(tree: dict[str, Any]) -> AgentContainer:
    return build_container(load(tree, SERVER="http://127.0.0.1:9"))


async def test_a_conversation_is_kept_under_the_limit(tmp_path: Path) -> None:
    """Without counting it would go on growing; with it, old turns take shorter forms and requests stay small."""
    zoom = ("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [0, 0, 500, 500]})
    steps = [calls(zoom, ids=[f"call_{number}"]) for number in range(12)] + [says("<answer>red</answer>")]
    asked: list[int] = []
    for length in (4000, None):
        async with wired(_tree(tmp_path, length), {}, lambda request: steps[request.number - 1]) as stage:
            stage.server.prefix = False  # what was sent before is shortened, visibly
            report = await stage.answered()
            asked.append(len(stage.server.requests[-1].json["messages"]))
            shortened = [step for step in report.steps if type(step).__name__ == "CompactionStep"]
        assert report.answer == "red"
        assert bool(shortened) == (length is not None)
    assert asked[0] < asked[1]


@pytest.mark.parametrize(
    ("length", "profile"), [(None, {}), (6000, {"context_policy": "provider_enforced", "tokenizer": "no/such"})]
)
def test_who_does_not_count_loads_nothing(length: int | None, profile: dict[str, Any], tmp_path: Path) -> None:
    container = _container(_tree(tmp_path, length, **profile))
    container.tracer.override(tracer := Notes())
    assert container.token_counter() is None
    assert tracer.notes == []


BROKEN = {
    "missing": ({"tokenizer": "/no/such/tokenizer.json"}, "/no/such/tokenizer.json"),
    "no picture rule": ({"image_token_patch": None}, "image_token_patch"),
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_without_a_tokenizer_the_provider_enforces_and_the_tracer_knows(kind: str, tmp_path: Path) -> None:
    profile, named = BROKEN[kind]
    async with wired(_tree(tmp_path, **profile), {}) as stage:
        stage.container.tracer.override(tracer := Notes())
        assert (await stage.answered()).answer == "red"
    [(note, text)] = tracer.notes
    assert note == "tokenizer"
    assert named in text
    assert "the provider enforces its limit" in text


async def test_it_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "openvlharness_app"):
        async with open_agent(_container(_tree(tmp_path, tokenizer="/no/such/tokenizer.json"))) as agent:
            assert agent.token_counter is None
    assert len(caplog.records) == 1


def test_without_a_tracer_it_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    container = _container(_tree(tmp_path, tokenizer="/no/such/tokenizer.json"))
    with caplog.at_level(logging.WARNING, "openvlharness_app"):
        assert container.token_counter() is None
    assert "/no/such/tokenizer.json" in caplog.text
    assert "the provider enforces its limit" in caplog.text


def test_the_command_line_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    WaitPrinter().note("", "tokenizer", "no file /a/tokenizer.json; the provider enforces")
    WaitPrinter().note("", "type", "not shown")
    assert capsys.readouterr().err.strip() == "no file /a/tokenizer.json; the provider enforces"


async def test_it_is_loaded_beside_the_loop_and_once(tmp_path: Path) -> None:
    container = _container(_tree(tmp_path))
    threads: list[str] = []
    make = container.token_counting.provides
    assert make is not None

    def watched(*arguments: Any) -> TokenCounting:
        threads.append(threading.current_thread().name)
        counting = make(*arguments)
        assert isinstance(counting.counter, TokenizerCounter)
        return counting

    container.token_counting.set_provides(watched)
    async with open_agent(container) as agent:
        assert agent.token_counter is container.token_counter()
    assert len(threads) == 1
    assert threads[0] != threading.main_thread().name


def test_plain_code_counts_too(tmp_path: Path) -> None:
    with open_agent_sync(_container(_tree(tmp_path, 800))) as agent:
        report = agent.answer(Question("Which colour?", [ImageInput.from_bytes(red_square())]))
    assert report.stop_reason == "context_exceeded"


def test_another_counter_may_be_put_in(tmp_path: Path) -> None:
    container = _container(_tree(tmp_path, tokenizer="no/such"))
    mine = object()
    container.token_counter.override(providers.Object(mine))
    assert container.agent().token_counter is mine
