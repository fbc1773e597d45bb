"""Values under names: who may change them, how a name is found, and the two doors."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from openvlharness_core.calls import Findings, NewBinding
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.memory.bindings import BindingMemory
from openvlharness_core.memory.workspace import Workspace


def with_bindings(*new: NewBinding) -> tuple[Workspace, tuple[str, ...]]:
    """A workspace with these, and their names."""
    workspace, registered = Workspace().register(Findings(data={}, bindings=new), "T")
    return workspace, registered.bindings


def binding(stem: str = "depth", image_id: str | None = "input_image_1", **fields: object) -> NewBinding:
    return NewBinding(stem=stem, fields=fields, image_id=image_id)


def test_the_same_data_of_the_same_picture_has_one_name() -> None:
    values: dict[str, Any] = {"a": np.arange(6.0).reshape(2, 3), "n": 3, "rows": [{"x": 1}, {"x": 2}], "none": None}
    copy: dict[str, Any] = {"none": None, "rows": [{"x": 1}, {"x": 2}], "n": 3, "a": np.arange(6.0).reshape(2, 3)}
    workspace, names = with_bindings(binding(**values), binding(**copy))
    assert names == ("depth", "depth")
    assert len(workspace.bindings.records) == 1


@pytest.mark.parametrize(
    "other",
    [
        binding(a=np.zeros((2, 3), np.float32), n=2),
        binding(a=np.zeros((2, 3), np.float64), n=1),
        binding(a=np.zeros((3, 2), np.float32), n=1),
        binding(a=np.ones((2, 3), np.float32), n=1),
        binding(a=[[0.0] * 3] * 2, n=1),
        binding(a=np.zeros((2, 3), np.float32), n=True),
        binding(a=np.zeros((2, 3), np.float32), n=1.0),
        binding(a=np.zeros((2, 3), np.float32), n="1"),
        binding(a=np.zeros((2, 3), np.float32)),
        binding(a=np.zeros((2, 3), np.float32), n=1, more=None),
        binding(image_id="input_image_2", a=np.zeros((2, 3), np.float32), n=1),
    ],
)
def test_any_difference_makes_another_name(other: NewBinding) -> None:
    _, names = with_bindings(binding(a=np.zeros((2, 3), np.float32), n=1), other)
    assert names == ("depth", "depth_2")


def test_a_name_in_use_gets_the_next_free_number() -> None:
    stems = ["a", "a", "a_2", "a", "a_2"]
    _, names = with_bindings(*(binding(stem, n=number) for number, stem in enumerate(stems)))
    assert names == ("a", "a_2", "a_2_2", "a_3", "a_2_3")


def test_data_seen_under_a_numbered_name_is_found_again() -> None:
    _, names = with_bindings(binding(n=1), binding(n=2), binding(n=2), binding(n=1))
    assert names == ("depth", "depth_2", "depth_2", "depth")


@pytest.mark.parametrize("stem", ["", "1a", "a b", "class", "a.b", "None"])
def test_a_name_that_code_cannot_use_is_refused(stem: str) -> None:
    with pytest.raises(MalformedResultError, match="binding name: expected a Python identifier"):
        with_bindings(binding(stem, n=1))


def test_letters_of_any_script_make_a_name() -> None:
    assert with_bindings(binding("segment_кот", n=1))[1] == ("segment_кот",)


def test_values_are_copied_in_and_locked() -> None:
    array, rows, inner = np.zeros(3), [1, 2], {"k": [1]}
    workspace, _ = with_bindings(binding(array=array, rows=rows, inner=inner))
    array[0], inner["k"][0] = 9, 9
    rows.append(3)
    values = workspace.values()["depth"]
    assert isinstance(values, dict)
    assert values["array"].tolist() == [0, 0, 0]
    assert values["rows"] == [1, 2]
    assert values["inner"] == {"k": [1]}
    with pytest.raises(ValueError, match="read-only"):
        values["array"][0] = 1
    values["rows"].append(4)
    values["inner"]["k"] = 5
    again = workspace.values()["depth"]
    assert isinstance(again, dict)
    assert (again["rows"], again["inner"]) == ([1, 2], {"k": [1]}), "lists and dicts are new each time"
    record = workspace.bindings.records[0]
    with pytest.raises(TypeError):
        record.fields["rows"] = 1  # type: ignore[index]


def test_numbers_of_numpy_become_plain() -> None:
    workspace, _ = with_bindings(binding(f=np.float32(0.5), i=np.int64(3), b=np.bool_(True), s=np.str_("x")))
    values = workspace.values()["depth"]
    assert isinstance(values, dict)
    assert [(type(v), v) for v in values.values()] == [(float, 0.5), (int, 3), (bool, True), (str, "x")]


def test_texts_are_free_of_half_characters() -> None:
    workspace, _ = with_bindings(binding(text="\ud83d", rows=[{"\udc00": "\ud83d"}]))
    assert workspace.values()["depth"] == {"text": "\ufffd", "rows": [{"\ufffd": "\ufffd"}]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "depth.v: expected a finite number, got nan"),
        (np.array([1.0, np.inf]), "depth.v: expected finite numbers, got an array with NaN or infinity"),
        (np.array([1j]), "depth.v: expected an array of numbers or text, got dtype complex128"),
        (np.array([object()]), "got dtype object"),
        (np.float32("nan"), "expected a finite number"),
        ([1, [float("inf")]], r"depth.v\[1\]\[0\]: expected a finite number"),
        ({"a": {1: 2}}, "depth.v.a: expected text keys, got int"),
        ({"a": {2, 3}}, "depth.v.a: expected an array, number, text, list or dict, got set"),
        (b"x", "got bytes"),
        (object(), "got object"),
    ],
)
def test_what_bindings_do_not_hold_is_refused_by_place(value: object, said: str) -> None:
    with pytest.raises(MalformedResultError, match=said):
        with_bindings(binding(v=value))


@pytest.mark.parametrize("fields", [{1: 2}, None, [("a", 1)]])
def test_fields_have_names(fields: object) -> None:
    with pytest.raises(MalformedResultError, match="depth: expected"):
        BindingMemory().with_binding(NewBinding(stem="depth", fields=fields))  # type: ignore[arg-type]


def test_the_writer_sees_descriptors_and_the_executor_values() -> None:
    new = NewBinding(
        stem="segment_cup",
        image_id="input_image_1",
        notes={"pred_boxes": "pixel corners x1, y1, x2, y2"},
        fields={
            "pred_boxes": np.full((2, 4), 7.0, np.float32),
            "masks": [{"size": [4, 4], "counts": "secret"}, {"size": [4, 4], "counts": "secret"}],
            "mixed": [1, "x"],
            "empty": [],
            "label": "secret",
            "places": None,
            "info": {"a": 1, "b": 2},
            "ok": True,
        },
    )
    workspace, _ = with_bindings(new)
    assert workspace.descriptors() == {
        "segment_cup": {
            "type": "dict",
            "image_id": "input_image_1",
            "fields": {
                "pred_boxes": {"type": "ndarray float32", "shape": [2, 4], "note": "pixel corners x1, y1, x2, y2"},
                "masks": {"type": "list", "length": 2, "of": "dict", "keys": ["size", "counts"]},
                "mixed": {"type": "list", "length": 2},
                "empty": {"type": "list", "length": 0},
                "label": {"type": "str"},
                "places": {"type": "None"},
                "info": {"type": "dict", "keys": ["a", "b"]},
                "ok": {"type": "bool"},
            },
        }
    }
    assert "secret" not in json.dumps(workspace.descriptors())
    values = workspace.values()["segment_cup"]
    assert isinstance(values, dict)
    assert isinstance(values["pred_boxes"], np.ndarray)
    assert values["masks"][1]["counts"] == "secret"
