"""Profiles: what is packaged, what a registry file may say, and what an entry may ask of a profile."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml

from openvlharness_adapters.models import chat_wire
from openvlharness_app import profile_rules
from openvlharness_app.faults import ConfigurationError
from openvlharness_app.registry import ImageLimitFields, Option, ProfileFields, load_profiles
from openvlharness_app.service_settings import ModelSettings
from openvlharness_core.pictures import ImageLimits
from openvlharness_core.profile import ModelProfile
from tests.unit.app.configurations import ABSENT, changed, faults_of, load, paper, small

MODEL = "services.models.orchestrator"
# A complete entry for a model of a family that is counted locally.
LOCAL: dict[str, Any] = {
    "model_id": "org/Local-8B",
    "prompt_bundle": "v8_instruct",
    "final_answer": "answer_tag",
    "context_policy": "local_tokens",
    "allowed_options": ["max_tokens", "temperature", "return_token_ids"],
    "reasoning_efforts": [],
    "boxes": "object_map",
    "tokenizer": "org/Local-8B",
    "image_token_patch": 32,
    "image_token_pixels": [65536, 16777216],
    "replay_fields": ["reasoning_content"],
    "prices": {"input": 0.5, "output": 2},
    "raw_trace_format": "native",
    "image_limits": {"max_side": 4096, "max_ratio": 20, "max_pictures": 16},
    "empty_content": "",
}


def _registry(tmp_path: Path, entries: object, name: str = "mine.yaml") -> str:
    path = tmp_path / name
    path.write_text(entries if isinstance(entries, str) else yaml.safe_dump(entries))
    return str(path)


def _lines(*paths: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_profiles(paths)
    return str(caught.value).splitlines()


def test_the_packaged_profiles() -> None:
    profiles = load_profiles()
    assert set(profiles) >= {"generic-chat", "embedded-planner"}
    assert all(profile.alias == alias for alias, profile in profiles.items())
    assert profiles["generic-chat"] == ModelProfile(alias="generic-chat")  # the defaults of the class are its values
    planner = profiles["embedded-planner"]
    assert (planner.adapter, planner.reasoning_efforts) == ("embedded", ())


def test_a_file_may_set_what_a_profile_has() -> None:
    fields = {field.name for field in attrs.fields(ModelProfile)} - {"alias"}
    assert {field.name for field in attrs.fields(ProfileFields)} == fields
    assert {field.name for field in attrs.fields(ImageLimitFields)} == {
        field.name for field in attrs.fields(ImageLimits)
    }
    assert set(typing.get_args(Option)) <= {field.name for field in attrs.fields(ModelSettings)}


def test_fields_left_out_have_the_values_of_generic_chat(tmp_path: Path) -> None:
    path = _registry(tmp_path, {"local": LOCAL, "bare": {}})
    profiles = load_profiles([path])
    assert profiles["bare"] == ModelProfile(alias="bare")
    assert profiles["local"] == ModelProfile(
        alias="local",
        model_id="org/Local-8B",
        prompt_bundle="v8_instruct",
        final_answer="answer_tag",
        context_policy="local_tokens",
        allowed_options=("max_tokens", "temperature", "return_token_ids"),
        reasoning_efforts=(),
        boxes="object_map",
        tokenizer="org/Local-8B",
        image_token_patch=32,
        image_token_pixels=(65536, 16777216),
        replay_fields=("reasoning_content",),
        prices={"input": 0.5, "output": 2.0},
        raw_trace_format="native",
        image_limits=ImageLimits(max_side=4096, max_ratio=20.0, max_pictures=16),
        empty_content="",
    )


def test_a_later_file_wins(tmp_path: Path) -> None:
    one = _registry(tmp_path, {"mine": {"model_id": "a"}, "generic-chat": {"model_id": "b"}}, "one.yaml")
    two = _registry(tmp_path, {"mine": {"model_id": "c"}}, "two.yaml")
    profiles = load_profiles([one, Path(two)])
    assert (profiles["mine"].model_id, profiles["generic-chat"].model_id) == ("c", "b")
    assert load_profiles()["generic-chat"].model_id == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("adapter", "chat"),
        ("adapter", None),
        ("model_id", None),
        ("model_id", 7),
        ("final_answer", "tag"),
        ("extra_final_request", "false"),
        ("continue_empty_answer", 1),
        ("context_policy", True),
        ("allowed_options", "max_tokens"),
        ("allowed_options", ["max_token"]),
        ("reasoning_efforts", ["huge"]),
        ("boxes", "xywh"),
        ("tokenizer", 3),
        ("image_token_patch", 0),
        ("image_token_patch", 1.5),
        ("image_token_pixels", [1]),
        ("image_token_pixels", [9, 3]),
        ("image_token_pixels", [True, 3]),
        ("image_token_pixels", "1-3"),
        ("replay_fields", "reasoning_content"),
        ("prices", {"inputs": 1}),
        ("prices", {"input": -1}),
        ("prices", {"input": "1"}),
        ("remote_images", "url"),
        ("image_limits", None),
        ("image_limits", {"max_side": 0}),
        ("image_limits", {"max_ratio": 0.5}),
        ("image_limits", {"max": 5}),
        ("empty_content", None),
        ("alternate_roles", "yes"),
        ("replay_fields", ["content"]),
        ("replay_fields", ["reasoning_content", "role"]),
        ("replay_fields", ["tool_calls"]),
        ("replay_fields", ["a", "a"]),
        ("replay_fields", [""]),
        ("model_id", "x\a"),
        ("model_id", "x\n"),
        ("raw_trace_format", "weird"),
        ("image_limits", {"min_side": 9, "max_side": 8}),
        ("alias", "mine"),
        ("tokeniser", "x"),
    ],
)
def test_a_wrong_field_is_named_by_file_alias_and_field(field: str, value: object, tmp_path: Path) -> None:
    path = _registry(tmp_path, {"good": {}, "mine": {"model_id": "x", field: value}})
    [line] = _lines(path)
    assert line.startswith(f"{path}: mine.{field}")
    assert ": expected " in line
    assert "(line " in line


def test_fields_that_do_not_go_together(tmp_path: Path) -> None:
    counted = {"context_policy": "local_tokens"}
    traced = {"adapter": "responses", "raw_trace_format": "native"}
    sides = {"image_limits": {"min_side": 8, "max_side": 8}}
    path = _registry(tmp_path, {"counted": counted, "traced": traced, "sides": sides})
    tokenizer = "a tokenizer, or the context_policy provider_enforced"
    assert _lines(path) == [
        f"{path}: counted.tokenizer: expected {tokenizer}, got null (line 1)",
        f"{path}: traced.raw_trace_format: expected null, as responses has no raw trace, got 'native' (line 9)",
    ]


@pytest.mark.parametrize("alias", ["", " ", "a\a"])
def test_an_alias_that_nobody_can_name(alias: str, tmp_path: Path) -> None:
    [line] = _lines(_registry(tmp_path, {alias: {"model_id": "x"}}))
    assert "expected an alias of printable characters, got '" in line


def test_the_adapters_own_fields_are_those_that_are_refused() -> None:
    assert profile_rules.OWN_FIELDS == chat_wire.OWN_FIELDS


def test_a_field_that_cannot_be_replayed_is_refused_by_the_configuration(tmp_path: Path) -> None:
    path = _registry(tmp_path, {"mine": {"model_id": "x", "replay_fields": ["content"]}})
    tree = changed(paper(), ("models.registry_paths", [path]), (f"{MODEL}.alias", "mine"))
    [fault] = faults_of(tree)
    assert (fault.key, fault.got) == ("mine.replay_fields[0]", "'content'")
    assert [fault.key for fault in faults_of(changed(paper(), (f"{MODEL}.model_id", "m\n")))] == [f"{MODEL}.model_id"]


def test_all_faults_of_all_files_come_at_once(tmp_path: Path) -> None:
    one = _registry(tmp_path, "a: {adapter: x, boxes: y}\nb: 7\nb: {}\n", "one.yaml")
    two = _registry(tmp_path, "c: {model_ids: z}\n", "two.yaml")
    three = str(tmp_path / "three.yaml")
    four = _registry(tmp_path, "- a\n", "four.yaml")
    assert _lines(one, two, three, four) == [
        f"{one}: a.adapter: expected one of chat_completions, responses, embedded, got 'x' (line 1)",
        f"{one}: a.boxes: expected one of bbox_2d, object_map, got 'y' (line 1)",
        f"{one}: b: expected each key once, got it again, after line 2 (line 3)",
        f"{two}: c.model_ids: expected a known key, got one that nothing reads (line 1; did you mean model_id?)",
        f"{three}: expected a readable file, got no such file or directory",
        f"{four}: expected a mapping of aliases to fields, got a list",
    ]


def test_nesting_is_refused_at_the_bracket_that_is_too_deep(tmp_path: Path) -> None:
    """The rest is not looked at: what PyYAML does with nested brackets grows with the square of their number."""
    rest = "\n]" * 100_000 + "\n{" * 100_000
    path = _registry(tmp_path, "a:\n " + "\n [" * 66 + rest)
    assert _lines(path) == [f"{path}: expected at most 64 levels, got more (line 68)"]
    path = _registry(tmp_path, "a: " + "[" * 63 + "]" * 63)
    assert _lines(path) == [f"{path}: a: expected a mapping of fields, got a list (line 1)"]


def test_an_empty_file_adds_nothing(tmp_path: Path) -> None:
    assert load_profiles([_registry(tmp_path, "# none yet\n")]) == load_profiles()


# ---- in a configuration ---------------------------------------------------------------------------------------------


def test_faults_of_registry_files_come_with_those_of_the_configuration(tmp_path: Path) -> None:
    path = _registry(tmp_path, {"mine-4.1": {"adapter": "x"}})
    tree = changed(
        paper(),
        ("models.registry_paths", [path, str(tmp_path / "none.yaml")]),
        (f"{MODEL}.alias", "mine-4.1"),
        ("agent.max_iterations", 0),
    )
    assert [fault.key for fault in faults_of(tree)] == [
        "agent.max_iterations",
        "models.registry_paths[1]",
        "mine-4.1.adapter",
    ]
    assert [fault.file for fault in faults_of(tree)] == [None, None, path]


def test_an_unknown_alias_is_named_with_the_nearest() -> None:
    [fault] = faults_of(changed(paper(), (f"{MODEL}.alias", "generic_chat")))
    assert (fault.key, fault.suggestion) == (f"{MODEL}.alias", "generic-chat")


def test_a_registered_profile_can_be_used(tmp_path: Path) -> None:
    path = _registry(tmp_path, {"local": LOCAL})
    tree = changed(
        paper(), ("models.registry_paths", [path]), (f"{MODEL}.alias", "local"), (f"{MODEL}.model_id", ABSENT)
    )
    assert load(tree).orchestrator.alias == "local"
    assert load(changed(tree, (f"{MODEL}.return_token_ids", True))).orchestrator.return_token_ids is True
    without = _registry(tmp_path, {"local": {**LOCAL, "raw_trace_format": None}}, "without.yaml")
    tree = changed(tree, ("models.registry_paths", [without]), (f"{MODEL}.return_token_ids", True))
    assert [fault.key for fault in faults_of(tree)] == [f"{MODEL}.return_token_ids"]


@pytest.mark.parametrize("option", [option for option in typing.get_args(Option) if option != "return_token_ids"])
def test_an_option_that_the_profile_does_not_list_is_rejected(option: str, tmp_path: Path) -> None:
    value = {"service_tier": "flex", "reasoning_effort": "low", "top_k": 5, "max_tokens": 100}.get(option, 1)
    for allowed, expected in (([option], []), ([], [f"{MODEL}.{option}"])):
        path = _registry(tmp_path, {"mine": {"model_id": "x", "allowed_options": allowed}})
        tree = changed(
            paper(),
            ("models.registry_paths", [path]),
            (MODEL, {"alias": "mine", "base": "http://models", option: value}),
        )
        assert [fault.key for fault in faults_of(tree)] == expected


def test_a_level_that_the_model_does_not_take_is_rejected(tmp_path: Path) -> None:
    path = _registry(tmp_path, {"mine": {"model_id": "x", "reasoning_efforts": ["low", "medium", "high"]}})
    tree = changed(
        paper(), ("models.registry_paths", [path]), (f"{MODEL}.alias", "mine"), (f"{MODEL}.reasoning_effort", "xhigh")
    )
    [fault] = faults_of(tree)
    assert str(fault) == (
        f"{MODEL}.reasoning_effort: expected a level that mine takes (low, medium, high), got 'xhigh' "
        "(did you mean high?)"
    )
    assert faults_of(changed(tree, (f"{MODEL}.reasoning_effort", "high"))) == ()


def test_the_planner_takes_neither_base_nor_key() -> None:
    tree = changed(small(), (f"{MODEL}.base", "http://models"), (f"{MODEL}.key", "sk-1"), (f"{MODEL}.temperature", 1))
    assert [fault.key for fault in faults_of(tree)] == [f"{MODEL}.base", f"{MODEL}.key", f"{MODEL}.temperature"]
    assert faults_of(changed(small(), (f"{MODEL}.key", ""))) == ()


def test_a_full_endpoint_is_that_of_the_protocol(tmp_path: Path) -> None:
    path = _registry(tmp_path, {"mine": {"model_id": "x", "adapter": "responses"}})
    mine = changed(paper(), ("models.registry_paths", [path]), (f"{MODEL}.alias", "mine"))
    for tree, right, wrong in (
        (paper(), "chat/completions", "responses"),
        (mine, "responses", "chat/completions"),
    ):
        assert faults_of(changed(tree, (f"{MODEL}.base", f"http://models/v1/{right}"))) == ()
        [fault] = faults_of(changed(tree, (f"{MODEL}.base", f"http://models/v1/{wrong}/")))
        assert fault.key == f"{MODEL}.base"
        assert right in fault.expected


def test_a_generator_speaks_the_protocol_of_the_orchestrator(tmp_path: Path) -> None:
    path = _registry(tmp_path, {"other": {"model_id": "some-model", "adapter": "responses"}})
    tree = changed(
        paper(),
        ("models.registry_paths", [path]),
        ("services.models.coder", {"alias": "other", "base": "http://models"}),
        ("services.tools.python_coding_agent.model_service", "coder"),
    )
    assert [fault.key for fault in faults_of(tree)] == ["services.tools.python_coding_agent.model_service"]


def test_retries_left_out_depend_on_the_role() -> None:
    entry = load(changed(paper(), (f"{MODEL}.retry", ABSENT))).orchestrator
    assert (entry.orchestrator_retry, entry.auxiliary_retry) == (8, 2)
    entry = load(changed(paper(), (f"{MODEL}.retry", 0))).orchestrator
    assert (entry.orchestrator_retry, entry.auxiliary_retry) == (0, 0)
