"""The configuration of a judge: what it may say, what is refused, and which judge a benchmark gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openvlharness_app.cli.main import cli
from openvlharness_app.faults import ConfigurationError
from openvlharness_app.judge import is_judge_file, judge_from_yaml, load_judge_config
from openvlharness_app.presets import load_judge_preset, load_preset, preset_text
from tests.unit.app.configurations import changed

ENVIRONMENT = {
    "JUDGE_MODEL": "gpt-4o",
    "JUDGE_API_BASE": "https://judge/v1/chat/completions",
    "JUDGE_API_KEY": "CANARY-1",
}
JUDGE: dict[str, Any] = {
    "judge_config_version": "v2",
    "model": "big",
    "base": "http://judge",
    "key": "CANARY-1",
    "judge_prompt": "strict",
    "score_mode": "original",
    "by_benchmark": {
        "realworldqa": {"model": "small", "base": "http://other/v1"},
        "fvqa": {"judge_prompt": "lenient"},
        "vstar": {"base": "http://third", "key": "CANARY-2"},
    },
}


def _faults(tree: object) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_judge_config(tree, {})  # type: ignore[arg-type]
    assert "CANARY" not in str(caught.value)
    return [fault.key for fault in caught.value.faults]


def test_the_preset_is_filled_by_three_variables() -> None:
    judge = load_judge_preset(ENVIRONMENT)
    assert (judge.judge_config_version, judge.model, judge.base) == (
        "judge_v1",
        "gpt-4o",
        "https://judge/v1/chat/completions",
    )
    assert judge.key.reveal() == "CANARY-1"
    assert (judge.judge_prompt, judge.score_mode, dict(judge.by_benchmark)) == (None, None, {})
    assert "CANARY" not in repr(judge)


@pytest.mark.parametrize("name", sorted(ENVIRONMENT))
def test_each_of_them_must_be_set(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_judge_preset({key: value for key, value in ENVIRONMENT.items() if key != name})
    [fault] = caught.value.faults
    assert fault.expected == f"the environment variable {name} to be set"
    assert fault.line is not None


def test_it_is_no_agent() -> None:
    with pytest.raises(ConfigurationError, match="expected one that configures an agent"):
        load_preset("judge", ENVIRONMENT)


def test_a_benchmark_has_its_own_judge() -> None:
    judge = load_judge_config(JUDGE, {})
    assert judge.for_benchmark("countqa").model == "big"
    assert judge.for_benchmark("fvqa").judge_prompt == "lenient"
    assert judge.for_benchmark("fvqa").key.reveal() == "CANARY-1"
    small = judge.for_benchmark("realworldqa")
    assert (small.model, small.base, small.judge_prompt, small.score_mode) == (
        "small",
        "http://other/v1",
        "strict",
        "original",
    )
    assert not small.key, "the key of one service went to another"
    assert judge.for_benchmark("vstar").key.reveal() == "CANARY-2"


@pytest.mark.parametrize(
    ("key", "value", "at"),
    [
        ("judge_config_version", "a/b", "judge_config_version"),
        ("model", "", "model"),
        ("base", "http://u:CANARY-3@judge", "base"),
        ("key", "CANARY-1\n", "key"),
        ("score_mode", "mean", "score_mode"),
        ("scoremode", "original", "scoremode"),
        ("by_benchmark", [], "by_benchmark"),
        ("by_benchmark.fvqa", {"modle": "x"}, "by_benchmark.fvqa.modle"),
        ("by_benchmark.fvqa", {"base": "judge"}, "by_benchmark.fvqa.base"),
    ],
)
def test_what_does_not_fit_is_named(key: str, value: object, at: str) -> None:
    assert _faults(changed(JUDGE, (key, value))) == [at]


def test_all_faults_at_once_with_their_lines() -> None:
    with pytest.raises(ConfigurationError) as caught:
        judge_from_yaml("judge_config_version: v\nbase: x\nkey: ${NO_SUCH}\n", {})
    assert [(fault.key, fault.line) for fault in caught.value.faults] == [("base", 2), ("key", 3), ("model", None)]


def test_a_file_is_told_from_an_agents(tmp_path: Path) -> None:
    for name in ("judge", "embedded"):
        (tmp_path / f"{name}.yaml").write_text(preset_text(name))
    assert is_judge_file(tmp_path / "judge.yaml")
    assert not is_judge_file(tmp_path / "embedded.yaml")
    assert not is_judge_file(tmp_path / "none.yaml")
    assert load_judge_config(tmp_path / "judge.yaml", ENVIRONMENT) == load_judge_preset(ENVIRONMENT)
    (tmp_path / "list.yaml").write_text("- a\n")
    with pytest.raises(ConfigurationError, match="expected a mapping of settings, got a list"):
        load_judge_config(tmp_path / "list.yaml", {})


def test_check_takes_both_kinds_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "judge.yaml"
    assert CliRunner().invoke(cli, ["init", "judge", str(path)]).exit_code == 0
    good = CliRunner().invoke(cli, ["check", str(path)])
    assert (good.exit_code, good.stdout) == (0, "ok\n")
    asked = CliRunner().invoke(cli, ["check", "--live", str(path)])
    assert asked.exit_code == 2
    assert "this file is a judge's" in asked.stderr
    path.write_text(path.read_text() + "score_mode: mean\n")
    bad = CliRunner().invoke(cli, ["check", str(path)])
    assert bad.exit_code == 2
    assert "score_mode: expected one of constant, original, got 'mean' (line" in bad.stderr
    assert "CANARY" not in bad.stderr
