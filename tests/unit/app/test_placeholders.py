"""`${NAME}`: filled after parsing, inside string leaves, and never more than text in its place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_app.faults import ConfigurationError, Filled
from openvlharness_app.loading import load_agent_config, settings_from_yaml
from openvlharness_app.placeholders import escape, fill
from tests.unit.app.configurations import changed, faults_of, small

TEXTS = st.text(max_size=40) | st.sampled_from(
    [
        "a: b",
        "{x: 1}",
        "[1, 2]",
        "${NAME}",
        "$${NAME}",
        "- a\n- b",
        "# note",
        "\n",
        "'",
        '"',
        "null",
        "true",
        "!!int 3",
        "&a *a",
    ]
)


@given(value=TEXTS)
def test_a_value_never_changes_the_structure(value: str) -> None:
    text = "a: ${NAME}\nb: [x, 'in ${NAME} out', {c: \"${NAME}\"}]\nd: 7\n"
    filled, misfits = fill(yaml.safe_load(text), {"NAME": value})
    assert misfits == []
    assert filled == {"a": value, "b": ["x", f"in {value} out", {"c": value}], "d": 7}


@given(value=TEXTS)
def test_no_value_adds_or_removes_a_setting(value: str) -> None:
    text = yaml.safe_dump(changed(small(), ("agent.tool_choice", "${NAME}")))
    expected = load_agent_config(changed(small(), ("agent.tool_choice", escape(value))), {})
    assert settings_from_yaml(text, {"NAME": value}) == expected
    assert type(expected.agent.tool_choice) is str


@given(text=st.text(alphabet="ab${}N", max_size=12))
def test_escaped_text_comes_back(text: str) -> None:
    assert fill({"a": escape(text)}, {"N": "value"}) == ({"a": text}, [])


@given(
    tree=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(alphabet="ab$ }", max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("k${N}", max_size=5), inner, max_size=3),
        max_leaves=10,
    )
)
def test_what_has_no_placeholder_stays(tree: Any) -> None:
    assert fill(tree, {}) == (tree, [])


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("agent.max_iterations", "8", 8),
        ("agent.max_iterations", "+8", 8),
        ("agent.max_context_length", "null", None),
        ("agent.max_context_length", "9000", 9000),
        ("agent.deadline_seconds", "1.5", 1.5),
        ("agent.deadline_seconds", "1e2", 100.0),
        ("agent.deadline_seconds", "30", 30.0),
        ("agent.paired_sampling_seed", "true", True),
        ("agent.paired_sampling_seed", "False", False),
        ("agent.tool_choice", "8", "8"),
        ("agent.tool_choice", "null", "null"),
        ("memory.emit_policy", "on_change", "on_change"),
        ("services.server.port", "9000", 9000),
        ("services.client.base_url", "http://router", "http://router"),
    ],
)
def test_a_whole_leaf_is_read_as_the_type_of_its_key(key: str, text: str, value: object) -> None:
    from tests.unit.app.configurations import value_at

    settings = load_agent_config(changed(small(), (key, "${NAME}")), {"NAME": text})
    kept = value_at(settings, key)
    assert kept == value
    assert type(kept) is type(value)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("agent.max_iterations", ""),
        ("agent.max_iterations", "8.0"),
        ("agent.max_iterations", " 8"),
        ("agent.max_iterations", "8\n"),
        ("agent.max_iterations", "1_000"),
        ("agent.max_iterations", "٣"),
        ("agent.max_iterations", "null"),
        ("agent.max_iterations", "9" * 5000),
        ("agent.deadline_seconds", "inf"),
        ("agent.deadline_seconds", "nan"),
        ("agent.paired_sampling_seed", "yes"),
        ("agent.paired_sampling_seed", "1"),
        ("memory.emit_policy", "Always"),
        ("services.server.port", "0x50"),
        ("services.client", "{base_url: http://router}"),
        ("memory.modules", "[{name: image}]"),
    ],
)
def test_a_whole_leaf_of_another_type_is_a_fault(key: str, text: str) -> None:
    faults = faults_of(changed(small(), (key, "${NAME}")), {"NAME": text})
    assert [fault.key for fault in faults] == [key]


def test_only_a_whole_leaf_is_read_as_another_type() -> None:
    for text in ("1${NAME}", "${NAME} ", "${NAME}${NAME}"):
        [fault] = faults_of(changed(small(), ("agent.max_iterations", text)), {"NAME": "8"})
        assert fault.key == "agent.max_iterations"
        assert fault.got.startswith("the value of ${NAME}")


def test_placeholders_stand_anywhere_in_a_string() -> None:
    tree = changed(small(), ("services.client.base_url", "http://${HOST}:${PORT}/${PATH_}"))
    settings = load_agent_config(tree, {"HOST": "router", "PORT": "8101", "PATH_": "v1"})
    assert settings.services.client.base_url == "http://router:8101/v1"


def test_keys_are_not_filled() -> None:
    [fault] = faults_of({**small(), "${NAME}": 1}, {"NAME": "images"})
    assert fault.key == "${NAME}"


def test_a_missing_variable_is_named_with_its_key() -> None:
    tree = changed(small(), ("agent.tool_choice", "${TOOLS} ${CHOICES} and ${TOOL}"))
    with pytest.raises(ConfigurationError) as caught:
        load_agent_config(tree, {"CHOICE": "x", "TOOLS": "y"})
    assert str(caught.value) == (
        "agent.tool_choice: expected the environment variable CHOICES to be set, got nothing (did you mean CHOICE?)"
    )


@pytest.mark.parametrize("text", ["${", "${}", "${1}", "${A B}", "${A:-b}", "a${é}"])
def test_a_malformed_placeholder_is_a_fault(text: str) -> None:
    [fault] = faults_of(changed(small(), ("agent.tool_choice", text)), {})
    assert fault.key == "agent.tool_choice"
    assert "$${" in fault.expected


def test_a_dollar_sign_alone_is_text() -> None:
    for text, kept in (("$HOME", "$HOME"), ("$$", "$$"), ("$${HOME}", "${HOME}"), ("a$", "a$"), ("{}", "{}")):
        assert load_agent_config(changed(small(), ("agent.tool_choice", text)), {}).agent.tool_choice == kept


def test_filled_text_knows_its_variables() -> None:
    filled, _ = fill({"a": "${X}", "b": "${X}-${Y}"}, {"X": "1", "Y": "2"})
    assert isinstance(filled, dict)
    assert isinstance(filled["a"], Filled)
    assert (filled["a"].names, filled["a"].whole) == (("X",), True)
    assert (filled["b"].names, filled["b"].whole) == (("X", "Y"), False)
