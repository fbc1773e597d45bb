"""Values on the way into a program: what is packed is what is unpacked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from types import MappingProxyType

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from openvlharness_adapters.executor import values, wire

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.complex_numbers(allow_nan=False)
)
_TREES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4)
    ),
    max_leaves=20,
)


def round_trip(given_values: Mapping[str, object]) -> dict[str, object]:
    structure, blobs = values.pack(given_values)
    job = wire.Job("pass", structure, "/nowhere", 1.5, wire.Limits(1, 2, 3))
    with tempfile.TemporaryFile() as file:
        wire.write_job(file, job, blobs)
        read, begin = wire.read_job(file.fileno())
        assert read._replace(structure=None) == job._replace(structure=None)
        return values.unpack(read.structure, file.fileno(), begin, os.fstat(file.fileno()).st_size)


@given(_TREES)
def test_structures_come_through(tree: object) -> None:
    got = round_trip({"value": tree})["value"]
    assert got == tree
    assert repr(got) == repr(tree)  # 1, 1.0 and True are equal, but not the same


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype=np.float32).reshape(2, 3, 4),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(20, dtype=">i2")[::3],
        np.array([[True, False]]),
        np.array(3.5),
        np.zeros((0, 4), np.uint8),
        np.array(["ab", "é"]),
        np.array([b"ab"]),
        np.array(["2024-01-02"], "datetime64[D]"),
        np.array([1 + 2j], np.complex64),
        np.broadcast_to(np.float16(2), (3, 2)),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_come_through_and_can_be_written_to(array: np.ndarray) -> None:
    got = round_trip({"other": np.ones(3, np.uint8), "value": {"inner": [array]}})["value"]
    assert isinstance(got, dict)
    [copy] = got["inner"]
    assert (copy.dtype, copy.shape) == (array.dtype, array.shape)
    assert np.array_equal(copy, array)
    assert copy.flags.writeable
    assert copy.flags.c_contiguous
    copy[...] = np.zeros((), array.dtype)


def test_scalars_of_numpy_and_read_only_mappings_are_plain_for_the_program() -> None:
    scalars = [np.float32(0.5), np.int8(-3), np.bool_(True), np.str_("x"), np.complex64(1j)]
    got = round_trip({"value": MappingProxyType({"scalars": scalars})})
    assert repr(got) == "{'value': {'scalars': [0.5, -3, True, 'x', 1j]}}"


def test_numbers_that_are_not_finite_come_through() -> None:
    assert repr(round_trip({"value": [float("nan"), float("inf"), -float("inf")]})) == "{'value': [nan, inf, -inf]}"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": {"b": [0, {1, 2}]}}, r"v\['a'\]\['b'\]\[1\]: expected .*, got set"),
        (b"bytes", "v: expected .*, got bytes"),
        (np.array([object()]), "v: expected an array of .*, got dtype object"),
        (np.zeros(2, [("x", "f4")]), "v: expected an array of .*, got dtype"),
        ({1.5: 2}, r"v: expected keys .*, got 1\.5"),
        ({True: 2}, "v: expected keys .*, got True"),
        (np.datetime64("2024-01-02"), "v: expected a number.*, got numpy.datetime64"),
    ],
)
def test_what_cannot_travel_is_named(value: object, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        values.pack({"v": value})


@pytest.mark.parametrize("name", ["", "two words", "class", "1st", "a.b"])
def test_a_name_is_an_identifier(name: str) -> None:
    with pytest.raises(ValueError, match="identifiers, got"):
        values.pack({name: 1})


def test_a_structure_without_end_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="at most 100 deep"):
        values.pack({"v": endless})
