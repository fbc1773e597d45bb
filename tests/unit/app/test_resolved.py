"""What a saved report says about the models of its configuration."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml

from openvlharness_app import build_container, open_agent
from openvlharness_app.faults import ConfigurationError
from openvlharness_app.presets import agent_preset_names, load_preset
from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_app.prompts.composing import CAPABILITIES
from openvlharness_app.registry import load_profiles
from openvlharness_app.reports import load_report, save_report
from openvlharness_app.resolved import resolved_profiles
from openvlharness_core import Question
from openvlharness_core.testing import ScriptedModel, saying
from tests.support.report_schema import check_report
from tests.unit.app.configurations import PAPER_ENVIRONMENT, changed, load, paper
from tests.unit.app.wired import served, wired

MODEL = "services.models.orchestrator"
ENVIRONMENT = PAPER_ENVIRONMENT | {"MODEL_NAME": "org/model"}


@pytest.mark.parametrize("name", agent_preset_names())
def test_every_service_of_a_preset_is_resolved(name: str) -> None:
    settings = load_preset(name, ENVIRONMENT)
    found = resolved_profiles(settings)
    assert found.keys() == settings.services.models.keys()
    for service, entry in settings.services.models.items():
        fields = dict(found[service])
        fields.pop("prompts")
        profile = load_profiles()[entry.alias]
        meant = attrs.asdict(attrs.evolve(profile, model_id=entry.model_id or profile.model_id))
        assert fields == json.loads(json.dumps(meant))
    text = json.dumps(found)
    assert "key-of-the-model" not in text
    assert "http" not in text


def test_hashes_are_of_what_the_model_reads() -> None:
    prompts: Any = resolved_profiles(load_preset("qwen3_vl_8b", ENVIRONMENT))["orchestrator"]["prompts"]
    bundle = load_prompt_bundle("v8_instruct", CAPABILITIES)
    assert prompts["system"] == hashlib.sha256(bundle.text("system").encode()).hexdigest()
    assert prompts["user_prefix"] == hashlib.sha256(bundle.text("user_prefix").encode()).hexdigest()
    without = changed(paper(), ("capabilities.tools", {}), (f"{MODEL}.alias", "qwen3-vl-8b-instruct"))
    assert resolved_profiles(load(without))["orchestrator"]["prompts"] != prompts


def test_an_edited_entry_shows_under_the_same_alias(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    tree = changed(paper(), ("models.registry_paths", [str(path)]), (f"{MODEL}.alias", "mine"))
    found = []
    for final_answer in ("answer_tag", "answer_tag_or_text"):
        path.write_text(yaml.safe_dump({"mine": {"final_answer": final_answer}, "other": {"model_id": "unused"}}))
        found.append(resolved_profiles(load(tree)))
    assert found[0]["orchestrator"] != found[1]["orchestrator"]
    assert found[0]["auxiliary"] == found[1]["auxiliary"]
    assert "unused" not in json.dumps(found)


@pytest.mark.parametrize("name", agent_preset_names())
async def test_a_report_says_under_which_profile_its_model_was_asked(name: str, tmp_path: Path) -> None:
    settings = load_preset(name, ENVIRONMENT)
    container = build_container(settings)
    container.chat_model.override(ScriptedModel(replies=[saying("<answer>4</answer>")]))
    async with open_agent(container) as agent:
        report = await agent.answer(Question("2 + 2?"))
    resolved = resolved_profiles(settings)[settings.agent.model_service]
    assert report.to_dict()["model"]["profile"] == resolved
    save_report(report, tmp_path)
    loaded = load_report(tmp_path)
    assert (loaded.model, loaded.to_dict()) == (report.model, report.to_dict())
    check_report(loaded.to_dict())


def _files_with(folder: Path, text: bytes) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and text in file.read_bytes()]


async def test_a_saved_report_has_it_beside(tmp_path: Path) -> None:
    tree = changed(served(), (MODEL, {"alias": "kimi-k3", "base": "${SERVER}", "key": "CANARY-1"}))
    async with wired(tree, {}) as stage:
        report = await stage.answered()
        settings = stage.container.settings()
    save_report(report, tmp_path, settings=settings)
    saved = json.loads((tmp_path / "profiles.json").read_text())
    assert saved["orchestrator"]["replay_fields"] == ["reasoning_content"]
    assert saved == json.loads(json.dumps(resolved_profiles(settings)))
    said = json.loads((tmp_path / "report.json").read_text())["model"]
    named = {"alias": "kimi-k3", "model_id": "kimi-k3", "protocol": "chat_completions"}
    assert said == named | {"profile": saved["orchestrator"]}
    assert load_report(tmp_path).model == report.model
    assert _files_with(tmp_path, b"CANARY") == []
    save_report(report, tmp_path)  # without settings, those of before go
    assert not (tmp_path / "profiles.json").exists()


def test_a_bundle_that_is_not_there_is_said_where_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("mine:\n  model_id: x\n  prompt_bundle: v8_instrukt\n")
    tree = changed(paper(), ("models.registry_paths", [str(path)]))
    with pytest.raises(ConfigurationError) as caught:
        load(tree)
    assert str(caught.value) == (
        f"{path}: mine.prompt_bundle: expected one of openai_v1, v8_instruct, got 'v8_instrukt' "
        "(line 3; did you mean v8_instruct?)"
    )
