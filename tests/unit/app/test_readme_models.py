"""What the README says about models, held to what is packaged; its registry file is loaded."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from openvlharness_app.loading import load_agent_config
from openvlharness_app.presets import preset_names
from openvlharness_app.registry import load_profiles, packaged_profiles
from tests.unit.app.configurations import small

README = Path(__file__).parents[3] / "README.md"
SECTION = README.read_text(encoding="utf-8").partition("## Plug in a model")[2].partition("\n## ")[0]


def _expanded(name: str) -> list[str]:
    """`a-{b,c}-d` as the shell has it."""
    braces = re.search(r"\{([^}]*)\}", name)
    return [name] if braces is None else [name.replace(braces[0], part) for part in braces[1].split(",")]


def _column(number: int) -> list[str]:
    rows = [line.split("|")[1:-1] for line in SECTION.splitlines() if line.startswith("| `")]
    assert rows
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row[number])]


def test_the_table_has_every_profile() -> None:
    assert sorted(name for each in _column(0) for name in _expanded(each)) == sorted(packaged_profiles())


def test_the_table_has_every_model_preset() -> None:
    assert sorted(_column(2)) == sorted(set(preset_names()) - {"judge", "router_gpu"})


def test_the_registry_file_and_its_entry_load(tmp_path: Path) -> None:
    registry, entry = re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)
    path = tmp_path / "profiles.yaml"
    path.write_text(registry)
    profile = load_profiles([path])["my-model"]
    assert (profile.model_id, profile.image_token_patch) == ("org/my-model-9b", 32)
    configuration = tmp_path / "agent.yaml"
    configuration.write_text(yaml.safe_dump(small() | yaml.safe_load(entry)))
    settings = load_agent_config(configuration, {})
    assert (settings.orchestrator.alias, settings.orchestrator.temperature) == ("my-model", 0.2)
