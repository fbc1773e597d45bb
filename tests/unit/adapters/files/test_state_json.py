"""Any state of any question, as JSON and back; and every difference between two states that follow one another."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.ports.report_store import assert_same_values
from contracts.ports.sample_question import sample_run
from openvlharness_adapters.files.checkpoint_log import CheckpointLog
from openvlharness_adapters.files.content_files import ContentFolder
from openvlharness_adapters.files.json_places import Place
from openvlharness_adapters.files.report_store import read_report, write_report
from openvlharness_adapters.files.state_delta import StateDelta
from openvlharness_adapters.files.state_json import StateJson
from openvlharness_adapters.files.text_table import TextTable
from openvlharness_core.agent.checkpoint import Checkpoint
from openvlharness_core.agent.state import TurnState
from openvlharness_core.errors import SavedFileError
from openvlharness_core.testing import InMemoryReportStore
from tests.support.failing_disk import Disk
from tests.support.random_runs import RandomRun, random_runs
from tests.support.report_schema import check_report


@pytest.fixture(autouse=True)
def quick_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        Disk(patch)
        yield


@given(random_runs())
@settings(max_examples=40)
def test_every_checkpoint_of_any_question_comes_back_equal(run: RandomRun) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = CheckpointLog(Path(folder))
        for checkpoint in run.history:
            log.save(checkpoint)
            loaded = CheckpointLog(Path(folder)).load()
            assert loaded == checkpoint
            assert_same_values(loaded.state.workspace.bindings.records, checkpoint.state.workspace.bindings.records)


@given(random_runs())
@settings(max_examples=40)
def test_the_report_of_any_question_comes_back_equal_and_fits_its_schema(run: RandomRun) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_report(run.report, Path(folder))
        loaded = read_report(Path(folder))
        assert loaded == run.report
        assert_same_values(loaded.bindings, run.report.bindings)
        check_report(json.loads((Path(folder) / "report.json").read_text(encoding="utf-8")))


@pytest.fixture
async def history() -> list[Checkpoint]:
    store = InMemoryReportStore()
    await sample_run(store=store, checkpoint_to="run")
    return store.history["run"]


@pytest.fixture
def delta(tmp_path: Path) -> StateDelta:
    return StateDelta(StateJson(TextTable(), ContentFolder(tmp_path), "state"))


def test_any_two_states_of_one_question_have_a_difference(history: list[Checkpoint], delta: StateDelta) -> None:
    states = [checkpoint.state for checkpoint in history]
    for old in states[::4]:
        for new in states[::3]:
            change = delta.change(old, new, TurnState)
            if change is None:
                assert old is new
            else:
                assert delta.changed(old, Place("state", "", json.loads(json.dumps(change))), TurnState) == new


def test_a_message_that_is_part_of_a_step_is_written_once(history: list[Checkpoint], delta: StateDelta) -> None:
    change = delta.change(history[2].state, history[4].state, TurnState)
    written = json.dumps([change, delta.json.texts.fresh])
    assert written.count("Surveyed") == 1


def _ways(value: object, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _ways(item, (*way, key))


def test_damaged_state_is_refused_in_words(history: list[Checkpoint], delta: StateDelta) -> None:
    """Whatever stands in a place where it cannot: an error of ours that names the file, or a value that fits after all."""
    change = json.dumps(delta.change(TurnState(), history[5].state, TurnState))
    values = ({}, [], "other", 99, -1.5, True, None, {"=": 1}, {".": {"phase": 1}}, {"+": [9, [], []]})
    refused = 0
    for number, way in enumerate(_ways(json.loads(change))):
        damaged: Any = json.loads(change)
        inner, value = damaged, values[number % len(values)]
        for key in way[:-1]:
            inner = inner[key]
        if way:
            inner[way[-1]] = value
        else:
            damaged = value
        try:
            delta.changed(TurnState(), Place("state", "line 2", damaged), TurnState)
        except SavedFileError as error:
            refused += 1
            assert error.file  # noqa: PT017 - most are refused, and none otherwise
    assert refused > 300


def test_a_field_that_is_no_longer_known_is_refused(history: list[Checkpoint], delta: StateDelta) -> None:
    change: Any = delta.change(TurnState(), history[0].state, TurnState)
    change["."]["mood"] = {"=": "good"}
    with pytest.raises(SavedFileError, match="expected a field of TurnState"):
        delta.changed(TurnState(), Place("state", "", change), TurnState)
    value: Any = delta.json.to_json(history[-1].state.turns[0], type(history[-1].state.turns[0]))
    with pytest.raises(SavedFileError, match="mood"):
        delta.json.from_json(Place("state", "turn", value | {"mood": 1}), type(history[-1].state.turns[0]))


def test_texts_have_numbers_and_begin_as_others_did() -> None:
    base = "".join(f"- line {number} of a long inventory\n" for number in range(40))
    longer = base + "- one line more\n"
    texts = (base, longer, longer[:700] + "CHANGED" + longer[700:] + "\n\n", base, "short", "x" * 300, base[:100])
    table = TextTable()
    numbers = [table.to_json(text) for text in texts]
    entries = json.loads(json.dumps(table.fresh))
    assert numbers == [0, 1, 2, 0, "short", 3, 4]
    assert sum(len(json.dumps(entry)) for entry in entries[1:3]) < 300
    reader = TextTable()
    for number, entry in enumerate(entries):
        reader.learn(Place("file", f"texts[{number}]", entry))
    assert [reader.find(number) if isinstance(number, int) else number for number in numbers] == list(texts)
    assert reader.find(9) is None


_LINES = st.sampled_from(["a" * 40, "b" * 30, "", "c", "é\r", "d" * 70])


@given(st.lists(st.lists(_LINES, max_size=12).map("\n".join), max_size=8))
def test_any_texts_come_back(texts: list[str]) -> None:
    table, reader = TextTable(), TextTable()
    for text in texts:
        written = table.to_json(text)
        for entry in table.fresh:
            reader.learn(Place("file", "texts", json.loads(json.dumps(entry))))
        table.commit()
        assert (reader.find(written) if isinstance(written, int) else written) == text


def test_texts_that_were_not_written_are_forgotten() -> None:
    table = TextTable()
    table.to_json("a" * 100)
    table.commit()
    table.to_json("b" * 100)
    table.rollback()
    assert (table.fresh, table.find(1)) == ([], None)
    assert table.to_json("c" * 100) == 1
    assert table.to_json("a" * 100) == 0
    assert table.fresh == ["c" * 100]


@pytest.mark.parametrize(
    "entry", [7, None, [0], [5, ["x"]], [0, [[0, 9]]], [0, [[-1, 1]]], [0, [[0]]], [0, [3]], [0, "x"]]
)
def test_damaged_texts_are_refused(entry: object) -> None:
    table = TextTable()
    table.to_json("a" * 100)
    with pytest.raises(SavedFileError):
        table.learn(Place("file", "texts[1]", entry))
