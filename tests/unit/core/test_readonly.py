"""Data that is shared cannot be changed, but it is written, compared, copied and sent to other processes like any other."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from openvlharness_core.messages import ToolSpec
from openvlharness_core.readonly import ReadOnlyDict, read_only

PLAIN = {"type": "object", "properties": {"a": {"enum": [1, None, "x"]}}, "required": ["a"]}
_COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}


@pytest.mark.parametrize("how", _COPIES)
def test_a_copy_is_equal_and_read_only_too(how: str) -> None:
    shared = read_only(PLAIN)
    for value in (shared, ToolSpec(name="A_Tool", description="Does.", parameters=PLAIN)):
        assert _COPIES[how](value) == value
    copied = _COPIES[how](shared)
    assert isinstance(copied["properties"], ReadOnlyDict)
    with pytest.raises(TypeError, match="cannot be changed"):
        copied["properties"]["b"] = {}


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.update(a=1),
        lambda value: value.__setitem__("a", 1),
        lambda value: value.__delitem__("type"),
        lambda value: value.pop("type"),
        lambda value: value.popitem(),
        lambda value: value.clear(),
        lambda value: value.setdefault("a", 1),
        lambda value: value.__ior__({"a": 1}),
        lambda value: value["properties"]["a"].update(enum=[]),
    ],
    ids=["update", "set", "delete", "pop", "popitem", "clear", "setdefault", "or", "inner"],
)
def test_no_change_goes_through(change: Callable[[Any], object]) -> None:
    shared = read_only(PLAIN)
    with pytest.raises(TypeError, match="cannot be changed"):
        change(shared)
    assert json.dumps(shared) == json.dumps(PLAIN)


def test_it_is_cut_off_from_what_it_was_made_of() -> None:
    mine = {"properties": {"a": [1]}}
    shared = read_only(mine)
    mine["properties"]["a"].append(2)
    assert shared == {"properties": {"a": (1,)}}
