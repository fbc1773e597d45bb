"""What programs put into the container is what works, and proxies of the environment are asked for other machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_app import build_container, load_preset, open_agent
from openvlharness_app.faults import ConfigurationError
from openvlharness_core import ImageInput, Question, Toolset
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.testing import (
    FakeDepth,
    InMemoryReportStore,
    RecordingTracer,
    ScriptedModel,
    WordCounter,
    calling,
    saying,
)
from tests.support.chat_server import ChatServer, Recorded, Respond, Step, says
from tests.unit.app.configurations import changed, load, small
from tests.unit.app.wired import Seen, red_square, served, wired
from tests.unit.app.wiring_rows import MODEL, WITH_MINE, agent, tool


class Overloaded:
    """A service that is overloaded once, and then a model that answers at once."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, _: Recorded) -> Step:
        self.asked += 1
        return (
            Respond.error(503, "overloaded", {"Retry-After": "0"}) if self.asked == 1 else says("<answer>red</answer>")
        )


async def test_tracer_counter_and_store_are_those_that_were_put_in(tmp_path: Path) -> None:
    """No key of the file names them."""
    registry = tmp_path / "profiles.yaml"
    registry.write_text("mine: {context_policy: local_tokens, tokenizer: no/such}", encoding="utf-8")
    tree = changed(served(), ("agent.max_context_length", 100_000), *WITH_MINE)
    tracer, counter, store = RecordingTracer(), WordCounter(), InMemoryReportStore()
    async with wired(tree, {"REGISTRY": str(registry)}, Overloaded()) as stage:
        container = stage.container
        container.tracer.override(tracer)
        container.token_counter.override(counter)
        container.report_store.override(store)
        report = await container.agent().answer(Question("Which colour?", []), checkpoint_to="here")
    assert report.answer == "red"
    assert tracer.events
    assert tracer.effects
    (told,) = [text for kind, text in tracer.notes if kind == "retry_wait"]
    assert "overloaded" in told
    assert counter.counted > 0
    assert len(store.history["here"]) > 1


_PLACES: dict[str, Seen] = {
    **{
        name: agent(field)
        for name, field in (
            ("chat_model", "model"),
            ("image_codec", "codec"),
            ("image_fetcher", "fetcher"),
            ("offload", "offload"),
            ("clock", "clock"),
            ("tracer", "tracer"),
            ("token_counter", "token_counter"),
            ("report_store", "report_store"),
            ("toolset", "toolset"),
        )
    },
    **{f"{key}_backend": tool(key, "backend") for key in ("zoom", "ocr", "grounding", "text_search", "image_search")},
    "camera_backend": tool("camera_pose", "backend"),
    "page_backend": tool("web_visit", "backend"),
    "code_generator": tool("coding", "generator"),
    "code_executor": tool("coding", "executor"),
    "evidence_renderer": tool("grounding", "renderer"),
}


@pytest.mark.parametrize("name", _PLACES)
async def test_every_port_can_be_overridden(name: str) -> None:
    mine = {"toolset": Toolset(), "image_codec": PillowCodec()}.get(name, object())
    async with wired(served(), {}) as stage:
        getattr(stage.container, name).override(mine)
        assert _PLACES[name](stage) is mine


_KEYS = {
    "zoom_backend": "zoom",
    "ocr_backend": "ocr",
    "grounding_backend": "grounding",
    "depth_backend": "depth",
    "camera_backend": "camera_pose",
    "text_search_backend": "text_search",
    "image_search_backend": "image_search",
    "page_backend": "web_visit",
}


@pytest.mark.parametrize("name", _KEYS)
def test_overriding_the_backend_of_a_tool_that_is_not_selected_selects_the_tool(name: str) -> None:
    container = build_container(load(small(), SERVER="http://127.0.0.1:9"))
    before = {tool.key for tool in container.toolset()}
    container.toolset.reset()
    mine = object()
    getattr(container, name).override(mine)
    found = {tool.key: tool for tool in container.toolset()}
    assert found.keys() == before | {_KEYS[name]}
    assert found[_KEYS[name]].backend is mine  # type: ignore[attr-defined]


async def test_a_depth_backend_of_ones_own_answers_under_the_embedded_preset() -> None:
    container = build_container(load_preset("embedded"))
    depth = FakeDepth()
    container.depth_backend.override(depth)
    script = [calling("Depth_Estimation_Tool", {"image_id": "input_image_1"}), saying("<answer>far</answer>")]
    container.chat_model.override(ScriptedModel(script))
    async with open_agent(container) as agent:
        report = await agent.answer(Question("How far?", [ImageInput.from_bytes(red_square())]))
    assert report.answer == "far"
    assert depth.calls == 1


def test_the_coding_tool_is_selected_by_both_of_its_parts_and_refused_with_one() -> None:
    generator, executor = object(), object()
    container = build_container(load(small(), SERVER="http://127.0.0.1:9"))
    container.code_executor.override(executor)
    with pytest.raises(
        ConfigurationError, match=r"^capabilities\.tools\.coding: expected .* code_executor was overridden"
    ):
        container.toolset()
    container.code_generator.override(generator)
    (coding,) = container.toolset()
    assert isinstance(coding, CodingCapability)
    assert (coding.generator, coding.executor) == (generator, executor)
    container = build_container(load(small(), SERVER="http://127.0.0.1:9"))
    container.code_generator.override(generator)
    with pytest.raises(ConfigurationError, match="code_generator was overridden"):
        container.toolset()


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_proxy_of_the_environment_is_asked_for_other_machines_alone(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    once = (f"{MODEL}.retry", 0)
    async with ChatServer([], strict=False) as proxy:
        monkeypatch.setenv(variable, proxy.base_url)
        async with wired(changed(served(), once), {}) as near:
            assert (await near.answered()).answer == "red"
        assert proxy.requests == []
        async with wired(changed(served(), once, (f"{MODEL}.base", "http://models.example:8000/v1")), {}) as far:
            await far.answered()
        assert far.server.requests == []
    assert [request.path for request in proxy.requests] == ["http://models.example:8000/v1/chat/completions"]
