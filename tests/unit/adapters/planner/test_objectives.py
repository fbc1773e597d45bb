"""Objectives as sentences, and the programs that are made of them."""

from __future__ import annotations

import ast
from decimal import Decimal

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.models.embedded_code import TemplateCodeGenerator, measuring_program, program_for
from openvlharness_adapters.models.planner.measures import Measure, Objects, find_measure
from openvlharness_adapters.models.planner.objectives import Objective, Source, parse_objective
from openvlharness_core.errors import ToolExecutionError, UnsupportedQueryError
from openvlharness_core.masks import encode_mask
from openvlharness_core.results import Attempt
from tests.unit.adapters.planner.desk import RunsHere

TEXT = "bread 3.20\nwine 12.50\nrent 1,200\n\nbottle -0.25"

_operations = st.sampled_from(["sum", "average", "largest", "smallest", "count"])
_names = st.from_regex(r"ocr_result(_[2-9])?", fullmatch=True)
_positions = st.lists(st.integers(1, 99), min_size=1, max_size=5).map(tuple)
_objectives = st.one_of(
    st.builds(Objective, operation=_operations, values=st.lists(st.sampled_from(["3.5", "-4", "1,234.50", "$7"]), min_size=1).map(tuple)),
    st.builds(Objective, operation=st.just("difference"), values=st.tuples(st.just("7"), st.just("1.234,5"))),
    st.builds(Objective, operation=_operations, sources=st.lists(st.builds(Source, binding=_names), min_size=1, max_size=3).map(tuple)),
    st.builds(Objective, operation=_operations, sources=st.lists(st.builds(Source, binding=_names, lines=_positions), min_size=1, max_size=3).map(tuple)),
    st.builds(Objective, operation=st.just("count"), kind=st.sampled_from(["lines", "words"]), sources=st.lists(st.builds(Source, binding=_names), min_size=1).map(tuple)),
)  # fmt: skip


@given(_objectives)
def test_a_sentence_reads_back_and_its_program_is_python_that_fits_in_the_evidence(objective: Objective) -> None:
    assert parse_objective(objective.sentence) == objective
    program = program_for(objective)
    ast.parse(program)
    assert len(program) < 6000


async def _printed(sentence: str, **texts: str) -> str:
    values = {name: {"text": text} for name, text in texts.items()}
    answered = await TemplateCodeGenerator().write(sentence, {name: {} for name in texts}, timeout_seconds=1.0)
    assert answered.backend == "embedded_code"
    outcome = await RunsHere().run(answered.value, values)
    return outcome.error or outcome.stdout.strip()


@pytest.mark.parametrize(
    ("sentence", "printed"),
    [
        ("Add up the numbers 3.5, 4, 7 and print the sum.", "sum: 14.5"),
        ("Add up the numbers 3.5; 4 and 7 and print the sum", "sum: 14.5"),
        ("Average the numbers 1, 2, 2 and print the average.", "average: 1.6667"),
        ("Find the largest of the numbers 1,234.50, 7.00 and print it.", "largest: 1234.50"),
        ("Find the smallest of the numbers -3, 7 and print it.", "smallest: -3"),
        ("Subtract the second from the first of the numbers $23.40, 20.00 and print the difference.", "difference: 3.40"),
        ('Add up all numbers in a["text"] and print the sum.', "sum: 1215.45"),
        ('Count all numbers in a["text"] and print the count.', "count: 4"),
        ('Count the lines of a["text"] and print the count.', "count: 4"),
        ('Count the words of a["text"] and b["text"] and print the count.', "count: 10"),
        ('Add up the last number on lines 1, 2 of a["text"] and lines 1 of b["text"] and print the sum.', "sum: 20.70"),
        ('Add up all numbers in c["text"] and print the sum.', "unclear: 10:42"),
        ('Add up all numbers in d["text"] and print the sum.', "too few numbers: 0"),
        ('Count all numbers in d["text"] and print the count.', "count: 0"),
        ("Add up the numbers 1,234 and print the sum.", "unclear: 1,234"),
        ('Add up the last number on lines 1 of d["text"] and print the sum.', "ValueError: line 1 holds no number: 'none'"),
    ],
)  # fmt: skip
async def test_programs_compute_what_the_sentence_says(sentence: str, printed: str) -> None:
    assert await _printed(sentence, a=TEXT, b="tea 5.00", c="at 10:42 5", d="none") == printed


@given(st.lists(st.decimals(min_value=-1000, max_value=1000, places=2), min_size=1, max_size=8))
async def test_sums_are_exact(numbers: list[Decimal]) -> None:
    text = "\n".join(f"row {number}" for number in numbers)
    printed = await _printed('Add up all numbers in a["text"] and print the sum.', a=text)
    assert Decimal(printed.removeprefix("sum: ")) == sum(numbers)


async def test_values_come_from_the_binding_and_not_from_the_sentence() -> None:
    program = program_for(parse_objective('Add up all numbers in ocr_result["text"] and print the sum.'))
    assert 'ocr_result["text"]' in program
    assert (await RunsHere().run(program, {"ocr_result": {"text": "a 1\nb 2"}})).stdout == "sum: 3\n"
    assert (await RunsHere().run(program, {"ocr_result": {"text": "a 1\nb 5"}})).stdout == "sum: 6\n"


@pytest.mark.parametrize(
    "sentence",
    [
        "Make a chart.",
        "Add up the numbers and print the sum.",
        "Subtract the second from the first of the numbers 1, 2, 3 and print the difference.",
        'Add up the lines of a["text"] and print the sum.',
        'Add up all numbers in a["lines"] and print the sum.',
        "Add up the numbers 3.5, 4 and print the sum. Then print the moon.",
        "",
    ],
)
async def test_anything_else_is_refused_with_what_would_be_understood(sentence: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="expected one of: add up, average"):
        await TemplateCodeGenerator().write(sentence, {"a": {}}, timeout_seconds=1.0)


async def test_a_binding_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UnsupportedQueryError, match=r"expected bindings that exist \(a, b\), got 'c'"):
        await TemplateCodeGenerator().write(
            'Count the words of c["text"] and print the count.', {"b": {}, "a": {}}, timeout_seconds=1.0
        )


async def test_a_program_that_failed_is_not_written_again() -> None:
    attempt = Attempt(program="print(", error="SyntaxError: never closed")
    with pytest.raises(ToolExecutionError, match="never closed"):
        await TemplateCodeGenerator().write(
            "Add up the numbers 1, 2 and print the sum.", {}, [attempt], timeout_seconds=1.0
        )


# --- measures ------------------------------------------------------------------------------------------------------

_objects = st.builds(
    Objects,
    binding=st.from_regex(r"segment_[a-z]{1,5}(_[2-9])?", fullmatch=True),
    rows=st.lists(st.integers(1, 99), min_size=1, max_size=4).map(tuple),
    outline=st.sampled_from(["masks", "boxes"]),
)
_several = st.lists(_objects, min_size=1, max_size=3).map(tuple)
_one = _objects.map(lambda each: attrs.evolve(each, rows=each.rows[:1]))
_measures = st.one_of(
    st.builds(Measure, what=st.just("areas"), objects=_several),
    st.builds(Measure, what=st.sampled_from(["distances", "gaps"]), objects=_several, start=_one),
    st.builds(Measure, what=st.just("depths"), objects=_several, depth=st.just("depth_result")),
)


@given(_measures)
def test_a_measure_reads_back_and_its_program_is_python(measure: Measure) -> None:
    assert find_measure(measure.sentence) == measure
    ast.parse(measuring_program(measure))
    assert len(measuring_program(measure)) < 6000


SQUARES = {
    "pred_boxes": np.array([[0, 0, 4, 4], [6, 0, 10, 2]], np.float32),
    "pred_masks": [encode_mask(np.arange(12)[:, None] * 12 + np.arange(12) == cell) for cell in (13, 7)],
    "orig_img_h": 12,
    "orig_img_w": 12,
}
DEPTHS = {"depth_meters": np.arange(144, dtype=np.float32).reshape(12, 12)}


@pytest.mark.parametrize(
    ("sentence", "printed"),
    [
        ("Measure the areas of boxes 1, 2 of a and print the areas.", "areas: 16 8"),
        ("Measure the areas of masks 1 of a and boxes 2 of a and print the areas", "areas: 1 8"),
        ("Measure the distances from boxes 1 of a to boxes 2 of a and print the distances.", "distances: 6.08276253"),
        ("Measure the gaps from boxes 1 of a to boxes 2 of a and print the gaps.", "gaps: 2"),
        ("Measure the gaps from boxes 1 of a to boxes 1 of a and print the gaps.", "gaps: 0"),
        ("Measure the depths in d of masks 1, 2 of a and print the depths.", "depths: 13 7"),
        ("Measure the depths in d of boxes 1 of a and print the depths.", "depths: 19.5"),
    ],
)
async def test_measures_are_those_of_the_bindings(sentence: str, printed: str) -> None:
    answered = await TemplateCodeGenerator().write(sentence, {"a": {}, "d": {}}, timeout_seconds=1.0)
    outcome = await RunsHere().run(answered.value, {"a": SQUARES, "d": DEPTHS})
    assert (outcome.error or outcome.stdout.strip()) == printed


@pytest.mark.parametrize(
    "sentence",
    [
        "Measure the areas of boxes 0 of a and print the areas.",
        "Measure the areas of boxes 1 of a and print the gaps.",
        "Measure the distances of boxes 1 of a and print the distances.",
        "Measure the distances from boxes 1, 2 of a to boxes 3 of a and print the distances.",
        "Measure the areas in d of boxes 1 of a and print the areas.",
        "Measure the areas of circles 1 of a and print the areas.",
    ],
)
def test_no_other_sentence_is_a_measure(sentence: str) -> None:
    assert find_measure(sentence) is None
