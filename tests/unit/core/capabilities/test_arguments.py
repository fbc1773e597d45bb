"""Arguments against a schema: what passes, what is converted, and what the model is told of the rest."""

from __future__ import annotations

import json

import hypothesis
import pytest
from hypothesis import strategies as st

from openvlharness_core.capabilities.arguments import check_arguments, find_schema_fault
from openvlharness_core.errors import ToolFailure
from openvlharness_core.jsonable import json_ready

S = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "note": {"type": "string"},
        "count": {"type": "integer", "minimum": 0, "maximum": 10},
        "whole": {"type": "integer"},
        "share": {"type": "number", "minimum": 0.5},
        "flag": {"type": "boolean"},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "level": {"type": "integer", "enum": [1, 2]},
        "box": {"type": "array", "items": {"type": "number", "maximum": 1000}, "minItems": 4, "maxItems": 4},
        "urls": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
        "any_list": {"type": "array"},
        "place": {
            "type": "object",
            "properties": {"x": {"type": "number"}, "deep": {"type": "object"}},
            "required": ["x"],
        },
        "maybe": {"type": ["integer", "null"]},
        "either": {"type": ["number", "array"], "items": {"type": "integer"}},
        "text_or_number": {"type": ["number", "string"]},
        "free": {},
        "nothing": {"type": "null"},
        "odd": {"type": "tuple"},
    },
    "required": [],
}
HUGE = int("9" * 400)

# arguments that pass, what the tool gets
PASS: list[tuple[dict[str, object], dict[str, object]]] = [
    ({}, {}),
    ({"name": "x"}, {"name": "x"}),
    ({"name": " x "}, {"name": " x "}),
    ({"name": "a\ud83d"}, {"name": "a\ufffd"}),
    ({"note": ""}, {"note": ""}),
    ({"count": 0}, {"count": 0}),
    ({"count": 10}, {"count": 10}),
    ({"count": "7"}, {"count": 7}),
    ({"count": " 7 "}, {"count": 7}),
    ({"count": 7.0}, {"count": 7}),
    ({"count": "7.0"}, {"count": 7}),
    ({"count": "1e1"}, {"count": 10}),
    ({"whole": -3}, {"whole": -3}),
    ({"whole": "-3"}, {"whole": -3}),
    ({"whole": "12345678901234567890"}, {"whole": 12345678901234567890}),
    ({"whole": HUGE}, {"whole": HUGE}),
    ({"share": 0.5}, {"share": 0.5}),
    ({"share": 1}, {"share": 1}),
    ({"share": "0.75"}, {"share": 0.75}),
    ({"share": "1e3"}, {"share": 1000.0}),
    ({"flag": True}, {"flag": True}),
    ({"flag": False}, {"flag": False}),
    ({"colour": "red"}, {"colour": "red"}),
    ({"level": "2"}, {"level": 2}),
    ({"level": 2.0}, {"level": 2}),
    ({"box": [1, 2.5, 3, 4]}, {"box": [1, 2.5, 3, 4]}),
    ({"box": "[1, 2, 3, 4]"}, {"box": [1, 2, 3, 4]}),
    ({"box": ["1", "2.5", 3, 4]}, {"box": [1, 2.5, 3, 4]}),
    ({"box": '["1", 2, 3, 4]'}, {"box": [1, 2, 3, 4]}),
    ({"urls": ["a", "b"]}, {"urls": ["a", "b"]}),
    ({"urls": '["a"]'}, {"urls": ["a"]}),
    ({"any_list": [None, {"a": [1]}]}, {"any_list": [None, {"a": [1]}]}),
    ({"place": {"x": "3"}}, {"place": {"x": 3}}),
    ({"place": '{"x": 3, "more": [1]}'}, {"place": {"x": 3, "more": [1]}}),
    ({"place": {"x": 1, "deep": "{}"}}, {"place": {"x": 1, "deep": {}}}),
    ({"maybe": None}, {"maybe": None}),
    ({"maybe": "4"}, {"maybe": 4}),
    ({"either": 3}, {"either": 3}),
    ({"either": "[3, 4]"}, {"either": [3, 4]}),
    ({"text_or_number": "3"}, {"text_or_number": "3"}),
    ({"text_or_number": 3}, {"text_or_number": 3}),
    ({"free": {"a": True}}, {"free": {"a": True}}),
    ({"nothing": None}, {"nothing": None}),
]

# arguments that do not pass, a part of what the model is told
FAIL: list[tuple[dict[str, object], str]] = [
    ({"nme": 1}, "nme: expected one of the known arguments (name, note"),
    ({"x" * 500: 1}, "…: expected one of the known arguments"),
    ({"\ud83d": 1}, "expected one of the known arguments"),
    ({"name": ""}, 'name: expected a text that is not blank, got ""'),
    ({"name": " \n"}, "name: expected a text that is not blank"),
    ({"name": 3}, "name: expected a text that is not blank, got 3"),
    ({"name": None}, "name: expected a text that is not blank, got null"),
    ({"name": ["x"]}, 'name: expected a text that is not blank, got ["x"]'),
    ({"note": True}, "note: expected a text, got true"),
    ({"count": -1}, "count: expected a whole number from 0 to 10, got -1"),
    ({"count": "11"}, 'count: expected a whole number from 0 to 10, got "11"'),
    ({"count": 2.5}, "count: expected a whole number from 0 to 10, got 2.5"),
    ({"count": True}, "count: expected a whole number from 0 to 10, got true"),
    ({"count": "two"}, "count: expected a whole number"),
    ({"count": ""}, 'count: expected a whole number from 0 to 10, got ""'),
    ({"count": "1_0"}, "count: expected a whole number"),
    ({"count": "0x1"}, "count: expected a whole number"),
    ({"count": None}, "got null"),
    ({"count": [1]}, "got [1]"),
    ({"count": HUGE}, "count: expected a whole number from 0 to 10, got 999"),
    ({"whole": "9" * 5000}, "whole: expected a whole number"),
    ({"whole": 1e300}, "whole: expected a whole number"),
    ({"whole": "9007199254740993.0"}, "whole: expected a whole number"),
    ({"whole": "inf"}, "whole: expected a whole number"),
    ({"share": "nan"}, 'share: expected a number of at least 0.5, got "nan"'),
    ({"share": "Infinity"}, "share: expected a number of at least 0.5"),
    ({"share": 0.4}, "share: expected a number of at least 0.5, got 0.4"),
    ({"share": False}, "share: expected a number of at least 0.5, got false"),
    ({"flag": 1}, "flag: expected true or false, got 1"),
    ({"flag": "true"}, 'flag: expected true or false, got "true"'),
    ({"colour": "green"}, 'colour: expected one of red, blue, got "green"'),
    ({"colour": "Red"}, "colour: expected one of red, blue"),
    ({"level": 3}, "level: expected one of 1, 2, got 3"),
    ({"level": True}, "level: expected a whole number, got true"),
    ({"box": [1, 2, 3]}, "box: expected a list of exactly 4, each a number of at most 1000, got [1, 2, 3]"),
    ({"box": [1, 2, 3, 4, 5]}, "box: expected a list of exactly 4"),
    ({"box": [1, 2, 3, "x"]}, 'box[3]: expected a number of at most 1000, got "x"'),
    ({"box": [1, 2, 3, 1001]}, "box[3]: expected a number of at most 1000, got 1001"),
    ({"box": [1, True, 3, 4]}, "box[1]: expected a number of at most 1000, got true"),
    ({"box": "1, 2, 3, 4"}, "box: expected a list of exactly 4"),
    ({"box": "[1, 2, NaN, 4]"}, "box: expected a list of exactly 4"),
    ({"box": "[1e999, 2, 3, 4]"}, "box: expected a list of exactly 4"),
    ({"box": '{"x1": 1}'}, "box: expected a list of exactly 4"),
    ({"box": {"x1": 1}}, 'box: expected a list of exactly 4, each a number of at most 1000, got {"x1": 1}'),
    ({"urls": []}, "urls: expected a list of at least 1, each a text that is not blank, got []"),
    ({"urls": "https://example.com"}, "urls: expected a list of at least 1"),
    ({"urls": [1]}, "urls[0]: expected a text that is not blank, got 1"),
    ({"any_list": "[" * 100_000}, "any_list: expected a list, each a value"),
    ({"any_list": "[" * 100 + "]" * 100}, "any_list: expected a list"),
    ({"place": []}, "place: expected an object, got []"),
    ({"place": {}}, "place.x: expected a number, got null"),
    ({"place": {"x": "y"}}, 'place.x: expected a number, got "y"'),
    ({"place": "{"}, "place: expected an object"),
    ({"maybe": "x"}, 'maybe: expected integer or null, got "x"'),
    ({"either": "[1.5]"}, "either: expected number or array"),
    ({"text_or_number": []}, "text_or_number: expected number or string, got []"),
    ({"nothing": 0}, "nothing: expected null, got 0"),
    ({"odd": 0}, "odd: expected tuple, got 0"),
]


@pytest.mark.parametrize(("arguments", "values"), PASS)
def test_what_fits_is_handed_on(arguments: dict[str, object], values: dict[str, object]) -> None:
    checked = check_arguments(S, arguments)
    assert checked.values == values
    assert [type(value) for value in checked.values.values()] == [type(value) for value in values.values()]


@pytest.mark.parametrize(("arguments", "said"), FAIL)
def test_what_does_not_fit_is_told(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ToolFailure) as raised:
        check_arguments(S, arguments)
    assert raised.value.code == "invalid_tool_arguments"
    assert said in raised.value.message
    raised.value.message.encode()
    assert len(raised.value.message) < 500


def test_every_fault_is_told_at_once() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
    with pytest.raises(ToolFailure) as raised:
        check_arguments(schema, {"b": True, "c": 1})
    assert raised.value.message == (
        "c: expected one of the known arguments (a, b), got an unknown one; a: expected a text, got nothing; "
        "b: expected a whole number, got true"
    )


def test_a_tool_without_arguments_takes_none() -> None:
    assert check_arguments({}, {}).values == {}
    with pytest.raises(ToolFailure, match="known arguments \\(none at all\\)"):
        check_arguments({"properties": {}}, {"a": 1})


def test_defaults_fill_in_what_did_not_come() -> None:
    schema = {"properties": {"a": {"type": "integer", "default": 3}, "b": {"default": None}, "c": {}}}
    assert check_arguments(schema, {}).values == {"a": 3, "b": None}
    assert check_arguments(schema, {"a": 4}).values == {"a": 4, "b": None}


@pytest.mark.parametrize(
    ("arguments", "notes"),
    [
        ({"count": 7}, ()),
        ({"count": "7"}, ("count: numeric text '7' taken as a number",)),
        (
            {"place": '{"x": "3"}'},
            ("place: JSON text taken as an object", "place.x: numeric text '3' taken as a number"),
        ),
        ({"box": "[1, 2, 3, 4]"}, ("box: JSON text taken as a list",)),
        ({"either": "[3]"}, ("either: JSON text taken as a list",)),
        ({"maybe": None}, ()),
        ({"text_or_number": "3"}, ()),
    ],
)
def test_conversions_are_noted_for_the_trace(arguments: dict[str, object], notes: tuple[str, ...]) -> None:
    assert check_arguments(S, arguments).notes == notes


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8)
    | st.sampled_from(["1", "-2.5", "nan", "1e999", "[1]", "{}", "[1, 2, 3, 4]", "[[", "9" * 5000, HUGE, 1e300]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
names = st.sampled_from([*S["properties"], "other", "\ud83d"])


@hypothesis.settings(max_examples=120)
@hypothesis.given(st.dictionaries(names, values, max_size=4))
def test_any_arguments_pass_or_are_told(arguments: dict[str, object]) -> None:
    try:
        checked = check_arguments(S, arguments)
    except ToolFailure as failure:
        failure.message.encode()
        return
    assert checked.values.keys() <= S["properties"].keys()  # type: ignore[attr-defined]
    again = check_arguments(S, checked.values)
    assert again.notes == (), "what was converted needs no more conversion"
    assert json.dumps(again.values) == json.dumps(checked.values)


@hypothesis.settings(max_examples=50)
@hypothesis.given(st.dictionaries(names, values.filter(lambda v: v == v), max_size=3))
def test_what_was_read_from_json_can_be_recorded(arguments: dict[str, object]) -> None:
    hypothesis.assume("Infinity" not in json.dumps(arguments))
    hypothesis.assume("NaN" not in json.dumps(arguments))
    try:
        checked = check_arguments(S, arguments)
    except ToolFailure:
        return
    json.dumps(json_ready(checked.values, "arguments"), allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({}, None),
        (S, None),
        ([], "parameters: expected an object, got list"),
        ({"properties": []}, "parameters.properties: expected an object, got []"),
        ({"properties": {"a": "string"}}, "parameters.properties.a: expected an object, got str"),
        ({"required": "a"}, 'parameters.required: expected a list of argument names, got "a"'),
        ({"required": None}, "parameters.required: expected a list of argument names, got null"),
        ({"properties": {"a": {"minItems": "2"}}}, 'parameters.properties.a.minItems: expected a number, got "2"'),
        ({"properties": {"a": {"items": []}}}, "parameters.properties.a.items: expected an object, got list"),
        (
            {"properties": {"a": {"properties": {"b": {"maxItems": None}}}}},
            "parameters.properties.a.properties.b.maxItems: expected a number, got null",
        ),
    ],
)
def test_a_schema_is_found_wrong_before_any_call(schema: object, fault: str | None) -> None:
    assert find_schema_fault(schema) == fault
