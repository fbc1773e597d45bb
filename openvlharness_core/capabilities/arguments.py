"""Checking a call's arguments against its schema, with faults that the model can act on.

Models write numbers as strings and lists as JSON text; both are accepted where nothing is lost. Booleans are not
numbers, and nothing else is guessed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import attrs

from openvlharness_core.errors import ToolFailure
from openvlharness_core.jsonable import read_json
from openvlharness_core.texts import clean_text, excerpt

Schema = Mapping[str, object]
EXACT = 2**53
"""Below it a float holds every whole number."""


@attrs.frozen(kw_only=True)
class CheckedArguments:
    """Arguments as the capability gets them.

    Attributes:
        values: every property that came, and the schema's default of those that did not.
        notes: what was converted, for the trace.
    """

    values: Mapping[str, object]
    notes: tuple[str, ...] = ()


class _Mismatch(Exception):
    """A value that is not what its schema says; `place` grows on the way out."""

    def __init__(self, place: str, expected: str, got: object) -> None:
        super().__init__(place, expected)
        self.place, self.expected, self.got = place, expected, got


def check_arguments(schema: Schema, arguments: Mapping[str, object]) -> CheckedArguments:
    """Check and convert the arguments of one call.

    Understood of JSON Schema: type, properties, required, default, enum, minimum, maximum, minLength, items, minItems
    and maxItems. Arguments that the schema does not name are refused.

    Raises:
        ToolFailure: `invalid_tool_arguments`, with every fault: the argument, what was expected and what came.
    """
    properties = schema.get("properties", {})
    assert isinstance(properties, Mapping)
    required = schema.get("required", ())
    assert isinstance(required, Sequence)
    faults: list[str] = []
    notes: list[str] = []
    values: dict[str, object] = {}
    for name in arguments:
        if name not in properties:
            known = ", ".join(properties) or "none at all"
            faults.append(
                f"{excerpt(clean_text(name), 60)}: expected one of the known arguments ({known}), got an unknown one"
            )
    for name, rule in properties.items():
        if name in arguments:
            try:
                values[name] = _converted(rule, arguments[name], name, notes)
            except _Mismatch as fault:
                place = excerpt(clean_text(fault.place))
                faults.append(f"{place}: expected {fault.expected}, got {_shown(fault.got)}")
        elif name in required:
            faults.append(f"{name}: expected {_expected(rule)}, got nothing")
        elif "default" in rule:
            values[name] = rule["default"]
    if faults:
        raise ToolFailure("invalid_tool_arguments", "; ".join(faults))
    return CheckedArguments(values=values, notes=tuple(notes))


def find_schema_fault(schema: object, place: str = "parameters") -> str | None:
    """What is wrong with a schema, as far as `check_arguments` depends on it; `None` when nothing is."""
    if not isinstance(schema, Mapping):
        return f"{place}: expected an object, got {type(schema).__name__}"
    required = schema.get("required", ())
    if not isinstance(required, list | tuple) or not all(isinstance(name, str) for name in required):
        return f"{place}.required: expected a list of argument names, got {_shown(required)}"
    for bound in ("minItems", "maxItems"):
        if isinstance(schema.get(bound, 0), bool) or not isinstance(schema.get(bound, 0), int | float):
            return f"{place}.{bound}: expected a number, got {_shown(schema[bound])}"
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping) or not all(isinstance(name, str) for name in properties):
        return f"{place}.properties: expected an object, got {_shown(properties)}"
    inner = [(rule, f"{place}.properties.{name}") for name, rule in properties.items()]
    if "items" in schema:
        inner.append((schema["items"], f"{place}.items"))
    return next((fault for fault in (find_schema_fault(*each) for each in inner) if fault), None)


def _converted(rule: Schema, value: object, place: str, notes: list[str]) -> object:
    kinds = rule.get("type")
    if isinstance(kinds, str):
        value = _of_kind(kinds, rule, value, place, notes)
    elif isinstance(kinds, Sequence):
        value = _of_any_kind([str(kind) for kind in kinds], rule, value, place, notes)
    enum = rule.get("enum")
    if isinstance(enum, Sequence) and not any(value == known and type(value) is type(known) for known in enum):
        raise _Mismatch(place, f"one of {', '.join(map(str, enum))}", value)
    return value


def _of_any_kind(kinds: list[str], rule: Schema, value: object, place: str, notes: list[str]) -> object:
    if isinstance(value, str) and "string" in kinds:  # a text is a text first, and no number in disguise
        return _text(rule, value, place)
    for kind in kinds:
        converted: list[str] = []
        try:
            found = _of_kind(kind, rule, value, place, converted)
        except _Mismatch:
            continue
        notes += converted
        return found
    raise _Mismatch(place, " or ".join(kinds), value)


def _of_kind(kind: str, rule: Schema, value: object, place: str, notes: list[str]) -> object:
    match kind:
        case "string":
            return _text(rule, value, place)
        case "integer" | "number":
            return _number(kind, rule, value, place, notes)
        case "boolean" if isinstance(value, bool):
            return value
        case "null" if value is None:
            return value
        case "array":
            return _list(rule, _unpacked(value, list, place, notes), place, notes)
        case "object":
            return _object(rule, _unpacked(value, dict, place, notes), place, notes)
    raise _Mismatch(place, _expected(rule), value)


def _text(rule: Schema, value: object, place: str) -> str:
    least = rule.get("minLength", 0)
    if not isinstance(value, str) or (isinstance(least, int) and len(value.strip()) < least):
        raise _Mismatch(place, _expected(rule), value)
    return clean_text(value)


def _number(kind: str, rule: Schema, value: object, place: str, notes: list[str]) -> int | float:
    number: object = _numeric(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise _Mismatch(place, _expected(rule), value)
    if isinstance(number, float):
        whole = number.is_integer() and abs(number) < EXACT  # past that, which whole number was meant is lost
        if not math.isfinite(number) or (kind == "integer" and not whole):
            raise _Mismatch(place, _expected(rule), value)
        number = int(number) if kind == "integer" else number
    low, high = rule.get("minimum"), rule.get("maximum")
    if (isinstance(low, int | float) and number < low) or (isinstance(high, int | float) and number > high):
        raise _Mismatch(place, _expected(rule), value)
    if isinstance(value, str):
        notes.append(f"{place}: numeric text {excerpt(repr(value), 40)} taken as a number")
    return number


def _numeric(text: str) -> int | float | None:
    if "_" in text:  # Python's own spelling, nobody else's
        return None
    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            continue
    return None


def _unpacked(value: object, kind: type[list[object] | dict[str, object]], place: str, notes: list[str]) -> object:
    if isinstance(value, str):
        try:
            inner = read_json(value)
        except ValueError:
            return value
        if isinstance(inner, kind):
            notes.append(f"{place}: JSON text taken as {'a list' if kind is list else 'an object'}")
            return inner
    return value


def _list(rule: Schema, value: object, place: str, notes: list[str]) -> list[object]:
    least, most = rule.get("minItems", 0), rule.get("maxItems", math.inf)
    assert isinstance(least, int | float)
    assert isinstance(most, int | float)
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise _Mismatch(place, _expected(rule), value)
    items = rule.get("items", {})
    assert isinstance(items, Mapping)
    return [_converted(items, item, f"{place}[{position}]", notes) for position, item in enumerate(value)]


def _object(rule: Schema, value: object, place: str, notes: list[str]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _Mismatch(place, _expected(rule), value)
    properties = rule.get("properties", {})
    required = rule.get("required", ())
    assert isinstance(properties, Mapping)
    assert isinstance(required, Sequence)
    for name in required:
        if name not in value:
            raise _Mismatch(f"{place}.{name}", _expected(properties.get(name, {})), None)
    return {name: _converted(properties.get(name, {}), item, f"{place}.{name}", notes) for name, item in value.items()}


def _expected(rule: object) -> str:
    if not isinstance(rule, Mapping):
        return "a value"
    low, high = rule.get("minimum"), rule.get("maximum")
    bounds = (
        f" from {low} to {high}"
        if low is not None and high is not None
        else f" of at least {low}"
        if low is not None
        else f" of at most {high}"
        if high is not None
        else ""
    )
    match rule.get("type"):
        case "string":
            return "a text that is not blank" if rule.get("minLength") else "a text"
        case "integer":
            return f"a whole number{bounds}"
        case "number":
            return f"a number{bounds}"
        case "boolean":
            return "true or false"
        case "array":
            least, most = rule.get("minItems"), rule.get("maxItems")
            exact = least is not None and least == most
            limits = [f"at least {least}" if least else "", f"at most {most}" if most is not None else ""]
            size = (
                f" of exactly {least}" if exact else f" of {' and '.join(filter(None, limits))}" if any(limits) else ""
            )
            return f"a list{size}, each {_expected(rule.get('items'))}"
        case "object":
            return "an object"
        case kind:
            return str(kind) if kind else "a value"


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return excerpt(clean_text(text), 80)
