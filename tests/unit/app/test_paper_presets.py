"""The presets of the paper's models, held to the configuration reference: every value of it, for every model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import yaml
from click.testing import CliRunner

from openvlharness_app import availability
from openvlharness_app.cli.main import cli
from openvlharness_app.container import build_container
from openvlharness_app.faults import ConfigurationError
from openvlharness_app.presets import (
    agent_preset_names,
    load_preset,
    preset_gaps,
    preset_names,
    preset_text,
    preset_variables,
)
from openvlharness_app.registry import load_profiles
from openvlharness_app.settings import Settings
from tests.unit.app.configurations import PAPER_ENVIRONMENT, value_at

QWEN = {
    "max_tokens": 12800,
    "temperature": 0.7,
    "top_p": 0.8,
    "top_k": 20,
    "repetition_penalty": 1.0,
    "presence_penalty": 1.5,
}
GPT = {"max_tokens": 16000, "reasoning_effort": "medium"}
MODELS: dict[str, dict[str, Any]] = {
    "qwen3_vl_8b": {"alias": "qwen3-vl-8b-instruct", **QWEN},
    "qwen3_vl_32b": {"alias": "qwen3-vl-32b-instruct", **QWEN},
    "qwen2_5_vl_7b": {"alias": "qwen2.5-vl-7b-instruct", **QWEN},
    "gpt_5": {"alias": "gpt-5-2025-08-07", **GPT},
    "gpt_6_luna": {"alias": "gpt-6-luna", **GPT},
    "gpt_6_sol": {"alias": "gpt-6-sol", **GPT},
    "gpt_6_astra": {"alias": "gpt-6-astra", **GPT},
    "kimi_k3": {"alias": "kimi-k3", "max_tokens": 65536, "temperature": 0.6, "top_p": 0.95, "timeout": 1800.0},
}
# What of the reference differs between the models, beside the orchestrator's entry.
OTHERWISE: dict[str, dict[str, Any]] = {
    "gpt_6_luna": {"services.tools.python_coding_agent.generation": "inherit"},
    "kimi_k3": {"agent.max_context_length": 256000},
}
SHARED: dict[str, Any] = {
    "agent_name": "MainAgent",
    "agent_config_version": "paper_v1",
    "agent.model_service": "orchestrator",
    "agent.max_iterations": 15,
    "agent.max_context_length": 168000,
    "agent.tool_choice": "auto",
    "agent.paired_sampling_seed": False,
    "agent.deadline_seconds": None,
    "memory.webpage_env_update_limit": 20,
    "memory.emit_policy": "always",
    "capabilities.registries": ("paper",),
    "capabilities.tools.coding.generator": "python_coding_agent",
    "capabilities.tools.coding.executor": "python_executor_local",
    "services.client.base_url": "http://router:8101",
    "services.client.timeout_seconds": 600,
    "services.client.retry": 8,
    "services.server.host": "127.0.0.1",
    "services.server.port": 8101,
    "services.server.registration": "configured_only",
    "services.server.limits.depth": 1,
    "services.server.limits.ocr": 10,
    "services.tools.sam3_segment.server_url": ("http://gpu:8201",),
    "services.tools.ocr.server_url": ("http://gpu:8202",),
    "services.tools.depth_estimation.server_url": ("http://gpu:8203",),
    "services.tools.camera_trajectory.server_url": ("http://gpu:8203",),
    "services.tools.serper_text_search.model_service": "auxiliary",
    "services.tools.serper_image_search.model_service": "auxiliary",
    "services.tools.serper_webpage_visit.model_service": "auxiliary",
    "services.tools.python_coding_agent.model_service": "orchestrator",
    "services.tools.python_coding_agent.context": "fresh",
    "services.tools.python_coding_agent.generation": "fixed",
    "services.tools.python_executor_local.transport": "local",
    "services.tools.python_executor_local.timeout_seconds": 30,
    "services.models.auxiliary.alias": "qwen3-vl-8b-instruct",
    "services.models.auxiliary.base": "http://models:8001/v1",
    "services.models.auxiliary.timeout": 600,
    "services.models.auxiliary.auxiliary_retry": 2,
    "ablation": "full",
}
ENTRY: dict[str, Any] = {
    "model_id": None,
    "base": "http://models:8000/v1",
    "timeout": 600.0,
    "retry": 8,
    "stream": False,
    "service_tier": None,
    "temperature": None,
    "top_p": None,
    "top_k": None,
    "repetition_penalty": None,
    "presence_penalty": None,
    "reasoning_effort": None,
    "return_token_ids": False,
}
CAPABILITIES = {
    "grounding": "sam3_segment",
    "ocr": "ocr",
    "depth": "depth_estimation",
    "camera_pose": "camera_trajectory",
    "zoom": "zoom_in_image_by_bbox",
    "text_search": "serper_text_search",
    "image_search": "serper_image_search",
    "web_visit": "serper_webpage_visit",
}


def _preset(name: str) -> Settings:
    return load_preset(name, PAPER_ENVIRONMENT | {"MODEL_NAME": "org/model"})


@pytest.mark.parametrize("name", MODELS)
def test_the_values_of_the_reference(name: str) -> None:
    settings = _preset(name)
    expected = SHARED | OTHERWISE.get(name, {})
    assert {key: value_at(settings, key) for key in expected} == expected
    assert {key: value_at(settings, f"capabilities.tools.{key}.backend") for key in CAPABILITIES} == CAPABILITIES
    assert [module.name for module in settings.memory.modules] == ["image", "tool_context", "url"]


@pytest.mark.parametrize("name", MODELS)
def test_the_entry_of_the_orchestrator(name: str) -> None:
    """Every key of it: what the reference gives no value is the provider's own."""
    entry = _preset(name).orchestrator
    found = attrs.asdict(entry, recurse=False)
    assert found.pop("key").reveal() == "key-of-the-model"
    assert found == ENTRY | MODELS[name]
    profile = load_profiles()[entry.alias]
    assert entry.max_tokens + 512 < (_preset(name).agent.max_context_length or 0)
    assert set(MODELS[name]) - {"alias", "timeout"} <= set(profile.allowed_options)


@pytest.mark.parametrize("name", MODELS)
def test_every_variable_of_the_table_is_needed_and_no_other(name: str) -> None:
    assert set(preset_variables(name)) == set(PAPER_ENVIRONMENT)
    for missing in PAPER_ENVIRONMENT:
        with pytest.raises(ConfigurationError) as caught:
            load_preset(name, {key: value for key, value in PAPER_ENVIRONMENT.items() if key != missing})
        expected = {f"the environment variable {missing} to be set"}
        assert {fault.expected for fault in caught.value.faults} == expected


def test_presets_differ_in_what_the_reference_names_alone() -> None:
    """The trees of two presets are the same but for the orchestrator, the context and how programs are written."""

    def rest(name: str) -> dict[str, Any]:
        tree: dict[str, Any] = yaml.safe_load(preset_text(name))
        del tree["services"]["models"]["orchestrator"]
        del tree["agent"]["max_context_length"]
        del tree["services"]["tools"]["python_coding_agent"]["generation"]
        return tree

    assert all(rest(name) == rest("qwen3_vl_8b") for name in MODELS)


def test_the_router_preset_serves_any_model() -> None:
    settings = _preset("router_gpu")
    assert (settings.orchestrator.alias, settings.orchestrator.model_id) == ("generic-chat", "org/model")
    assert {key: value_at(settings, f"capabilities.tools.{key}.backend") for key in CAPABILITIES} == CAPABILITIES
    assert attrs.asdict(settings.services.server.limits) == {
        "depth": 1,
        "sam3": 1,
        "dino": 2,
        "ocr": 10,
        "webpage": 8,
        "search": 4,
        "coding": 10,
    }
    assert set(preset_variables("router_gpu")) == {*PAPER_ENVIRONMENT, "MODEL_NAME"}


# ---- loading and building --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", agent_preset_names())
def test_a_preset_loads_and_is_built_or_refused_by_name(name: str) -> None:
    settings = _preset(name)
    gaps = preset_gaps(name)
    if not gaps:
        build_container(settings)
        return
    with pytest.raises(ConfigurationError) as caught:
        build_container(settings)
    assert [fault.key for fault in caught.value.faults] == [fault.key for fault in gaps]
    assert all(str(fault).count(": expected ") == 1 for fault in gaps)


def test_what_needs_no_server_is_built() -> None:
    assert [name for name in ("embedded", "openai_compatible") if preset_gaps(name)] == []


@pytest.fixture
def without_executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A version that brings less."""
    here = tuple(name for name in availability.BACKENDS_HERE if name != "python_executor_local")
    monkeypatch.setattr(availability, "BACKENDS_HERE", here)
    preset_gaps.cache_clear()
    yield
    preset_gaps.cache_clear()


@pytest.mark.usefixtures("without_executor")
@pytest.mark.parametrize("name", agent_preset_names())
def test_what_is_missing_is_told_without_the_variables_and_refused_with_them(name: str) -> None:
    key = "capabilities.tools.coding.executor"
    assert (key, "python_executor_local") in [(fault.key, fault.got) for fault in preset_gaps(name)]
    with pytest.raises(ConfigurationError, match="python_executor_local"):
        build_container(_preset(name))


@pytest.mark.usefixtures("without_executor")
def test_the_command_tells_what_is_missing() -> None:
    listed = CliRunner().invoke(cli, ["presets"]).stdout
    assert listed.count("not in this version: python_executor_local") == len(agent_preset_names())


def test_the_command_tells_variables_and_gaps() -> None:
    listed = CliRunner().invoke(cli, ["presets"])
    assert listed.exit_code == 0
    assert all(name in listed.stdout for name in preset_names())
    assert "needs JUDGE_MODEL, JUDGE_API_BASE, JUDGE_API_KEY" in listed.stdout
    said = listed.stdout.count("not in this version:")
    assert said == sum(bool(preset_gaps(name)) for name in preset_names())
