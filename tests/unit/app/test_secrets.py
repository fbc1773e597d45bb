"""Keys are in no message, no repr, no chain of exceptions, and in nothing that is saved."""

from __future__ import annotations

import copy
import json
import pickle
import traceback
from pathlib import Path

import pytest

from openvlharness_app.faults import ConfigurationError
from openvlharness_app.loading import load_agent_config, settings_from_yaml
from openvlharness_app.secret import Secret, SecretUrl
from openvlharness_app.settings_mapping import settings_to_mapping
from tests.unit.app.configurations import PAPER_ENVIRONMENT, changed, load, paper

CANARIES = ("CANARY-1", "CANARY-2\n", "http://u:CANARY-3@host", "CANARY-4\x00", "redis://:CANARY-5@ca che")
KEY = "services.models.orchestrator.key"


def _everything_said(error: BaseException) -> str:
    """Message, repr, notes and traceback of an exception and of all that hangs on it, contexts that are hidden too."""
    said: list[str] = []
    seen: set[int] = set()

    def read(one: BaseException | None) -> None:
        if one is None or id(one) in seen:
            return
        seen.add(id(one))
        said.extend([str(one), repr(one), repr(one.args), repr(vars(one)), *getattr(one, "__notes__", ())])
        said.extend(traceback.format_exception(one))
        read(one.__cause__)
        read(one.__context__)
        for inner in getattr(one, "exceptions", ()):
            read(inner)

    read(error)
    return "\n".join(said)


def _silent(tree: object, environment: dict[str, str] | None = None) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        load_agent_config(tree, {**PAPER_ENVIRONMENT, **(environment or {})})  # type: ignore[arg-type]
    assert "CANARY" not in _everything_said(caught.value)
    return caught.value


@pytest.mark.parametrize("canary", CANARIES[1:2] + CANARIES[3:4])
def test_a_key_with_control_characters_is_refused_by_name(canary: str) -> None:
    for tree, environment in (
        (changed(paper(), (KEY, canary)), {}),
        (paper(), {"MODEL_API_KEY": canary}),
        (changed(paper(), (KEY, "Bearer ${MODEL_API_KEY}")), {"MODEL_API_KEY": canary}),
    ):
        [fault] = _silent(tree, environment).faults
        assert (fault.key, fault.got) == (KEY, "a value of type str with control characters")


@pytest.mark.parametrize("key", [KEY, "services.client.auth_token", "services.server.auth_token"])
@pytest.mark.parametrize("value", ["CANARY-2\n", " CANARY", ["CANARY"], {"CANARY": "CANARY"}, b"CANARY", "CANARY…"])
def test_whatever_stands_for_a_key_is_not_said(key: str, value: object) -> None:
    [fault] = _silent(changed(paper(), (key, value))).faults
    assert fault.key == key


@pytest.mark.parametrize(
    "key",
    [
        "services.client.base_url",
        "services.models.orchestrator.base",
        "services.models.auxiliary.base",
        "services.tools.sam3_segment.server_url",
    ],
)
@pytest.mark.parametrize(
    "url",
    [
        "http://u:CANARY-3@host",
        "https://CANARY@host/v1",
        "http://host/v1?key=CANARY",
        "u:CANARY-3@host",
        "http://host#CANARY",
    ],
)
def test_a_url_with_credentials_is_refused_unsaid(key: str, url: str) -> None:
    assert _silent(changed(paper(), (key, url))).faults[0].key == key
    assert _silent(changed(paper(), (key, "${URL_}")), {"URL_": url}).faults[0].key == key


@pytest.mark.parametrize(
    "key", ["services.client.base_url", "services.models.orchestrator.base", "services.tools.ocr.server_url"]
)
@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("CANARY-1", "a text that does not begin with http:// or https://"),
        ("host:CANARY", "a text that does not begin with http:// or https://"),
        ("ftp://CANARY", "a text that does not begin with http:// or https://"),
        ("http://h:CANARY-3/", "a URL whose host or port is none"),
        ("http://h:0/CANARY", "a URL whose host or port is none"),
        ("http:///CANARY", "a URL whose host or port is none"),
        ("http://[CANARY/", "a URL whose host or port is none"),
        ("http://h/CANARY 1", "a URL with spaces, backslashes or control characters"),
        ("http://h/CANARY\n", "a URL with spaces, backslashes or control characters"),
        ("", "an empty text"),
        (123456789, "a value of type int"),
        (True, "a value of type bool"),
        ({"CANARY": "CANARY"}, "a mapping"),
    ],
)
def test_what_stands_for_a_url_is_not_said(key: str, value: object, got: str) -> None:
    [fault] = _silent(changed(paper(), (key, value))).faults
    assert (fault.key, fault.got) == (key, got)


@pytest.mark.parametrize("host", ["CANARY", "CANARY:0", "h:CANARY", "http://CANARY"])
def test_what_stands_for_a_host_is_not_said(host: str) -> None:
    [fault] = _silent(changed(paper(), ("security.fetch_hosts", [host]))).faults
    assert fault.got == "a value of type str"


@pytest.mark.parametrize("gate", ["redis://:CANARY-5@ca che", "http://:CANARY@cache", "CANARY"])
def test_a_gate_that_does_not_fit_is_not_said(gate: str) -> None:
    _silent(changed(paper(), ("services.server.gate", gate)))


@pytest.mark.parametrize("name", ["api_key", "keyy", "token"])
def test_a_key_under_an_unknown_name_is_not_said(name: str) -> None:
    _silent(changed(paper(), (f"services.models.orchestrator.{name}", "CANARY-1")))


@pytest.mark.parametrize(
    "key",
    [
        "agent_config_version",
        "agent.max_iterations",
        "agent.model_service",
        "memory.emit_policy",
        "memory.modules.1.name",
        "capabilities.registries.0",
        "capabilities.tools.ocr.backend",
        "services.models.orchestrator.alias",
        "services.models.orchestrator.reasoning_effort",
        "services.models.orchestrator.temperature",
        "services.server.registration",
        "services.client",
        "security.fetch_hosts",
    ],
)
def test_a_variable_at_the_wrong_key_is_shown_by_its_name_only(key: str) -> None:
    error = _silent(changed(paper(), (key, "${MODEL_API_KEY}")), {"MODEL_API_KEY": "CANARY-1 sk"})
    assert error.faults


def test_a_path_from_the_environment_is_not_said(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(json.dumps(changed(paper(), ("models.registry_paths", ["${MODEL_API_KEY}"]))))
    [fault] = _silent(path, {"MODEL_API_KEY": "CANARY-1"}).faults
    assert fault.key == "models.registry_paths[0]"


def test_a_section_that_is_a_text_is_not_said() -> None:
    for key in ("services.models.orchestrator", "services.models", "services", "services.tools.ocr"):
        _silent(changed(paper(), (key, "CANARY-1")))


@pytest.mark.parametrize(
    "text",
    [
        "key: *CANARY\n",
        "key: 'CANARY\n",
        'key: "\\CANARY"\n',
        "key: @CANARY\n",
        "key: CANARY: x\n",
        "key: [CANARY\n",
        "key: !CANARY x\n",
        "key: %CANARY\n",
        "CANARY\nkey: 1\n",
        "key: &CANARY-1\tx: &CANARY\n",
        "- CANARY\n",
        "CANARY",
        "key: CANARY\x01\n",
        "? {CANARY: 1}\n: 2\n",
        "? [CANARY]\n: 2\n",
        "key: |CANARY\n",
        "key: CANARY-${\n",
        "key: ${CANARY x}\n",
    ],
)
def test_broken_yaml_is_not_quoted(text: str, tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(text)
    _silent(path)
    with pytest.raises(ConfigurationError) as caught:
        settings_from_yaml(text, {})
    assert "CANARY" not in _everything_said(caught.value)


def test_bytes_of_a_file_are_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    path.write_bytes(b"key: CANARY\xff\n")
    _silent(path)


def test_settings_show_no_key() -> None:
    tree = changed(
        paper(),
        ("services.client.auth_token", "CANARY-1"),
        ("services.server.auth_token", "CANARY-1"),
        ("services.server.gate", "redis://u:CANARY-5@cache:6379/0?password=CANARY"),
        ("services.models.auxiliary.key", "CANARY-1"),
    )
    settings = load(tree, MODEL_API_KEY="CANARY-1")
    assert settings.orchestrator.key.reveal() == "CANARY-1"
    assert settings.services.server.gate is not None
    assert "CANARY-5" in settings.services.server.gate.reveal()
    saved = settings_to_mapping(settings)
    for shown in (repr(settings), str(settings), f"{settings}", json.dumps(saved), repr(saved)):
        assert "CANARY" not in shown
    assert "redis://cache:6379/0" in repr(settings)
    assert pickle.loads(pickle.dumps(settings)) == settings  # but a worker is given them


def test_a_secret_shows_whether_there_is_one() -> None:
    assert (repr(Secret("x")), repr(Secret("")), repr(Secret("EMPTY"))) == ("Secret(***)", "Secret()", "Secret()")
    assert [bool(Secret(text)) for text in ("x", "", "  ", "empty", "Empty", "emptyish")] == [
        True, False, False, False, False, True,
    ]  # fmt: skip
    assert Secret("x") == Secret("x") != Secret("y")
    assert Secret("redis://x") != SecretUrl("redis://x")
    assert Secret("x") != "x"
    assert len({Secret("x"), Secret("x"), Secret("y")}) == 2
    assert copy.deepcopy(Secret("x")).reveal() == "x"
    assert SecretUrl("redis://u:p@h:1/0?q#f").public == "redis://h:1/0"
