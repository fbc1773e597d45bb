"""Settings as plain values: without secrets, and the same settings when loaded again."""

from __future__ import annotations

import json

import attrs
import yaml

from openvlharness_app.loading import load_agent_config, settings_from_yaml
from openvlharness_app.presets import agent_preset_names, load_preset
from openvlharness_app.secret import Secret
from openvlharness_app.settings import Settings
from openvlharness_app.settings_mapping import settings_to_mapping
from tests.unit.app.configurations import PAPER_ENVIRONMENT, changed, load, paper, small

ENVIRONMENT = PAPER_ENVIRONMENT | {"MODEL_NAME": "org/model"}


def _without_keys(settings: Settings) -> Settings:
    models = {name: attrs.evolve(entry, key=Secret()) for name, entry in settings.services.models.items()}
    return attrs.evolve(settings, services=attrs.evolve(settings.services, models=models))


def test_presets_come_back() -> None:
    for name in agent_preset_names():
        settings = load_preset(name, ENVIRONMENT)
        again = load_agent_config(settings_to_mapping(settings), {})
        assert again == _without_keys(settings)


def test_everything_comes_back() -> None:
    tree = changed(
        paper(),
        ("memory.modules.2.webpage_env_update_limit", None),
        ("agent.max_context_length", None),
        ("agent.deadline_seconds", 12.5),
        ("agent.tool_choice", "${ is kept, and so is $${this}"),
        ("agent.tool_choice", "$${kept} $$${too}"),
        ("services.tools.sam3_segment.server_url", ["http://a", "http://b"]),
        ("services.tools.ocr.timeout_seconds", 5),
        ("services.models.orchestrator.reasoning_effort", "none"),
        ("services.models.orchestrator.temperature", 0),
        ("services.server.limits.ocr", 3),
        ("security.fetch_hosts", ["[::1]:80"]),
        ("ablation", "tool"),
    )
    settings = load(tree)
    saved = settings_to_mapping(settings)
    assert settings.agent.tool_choice == "${kept} $${too}"
    assert load_agent_config(saved, {}) == _without_keys(settings)
    assert settings_from_yaml(yaml.safe_dump(saved), {}) == _without_keys(settings)
    assert load_agent_config(json.loads(json.dumps(saved)), {}) == _without_keys(settings)


def test_keys_are_empty_and_a_gate_has_no_password() -> None:
    tree = changed(
        paper(),
        ("services.server.gate", "redis://u:hunter2@cache/0"),
        ("services.server.auth_token", "token"),
    )
    saved = settings_to_mapping(load(tree))
    text = json.dumps(saved)
    assert "hunter2" not in text
    assert 'token": "token' not in text
    assert '"gate": "redis://cache/0"' in text
    assert '"key": ""' in text


def test_what_the_environment_said_stays_out() -> None:
    saved = settings_to_mapping(load_agent_config(small(), {"HARNESS_SEARCH_SAMPLE_INDEX": "4"}))
    assert "variables" not in saved
    assert load_agent_config(saved, {}).variables.sample_index == 0
