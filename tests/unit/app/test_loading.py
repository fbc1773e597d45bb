"""Loading as a whole: all faults at once, where they stand, what may be given, and what YAML can do to it."""

from __future__ import annotations

import os
import pickle
from collections import UserDict
from pathlib import Path

import pytest
import yaml

from openvlharness_app.backend_settings import EmbeddedBackendSettings, LocalExecutorSettings, SandboxedExecutorSettings
from openvlharness_app.faults import ConfigurationError, Fault
from openvlharness_app.loading import load_agent_config, settings_from_yaml
from openvlharness_app.settings import Settings
from openvlharness_core.errors import HarnessError
from tests.unit.app.configurations import ABSENT, PAPER_ENVIRONMENT, changed, faults_of, load, paper, small

SMALL = yaml.safe_dump(small(), sort_keys=False)


def _written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "agent.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def _faults(text: str | bytes, tmp_path: Path) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_agent_config(_written(tmp_path, text), {})
    return str(caught.value).splitlines()


SIX_WRONG = """\
agent_name: MainAgent
agent:
  model_service: orchestrater
  max_iteration: 15
  paired_sampling_seed: "false"
memory:
  modules: [{name: image}]
  emit_policy: on-change
capabilities:
  registries: [paper]
  tools: {}
services:
  client:
    timeout_seconds: -5
  models:
    orchestrator: {alias: embedded-planner, max_tokens: 0.7}
"""


def test_six_faults_are_said_at_once_by_key_and_line(tmp_path: Path) -> None:
    assert _faults(SIX_WRONG, tmp_path) == [
        (
            "agent.model_service: expected the name of an entry of services.models, got 'orchestrater' "
            "(line 3; did you mean orchestrator?)"
        ),
        "agent.max_iteration: expected a known key, got one that nothing reads (line 4; did you mean max_iterations?)",
        "agent.paired_sampling_seed: expected true or false, got 'false' (line 5)",
        "memory.emit_policy: expected one of always, on_change, got 'on-change' (line 8; did you mean on_change?)",
        "services.client.timeout_seconds: expected seconds above 0, got -5 (line 14)",
        "services.models.orchestrator.max_tokens: expected an integer of 1 or more, got 0.7 (line 16)",
    ]


def test_the_error_carries_its_faults() -> None:
    with pytest.raises(HarnessError) as caught:
        load_agent_config(changed(small(), ("agent.max_iterations", 0)), {})
    error = caught.value
    assert isinstance(error, ConfigurationError)
    assert error.faults == (Fault(key="agent.max_iterations", expected="an integer of 1 or more", got="0"),)
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.faults, str(copied)) == (error.faults, str(error))


def test_a_key_of_any_signs_stays_on_its_line() -> None:
    [fault] = faults_of(changed(small(), ("agent.a\n\x1b[2Jb\ud800\u2028", 1)))
    assert fault.key == "agent.a \ufffd[2Jb\ufffd"


def test_a_missing_key_has_the_line_of_its_section(tmp_path: Path) -> None:
    assert _faults(SMALL.replace("  model_service: orchestrator\n", "  max_iterations: 3\n"), tmp_path) == [
        "agent.model_service: expected a string that is not empty, got nothing (line 2)"
    ]


def test_items_of_lists_go_by_name_or_position() -> None:
    tree = changed(small(), ("memory.modules", [{"name": "image"}, {"name": "url", "limit": 3}, {"name": "urls"}]))
    assert [fault.key for fault in faults_of(tree)] == ["memory.modules[url].limit", "memory.modules[urls]"]


@pytest.mark.parametrize(
    ("section", "typo", "meant"),
    [
        ("", "agnt", "agent"),
        ("agent", "max_iteration", "max_iterations"),
        ("memory", "emitpolicy", "emit_policy"),
        ("capabilities", "registry", "registries"),
        ("capabilities.tools", "groundings", "grounding"),
        ("capabilities.tools.zoom", "backends", "backend"),
        ("services", "clients", "client"),
        ("services.client", "base-url", "base_url"),
        ("services.server", "max_body_byte", "max_body_bytes"),
        ("services.server.limits", "web_page", "webpage"),
        ("services.tools", "sam3_segments", "sam3_segment"),
        ("services.tools.ocr", "server_urls", "server_url"),
        ("services.tools.python_executor_local", "timeout_second", "timeout_seconds"),
        ("services.models.orchestrator", "temprature", "temperature"),
        ("models", "registry_path", "registry_paths"),
        ("images", "max_pixel", "max_pixels"),
        ("security", "fetch_host", "fetch_hosts"),
    ],
)
def test_an_unknown_key_is_rejected_in_every_section(section: str, typo: str, meant: str) -> None:
    key = f"{section}.{typo}" if section else typo
    [fault] = faults_of(changed(paper(), (key, 1)))
    assert (fault.key, fault.suggestion) == (key, meant)


def test_an_unknown_key_like_no_other_has_no_hint() -> None:
    [fault] = faults_of(changed(small(), ("agent.zzz", 1)))
    assert str(fault) == "agent.zzz: expected a known key, got one that nothing reads"


# ---- what may be given ----------------------------------------------------------------------------------------------


def test_a_path_a_string_and_a_mapping_give_the_same(tmp_path: Path) -> None:
    path = _written(tmp_path, SMALL)
    settings = load_agent_config(path, {})
    assert (
        settings == load_agent_config(str(path), {}) == load_agent_config(small(), {}) == settings_from_yaml(SMALL, {})
    )
    assert settings == load_agent_config(UserDict(small()), {})
    assert isinstance(settings, Settings)
    assert settings.orchestrator.alias == "embedded-planner"


def test_a_mapping_is_left_as_it_was() -> None:
    tree = paper()
    load(tree)
    assert tree == paper()


def test_tuples_and_paths_may_stand_in_a_mapping() -> None:
    tree = changed(
        small(),
        ("capabilities.registries", ("paper",)),
        ("memory.modules", ({"name": "image"},)),
        ("capabilities.bank", Path("built")),
    )
    assert load(tree).capabilities.bank == "built"


@pytest.mark.parametrize("source", [None, 7, [], [("agent_name", "MainAgent")]])
def test_anything_else_is_refused(source: object) -> None:
    [fault] = faults_of(source)
    assert (fault.key, fault.expected) == ("configuration", "a path or a mapping")


def test_a_mapping_that_yaml_could_not_hold_is_refused() -> None:
    looped = small()
    looped["agent"]["self"] = looped
    [fault] = faults_of(looped)
    assert "levels" in fault.expected
    [fault] = faults_of({**small(), 7: 1})
    assert fault.expected == "keys that are strings"


def test_a_missing_file(tmp_path: Path) -> None:
    path = str(tmp_path / "nowhere.yaml")
    assert faults_of(path) == (Fault(key=path, expected="a readable file", got="no such file or directory"),)


def test_a_folder(tmp_path: Path) -> None:
    assert faults_of(tmp_path) == (Fault(key=str(tmp_path), expected="a readable file", got="a directory"),)


def test_a_pipe_that_nobody_fills_is_refused_unopened(tmp_path: Path) -> None:
    pipe = tmp_path / "agent.yaml"
    os.mkfifo(pipe)
    assert faults_of(pipe) == (Fault(key=str(pipe), expected="a readable file", got="a pipe"),)
    registry = changed(small(), ("models.registry_paths", [str(pipe)]))
    assert any("pipe" in fault.got for fault in faults_of(registry))


def test_a_device_is_refused_unopened() -> None:
    assert faults_of("/dev/zero") == (Fault(key="/dev/zero", expected="a readable file", got="a device"),)


def test_what_a_shell_hands_over_is_read() -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, SMALL.encode())
        os.close(writing)
        assert load_agent_config(f"/dev/fd/{reading}", {}) == load(small())
    finally:
        os.close(reading)


def test_a_path_that_is_none() -> None:
    [fault] = faults_of("a\0b")
    assert fault.expected == "a readable file"


def test_bytes_that_are_no_utf_8(tmp_path: Path) -> None:
    [line] = _faults(b"agent_name: MainAgent\nagent: \xff\xfe\n", tmp_path)
    assert line.endswith("agent.yaml: expected UTF-8 text, got bytes that are none (line 2)")


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    assert load_agent_config(_written(tmp_path, b"\xef\xbb\xbf" + SMALL.encode()), {}) == load(small())


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("", "nothing"),
        ("# nothing yet\n", "nothing"),
        ("- a\n- b\n", "a list"),
        ("text", "a value of type str"),
        ("7", "a value of type int"),
    ],
)
def test_a_file_that_is_no_mapping(text: str, got: str, tmp_path: Path) -> None:
    [line] = _faults(text, tmp_path)
    assert line.endswith(f"agent.yaml: expected a mapping of settings, got {got}")


def test_relative_paths_count_from_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "configs"
    folder.mkdir()
    (folder / "mine.yaml").write_text("my-model: {model_id: mine}\n")
    text = SMALL.replace("registries:", "bank: bank.yaml\n  registries:") + "models: {registry_paths: [mine.yaml]}\n"
    (folder / "agent.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    settings = load_agent_config("configs/agent.yaml", {})
    assert settings.models.registry_paths == (str(folder / "mine.yaml"),)
    assert settings.capabilities.bank == str(folder / "bank.yaml")


# ---- YAML -----------------------------------------------------------------------------------------------------------


def test_a_tab_is_named_with_its_line(tmp_path: Path) -> None:
    [line] = _faults("agent_name: MainAgent\nagent:\n\tmodel_service: x\n", tmp_path)
    assert line.endswith("(line 3)")
    assert ": expected YAML, got a syntax error (found character '\\t' that cannot start any token)" in line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1, 2\nb: 3\n", 2),
        ("a: 1\n b: 2\n", 2),
        ("a: *nowhere\n", 1),
        ("a: 'open\n", 2),
        ("a: 1\n---\nb: 2\n", 2),
        ("a: 1\nb: \x01\n", 2),
        ("a: @x\n", 1),
    ],
)
def test_broken_yaml_is_named_with_its_line(text: str, line: int, tmp_path: Path) -> None:
    [fault] = _faults(text, tmp_path)
    assert "agent.yaml: expected YAML, got " in fault
    assert f"(line {line})" in fault


def test_a_key_given_twice(tmp_path: Path) -> None:
    text = SMALL.replace("  model_service: orchestrator\n", "  model_service: orchestrator\n  model_service: other\n")
    assert _faults(text, tmp_path) == [
        "agent.model_service: expected each key once, got it again, after line 3 (line 4)"
    ]


def test_duplicates_and_other_faults_come_together(tmp_path: Path) -> None:
    text = SIX_WRONG + "images: {max_pixels: 5}\nimages: {max_pixels: 6}\n"
    assert len(_faults(text, tmp_path)) == 7


@pytest.mark.parametrize(
    ("key", "kind"), [("7", "int"), ("true", "bool"), ("1.5", "float"), ("~", "null"), ("[a]", "list")]
)
def test_a_key_that_is_no_string(key: str, kind: str, tmp_path: Path) -> None:
    [line] = _faults(SMALL.replace("agent:\n", f"agent:\n  {key}: 1\n"), tmp_path)
    assert line.startswith("agent: expected keys that are strings, got ")
    assert kind in line
    assert line.endswith("(line 3)")


def test_anchors_aliases_and_merge_keys(tmp_path: Path) -> None:
    text = """\
agent_name: MainAgent
agent: {model_service: one}
memory: {modules: [{name: image}]}
capabilities: {registries: [paper], tools: {}}
services:
  models:
    one: &one
      alias: generic-chat
      model_id: some-model
      base: &base http://models:8000
      timeout: 30
      retry: 1
    two:
      <<: *one
      timeout: 60
    three:
      <<: [{retry: 3}, *one]
      base: *base
"""
    models = load_agent_config(_written(tmp_path, text), {}).services.models
    assert [(one.timeout, one.retry, one.base) for one in models.values()] == [
        (30.0, 1, "http://models:8000"),
        (60.0, 1, "http://models:8000"),
        (30.0, 3, "http://models:8000"),
    ]
    broken = text.replace("timeout: 30", "timeout: -30").replace("      timeout: 60\n", "")
    assert [fault[: fault.index(":")] for fault in _faults(broken, tmp_path)] == [
        "services.models.one.timeout",
        "services.models.two.timeout",
        "services.models.three.timeout",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]\n",
        "a: &a {b: *a}\n",
        "a: &a {<<: *a}\n",
        "a: &a [1,2,3,4,5,6,7,8,9,0]\n"
        + "".join(f"{y}: &{y} [{', '.join([f'*{x}'] * 10)}]\n" for x, y in zip("abcdef", "bcdefg", strict=True)),
        "a: " + "[" * 400 + "]" * 400,
        "a: " + "[" * 1200,
        "<<: 7\n",
        "a: {<<: [7]}\n",
    ],
    ids=["list", "mapping", "merge", "multiplied", "deep", "deeper", "merged number", "merged list"],
)
def test_yaml_that_would_run_away_is_refused(text: str, tmp_path: Path) -> None:
    assert _faults(text, tmp_path)


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['true']",
        "!mine 3",
        "!!binary aGk=",
        "!!timestamp 2020-01-01",
        "!!set {a}",
        "!!int x",
        "!!bool maybe",
    ],
)
def test_only_plain_types_are_read(value: str, tmp_path: Path) -> None:
    lines = _faults(SMALL.replace("model_service: orchestrator", f"max_iterations: {value}"), tmp_path)
    assert any(line.startswith("agent.max_iterations: expected ") for line in lines)


def test_scalars_are_read_by_the_core_schema(tmp_path: Path) -> None:
    text = SMALL.replace(
        "agent:\n",
        "agent:\n  deadline_seconds: 1e3\n  tool_choice: 12:30\n  max_iterations: 0x10\n  paired_sampling_seed: True\n",
    )
    text = f"agent_config_version: 2026-01-31\n{text}"
    settings = load_agent_config(_written(tmp_path, text), {})
    assert settings.agent_config_version == "2026-01-31"
    assert (settings.agent.tool_choice, settings.agent.max_iterations) == ("12:30", 16)
    assert (settings.agent.deadline_seconds, settings.agent.paired_sampling_seed) == (1000.0, True)
    [line] = _faults(SMALL.replace("agent:\n", "agent:\n  paired_sampling_seed: yes\n"), tmp_path)
    assert "expected true or false, got 'yes'" in line


def test_numbers_beyond_all_measure(tmp_path: Path) -> None:
    for number in ("9" * 5000, "9" * 390, "1e999", ".inf", ".nan"):
        lines = _faults(
            f"{SMALL}services2: 1\n".replace("agent:\n", f"agent:\n  deadline_seconds: {number}\n"), tmp_path
        )
        assert any(line.startswith("agent.deadline_seconds: expected ") and len(line) < 200 for line in lines)


# ---- rules between keys ---------------------------------------------------------------------------------------------


def test_the_entry_of_an_unselected_backend_is_not_read() -> None:
    tree = changed(
        small(),
        ("services.tools.ocr", {"nonsense": [1, 2]}),
        ("services.tools.sam3_segment", "anything"),
        ("services.tools.python_executor_local", {"timeout_seconds": "never"}),
    )
    tools = load(tree).services.tools
    assert (tools.ocr, tools.sam3_segment, tools.python_executor_local) == (None, None, None)


def test_a_placeholder_counts_in_an_unselected_entry_too() -> None:
    [fault] = faults_of(changed(small(), ("services.tools.ocr", {"server_url": "${NOT_SET}"})), {})
    assert fault.key == "services.tools.ocr.server_url"


def test_a_backend_that_no_registry_knows_fails() -> None:
    [fault] = faults_of(changed(small(), ("services.tools.sam3_segmnt", {})))
    assert fault.suggestion == "sam3_segment"
    [fault] = faults_of(changed(paper(), ("capabilities.tools.ocr.backend", "orc")))
    assert (
        str(fault) == "capabilities.tools.ocr.backend: expected a backend for ocr (ocr), got 'orc' (did you mean ocr?)"
    )


def test_a_list_without_paper_is_one_fault() -> None:
    [fault] = faults_of(changed(paper(), ("capabilities.registries", ["embedded"])))
    assert str(fault) == "capabilities.registries: expected a list that includes paper, got 'embedded'"


def test_a_backend_needs_its_registry() -> None:
    tree = changed(
        paper(),
        ("capabilities.tools.grounding.backend", "grounding_dino"),
        ("services.tools.grounding_dino", {"server_url": "http://gpu"}),
    )
    [fault] = faults_of(tree)
    assert str(fault) == (
        "capabilities.tools.grounding.backend: expected a backend for grounding (sam3_segment), "
        "got 'grounding_dino', which needs extensions in capabilities.registries"
    )
    assert faults_of(changed(tree, ("capabilities.registries", ["paper", "extensions"]))) == ()


@pytest.mark.parametrize(
    "backend",
    [
        "sam3_segment",
        "ocr",
        "depth_estimation",
        "camera_trajectory",
        "zoom_in_image_by_bbox",
        "serper_text_search",
        "python_coding_agent",
    ],
)
def test_a_selected_backend_needs_its_entry(backend: str) -> None:
    [fault] = faults_of(changed(paper(), (f"services.tools.{backend}", ABSENT)))
    assert (fault.key, fault.got) == (f"services.tools.{backend}", "nothing")


def test_entries_with_nothing_to_say_may_be_left_out() -> None:
    tree = changed(
        paper(),
        ("capabilities.registries", ["paper", "embedded"]),
        ("capabilities.tools.ocr.backend", "embedded_ocr"),
        ("services.tools.python_executor_local", ABSENT),
    )
    tools = load(tree).services.tools
    assert (tools.embedded_ocr, tools.python_executor_local) == (EmbeddedBackendSettings(), LocalExecutorSettings())
    sandboxed = changed(tree, ("capabilities.tools.coding.executor", "python_executor_sandboxed"))
    tools = load(sandboxed).services.tools
    assert (tools.python_executor_sandboxed, tools.python_executor_local) == (SandboxedExecutorSettings(), None)


def test_every_name_of_the_registries_can_be_selected() -> None:
    alternates = {"ocr": "deepseek_ocr", "depth": "vggt_depth", "camera_pose": "vggt_camera"}
    embedded = {
        "grounding": "embedded_grounding",
        "ocr": "embedded_ocr",
        "camera_pose": "embedded_camera",
        "text_search": "embedded_text_search",
        "image_search": "embedded_image_search",
        "web_visit": "embedded_webpage_visit",
    }
    for registry, choice in (("alternates", alternates), ("embedded", embedded)):
        tree = changed(paper(), ("capabilities.registries", ["paper", registry]))
        for capability, name in choice.items():
            tree["capabilities"]["tools"][capability]["backend"] = name
            if registry == "alternates":
                tree["services"]["tools"][name] = {"server_url": ["http://one", "http://two"]}
        assert faults_of(tree) == ()


def test_null_for_a_section_says_what_to_write() -> None:
    [fault] = faults_of(changed(small(), ("services.client", None)))
    assert str(fault) == "services.client: expected a mapping, got null (write {} for an empty one)"


def test_modules_of_memory_are_unique_and_ordered() -> None:
    names = ["image", "url", "tool_context", "url"]
    tree = changed(small(), ("memory.modules", [{"name": name} for name in names]))
    assert [str(fault) for fault in faults_of(tree)] == [
        "memory.modules[tool_context]: expected modules in the order image, tool_context, url, got tool_context after url",
        "memory.modules[url]: expected each module once, got url again",
    ]


def test_only_an_ablation_does_without_images() -> None:
    tree = changed(small(), ("memory.modules", [{"name": "url"}]))
    assert [fault.key for fault in faults_of(tree)] == ["memory.modules"]
    assert faults_of(changed(tree, ("ablation", "baseline"))) == ()


@pytest.mark.parametrize(("length", "fits"), [(13311, False), (13312, False), (13313, True), (None, True)])
def test_the_context_holds_more_than_the_reply(length: int | None, fits: bool) -> None:
    faults = faults_of(changed(paper(), ("agent.max_context_length", length)))
    assert [fault.key for fault in faults] == ([] if fits else ["agent.max_context_length"])
    if not fits:
        assert "(13312)" in faults[0].expected


def test_the_context_counts_the_default_reply_too() -> None:
    tree = changed(paper(), ("services.models.orchestrator.max_tokens", ABSENT), ("agent.max_context_length", 4608))
    assert [fault.key for fault in faults_of(tree)] == ["agent.max_context_length"]
    assert faults_of(changed(tree, ("agent.max_context_length", 4609))) == ()


def test_a_code_generator_of_the_same_model_may_have_another_entry() -> None:
    tree = changed(paper(), ("services.tools.python_coding_agent.model_service", "auxiliary"))
    [fault] = faults_of(tree)
    assert fault.key == "services.tools.python_coding_agent.model_service"
    assert faults_of(changed(tree, ("services.models.auxiliary.model_id", "some-model"))) == ()


# ---- variables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(PAPER_ENVIRONMENT))
def test_every_variable_of_the_presets_must_be_set(name: str) -> None:
    faults = faults_of(paper(), {key: value for key, value in PAPER_ENVIRONMENT.items() if key != name})
    assert faults
    assert all(fault.expected == f"the environment variable {name} to be set" for fault in faults)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("MODEL_BASE_URL", "services.models.orchestrator.base"),
        ("AUXILIARY_MODEL_BASE_URL", "services.models.auxiliary.base"),
        ("TOOL_SERVER_URL", "services.client.base_url"),
        ("SAM3_SERVER_URL", "services.tools.sam3_segment.server_url"),
        ("OCR_SERVER_URL", "services.tools.ocr.server_url"),
        ("DEPTH_ESTIMATION_SERVER_URL", "services.tools.depth_estimation.server_url"),
    ],
)
def test_a_variable_with_a_wrong_value_is_named_with_its_key(name: str, key: str) -> None:
    fault = faults_of(paper(), {**PAPER_ENVIRONMENT, name: "not a url"})[0]
    assert (fault.key, fault.got) == (key, f"the value of ${{{name}}}")


@pytest.mark.parametrize(("value", "index"), [("3", 3), ("-2", -2), (" 7 ", 7), ("", 0), (None, 0)])
def test_sample_index(value: str | None, index: int) -> None:
    environment = {} if value is None else {"HARNESS_SEARCH_SAMPLE_INDEX": value}
    assert load_agent_config(small(), environment).variables.sample_index == index


def test_a_sample_index_that_is_none_is_named() -> None:
    [fault] = faults_of(small(), {"HARNESS_SEARCH_SAMPLE_INDEX": "two"})
    assert (fault.key, fault.expected) == ("HARNESS_SEARCH_SAMPLE_INDEX", "an integer")


def test_ocr_model_id() -> None:
    assert load_agent_config(small(), {}).variables.ocr_model_id == "PaddlePaddle/PaddleOCR-VL-1.5"
    assert load_agent_config(small(), {"OCR_MODEL_ID": "mine/ocr"}).variables.ocr_model_id == "mine/ocr"


def test_the_environment_of_the_process_is_read_when_called(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = changed(small(), ("agent.tool_choice", "${A_CHOICE_OF_TOOLS}"))
    monkeypatch.delitem(os.environ, "A_CHOICE_OF_TOOLS", raising=False)
    with pytest.raises(ConfigurationError, match="A_CHOICE_OF_TOOLS"):
        load_agent_config(tree)
    monkeypatch.setenv("A_CHOICE_OF_TOOLS", "required")
    assert load_agent_config(tree).agent.tool_choice == "required"
    assert load_agent_config(tree, {"A_CHOICE_OF_TOOLS": "none"}).agent.tool_choice == "none"
