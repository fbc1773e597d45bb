"""What a variable looks like in 400 characters, whatever it is."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from openvlharness_adapters.executor.init import Output
from openvlharness_adapters.executor.previews import described, preview, previews


@pytest.fixture(autouse=True)
def own_alarm() -> Iterator[None]:
    """Previews are made in a process of their own, where the alarm is theirs; here it is given back."""
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.signal(signal.SIGALRM, before)


def shown(value: object) -> str:
    return preview(value, time.monotonic() + 60)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.text(), inner) | st.lists(inner).map(tuple) | st.tuples(inner)
        ),
        max_leaves=15,
    )
)
def test_plain_values_look_as_python_writes_them(value: object) -> None:
    text = shown(value)
    whole = repr(value).encode("utf-8", "replace").decode()
    assert len(text) <= 400
    assert text == whole or "…" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("it's", '"it\'s"'),
        ((1,), "(1,)"),
        ({"a": [1, {"b": None}]}, "{'a': [1, {'b': None}]}"),
        ({1}, "set(1)"),
        ([[[[[[[1]]]]]]], "[[[[[[…]]]]]]"),
        (np.zeros((0, 3)), "ndarray float64, shape (0, 3)"),
        (np.arange(6.0).reshape(2, 3), "ndarray float64, shape (2, 3); min 0, max 5, mean 2.5; corners [0, 2, 3, 5]"),
        (np.array([True, False]), "ndarray bool, shape (2,); min False, max True, mean 0.5; corners [True, False]"),
        (
            np.array([1, np.nan, np.inf]),
            "ndarray float64, shape (3,); min 1, max 1, mean 1; 2 not finite; corners [1, inf]",
        ),
        (np.array(7, np.int16), "ndarray int16, shape (); min 7, max 7, mean 7; corners [7]"),
        (np.array(["ab", "c"]), "ndarray <U2, shape (2,); corners [ab, c]"),
        (object(), "<object object>"),
    ],
)
def test_examples(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_number_of_thousands_of_digits_is_not_written_out() -> None:
    assert shown([10**5000]) == "[<int of 16610 bits>]"


def test_corners_of_many_axes_are_few() -> None:
    assert described(np.zeros((2,) * 10)).endswith("corners [0, 0, 0, 0, 0, 0, 0, 0]")


def test_a_large_container_costs_as_much_as_its_start() -> None:
    """A list that holds itself a million times: written out, it would never end."""
    endless: list[object] = []
    endless.extend([endless] * 1_000_000)
    assert shown(endless).startswith("[[[[[[…, …, ")
    assert len(shown("x" * 10_000_000)) == 400


class Loops:
    def __repr__(self) -> str:
        while True:
            pass


class Raises:
    def __repr__(self) -> str:
        raise SystemExit


class Lies:
    def __repr__(self) -> str:
        return 5  # type: ignore[return-value]


def test_objects_that_cannot_show_themselves() -> None:
    assert shown([1, Loops()]) == "<list, too slow to show>"
    assert shown(Raises()) == "<Raises, showing it raised SystemExit>"
    assert shown(Lies()) == "<Lies, showing it raised TypeError>"
    assert preview(3, time.monotonic()) == "<int, no time left to show it>"


def test_what_counts_as_a_variable() -> None:
    namespace: dict[str, object] = {"np": np, "f": shown, "C": Loops, "_x": 1, "x": 1, "not a name": 2, "len": len}
    namespace["n" * 201] = 1
    assert previews(namespace, {}, time.monotonic() + 60) == {"x": "1"}


def test_the_last_ones_named_are_shown_in_order() -> None:
    namespace = {f"v{i}": i for i in range(50)}
    assert list(previews(namespace, {}, time.monotonic() + 60)) == [f"v{i}" for i in range(10, 50)]


@pytest.mark.parametrize("piece", [1, 1000, 70_000])
def test_output_keeps_its_head_and_its_tail(piece: int) -> None:
    whole = b"".join(b"%07d\n" % i for i in range(20_000))
    output = Output()
    for start in range(0, len(whole), piece):
        output.add(whole[start : start + piece])
    text = output.text()
    head, notice, tail = text.partition("\n[… 94464 bytes left out …]\n")
    assert notice
    assert (head.encode(), tail.encode()) == (whole[:32768], whole[-32768:])


def test_output_that_fits_is_whole() -> None:
    output = Output()
    output.add("é".encode()[:1] + b"")
    output.add("é".encode()[1:] + b"\xff" + b"x" * 65533)
    assert output.text() == "é\ufffd" + "x" * 65533
