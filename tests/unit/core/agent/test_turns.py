"""Mending what a model wrote: argument text, ids and names."""

from __future__ import annotations

import json
import math

import hypothesis
import pytest
from hypothesis import strategies as st

from openvlharness_core.agent.turns import mend_reply, parse_arguments
from openvlharness_core.jsonable import DEEPEST
from openvlharness_core.messages import AssistantMessage, ModelReply, SystemMessage, ToolMessage, VirtualCall
from tests.unit.core.kit import breaches


def mended(*calls: tuple[str, str, str], used: frozenset[str] = frozenset(), number: int = 1) -> list[VirtualCall]:
    """What is replayed of calls given as id, tool, arguments."""
    made = tuple(VirtualCall(id=call_id, tool=tool, arguments=text) for call_id, tool, text in calls)
    return [call.replayed for call in mend_reply(ModelReply(calls=made), used, number, "(nothing)").calls]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        (' \n{"a": 1}\t', {"a": 1}),
        ('{"a": {"b": [1, 2.5, null, true, "x"]}}', {"a": {"b": [1, 2.5, None, True, "x"]}}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        ('{"a": 12345678901234567890123}', {"a": 12345678901234567890123}),
        ('{"a": -0.0, "b": 1e308}', {"a": -0.0, "b": 1e308}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"": 0}', {"": 0}),
        ("[" * 0 + '{"a":' * (DEEPEST - 1) + "{}" + "}" * (DEEPEST - 1), ...),
    ],
)
def test_one_object_is_read(text: str, value: object) -> None:
    arguments, fault = parse_arguments(text)
    assert fault is None
    assert arguments == (json.loads(text) if value is ... else value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"image_id": "input_image_1", "coords": [10, 20', "at character 47: Expecting ',' delimiter"),
        ("", "at character 0: Expecting value"),
        ("   ", "at character 3: Expecting value"),
        ("null", "got null at character 0"),
        ("[]", "got [] at character 0"),
        ('"x"', 'got "x" at character 0'),
        ("3", "got 3 at character 0"),
        ("true", "got true at character 0"),
        ('{"a": 1} {"b": 2}', "at character 9: Extra data"),
        ('{"a": 1}}', "at character 8: Extra data"),
        ("{'a': 1}", "at character 1: Expecting property name"),
        ('{"a": 1,}', "at character"),
        ('```json\n{"a": 1}\n```', "at character 0"),
        ("image_id=1", "at character 0"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": [-Infinity]}', "-Infinity is not JSON"),
        ('{"a": 1e999}', "1e999 is out of range"),
        ('{"a": -1e400}', "-1e400 is out of range"),
        ('{"a": ' + "9" * 5000 + "}", "integer string conversion"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "nested too deeply"),
        ('{"a":' + "[" * 700 + "]" * 700 + "}", "nested too deeply"),
        ('{"a":' * DEEPEST + "{}" + "}" * DEEPEST, "nested too deeply"),
        ('{"a": "\t"}', "Invalid control character"),
        ("\ufeff{}", "BOM"),
        ("\ud83d", "at character 0"),
    ],
)
def test_anything_else_is_told_with_its_place(text: str, said: str) -> None:
    arguments, fault = parse_arguments(text)
    assert arguments is None
    assert fault is not None
    assert said in fault
    assert fault.startswith("expected one JSON object")
    assert len(fault) < 400, "the excerpt is bounded"
    fault.encode()


def test_two_calls_of_one_id_get_two_ids_each_used_in_both_places() -> None:
    reply = ModelReply(calls=(VirtualCall(id="x", tool="T", arguments="{}"),) * 2)
    made = mend_reply(reply, frozenset(), 3, "-").calls
    assert [call.replayed.id for call in made] == ["x", "call_3_2"]
    assert [call.call.id for call in made] == ["x", "call_3_2"]


def test_ids_of_earlier_turns_are_not_used_again() -> None:
    assert [call.id for call in mended(("zoom:0", "T", "{}"), used=frozenset({"zoom:0"}), number=2)] == ["call_2_1"]
    taken = frozenset({"call_2_1", "call_2_1_2"})
    assert [call.id for call in mended(("", "T", "{}"), used=taken, number=2)] == ["call_2_1_3"]


def test_what_can_be_replayed_stays_letter_for_letter() -> None:
    text = '{ "a" :1.50,"b":"\\u00e9" }'
    assert mended(("a", "Zoom_In_Tool", text)) == [VirtualCall(id="a", tool="Zoom_In_Tool", arguments=text)]


@pytest.mark.parametrize("text", ['{"a": "\\ud83d"}', '{"a": "\ud83d"}', '{"\\udc00": {"b": ["\\ud83d x"]}}'])
def test_half_characters_are_replaced_in_what_is_replayed_and_in_what_runs(text: str) -> None:
    reply = ModelReply(calls=(VirtualCall(id="a", tool="T", arguments=text),))
    (call,) = mend_reply(reply, frozenset(), 1, "-").calls
    call.replayed.arguments.encode()
    call.call.arguments.encode()
    assert json.loads(call.replayed.arguments) == call.arguments
    assert "\ufffd" in call.replayed.arguments


def test_the_truncated_mark_is_for_the_trace_only() -> None:
    reply = ModelReply(calls=(VirtualCall(id="a", tool="T", arguments="{", truncated=True),))
    (call,) = mend_reply(reply, frozenset(), 1, "-").calls
    assert (call.call.truncated, call.replayed.truncated) == (True, False)


def test_only_a_reply_that_says_nothing_is_replaced() -> None:
    assert mend_reply(ModelReply(text=" "), frozenset(), 1, "-").message == AssistantMessage(text="-")
    assert mend_reply(ModelReply(text="x"), frozenset(), 1, "-").message == AssistantMessage(text="x")
    call = VirtualCall(id="a", tool="T", arguments="{}")
    kept = mend_reply(ModelReply(text="", calls=(call,)), frozenset(), 1, "-").message
    assert kept == AssistantMessage(text="", calls=(call,))


@hypothesis.given(
    st.lists(st.tuples(st.text(max_size=4), st.text(max_size=80), st.text(max_size=30)), max_size=5),
    st.frozensets(st.text(max_size=4), max_size=4),
)
def test_whatever_is_called_can_be_replayed(calls: list[tuple[str, str, str]], used: frozenset[str]) -> None:
    made = mended(*calls, used=used)
    assert not used & {call.id for call in made}
    results = [ToolMessage(call_id=call.id, tool=call.tool, text="-") for call in made]
    assert breaches([SystemMessage(text="s"), AssistantMessage(text="-", calls=tuple(made)), *results]) == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@hypothesis.given(st.dictionaries(st.text(max_size=5), json_values, max_size=4), st.booleans(), st.integers(0, 200))
def test_argument_text_is_read_as_it_was_written_or_refused(
    value: dict[str, object], ascii_only: bool, cut: int
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    arguments, fault = parse_arguments(text)
    finite = all(word not in text for word in ("NaN", "Infinity"))
    if finite:
        assert arguments == value
    assert (arguments is None) == (fault is not None)
    shorter, _ = parse_arguments(text[:cut])
    assert shorter is None or len(text) <= cut


def test_no_infinity_gets_through() -> None:
    arguments, _ = parse_arguments('{"a": 1e308}')
    assert arguments is not None
    assert math.isfinite(arguments["a"])  # type: ignore[arg-type]
