"""Presets: they load as they are, and they teach."""

from __future__ import annotations

import pytest
import yaml

from openvlharness_app.faults import ConfigurationError
from openvlharness_app.presets import DEFAULT_PRESET, agent_preset_names, load_preset, preset_names, preset_text

MODEL = {"MODEL_BASE_URL": "http://models:8000", "MODEL_NAME": "org/model", "MODEL_API_KEY": "sk-1"}


def test_the_names() -> None:
    assert set(preset_names()) == {
        "embedded",
        "gpt_5",
        "gpt_6_astra",
        "gpt_6_luna",
        "gpt_6_sol",
        "judge",
        "kimi_k3",
        "openai_compatible",
        "qwen2_5_vl_7b",
        "qwen3_vl_32b",
        "qwen3_vl_8b",
        "router_gpu",
    }
    assert set(preset_names()) - set(agent_preset_names()) == {"judge"}
    assert list(preset_names()) == sorted(preset_names())
    assert DEFAULT_PRESET in preset_names()


def test_the_embedded_preset_needs_no_environment() -> None:
    settings = load_preset("embedded", {})
    assert settings.orchestrator.alias == "embedded-planner"
    tools = settings.capabilities.tools
    assert tools.zoom is not None
    assert tools.ocr is not None
    assert tools.ocr.backend == "embedded_ocr"
    assert tools.coding is not None
    assert settings.services.client.base_url is None


def test_any_endpoint_by_three_variables() -> None:
    entry = load_preset("openai_compatible", MODEL).orchestrator
    assert (entry.alias, entry.model_id, entry.base) == ("generic-chat", "org/model", "http://models:8000")
    assert entry.key.reveal() == "sk-1"
    assert not load_preset("openai_compatible", {**MODEL, "MODEL_API_KEY": ""}).orchestrator.key


@pytest.mark.parametrize("name", sorted(MODEL))
def test_each_of_them_must_be_set(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_preset("openai_compatible", {key: value for key, value in MODEL.items() if key != name})
    [fault] = caught.value.faults
    assert fault.expected == f"the environment variable {name} to be set"
    assert fault.line is not None


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in MODEL.items():
        monkeypatch.setenv(name, value)
    assert load_preset("openai_compatible").orchestrator.model_id == "org/model"


def test_an_unknown_name_is_named_with_the_nearest() -> None:
    for load in (preset_text, load_preset):
        with pytest.raises(ConfigurationError, match=r"did you mean openai_compatible\?"):
            load("openai-compatibel")
    with pytest.raises(ConfigurationError):
        preset_text("../embedded")


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_teaches(name: str) -> None:
    """Every section and most lines carry a comment; the file is shown as it is by `init`."""
    text = preset_text(name)
    assert text.startswith("# ")
    assert text.count("#") > 15
    assert all(len(line) <= 120 for line in text.splitlines())
    assert isinstance(yaml.safe_load(text), dict)
