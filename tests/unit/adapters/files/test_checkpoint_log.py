"""The log of checkpoints: what a save costs, what half a line is worth, and what a disk that fails leaves behind."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import attrs
import pytest

from contracts.ports.sample_question import (
    CODING,
    OCR,
    SURVEY,
    ZOOM,
    sample_agent,
    sample_policy,
    sample_question,
    sample_run,
)
from openvlharness_adapters.files.checkpoint_log import CONTENT, LOG, CheckpointLog
from openvlharness_adapters.files.report_store import DirectoryReportStore
from openvlharness_core.agent.checkpoint import Checkpoint
from openvlharness_core.errors import SavedFileError
from openvlharness_core.messages import ModelReply
from openvlharness_core.testing import InlineOffload, InMemoryReportStore, calling, saying
from tests.support.failing_disk import Disk


@pytest.fixture(autouse=True)
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture(scope="module")
def history() -> list[Checkpoint]:
    store = InMemoryReportStore()
    asyncio.run(sample_run(store=store, checkpoint_to="run"))
    return store.history["run"]


async def _long_history(turns: int) -> list[Checkpoint]:
    """A question of so many crops, each another one, with text, arrays and pages every so often."""
    replies: list[ModelReply] = []
    for number in range(turns):
        match number % 8:
            case 3:
                replies.append(calling(OCR, {"image_id": f"tool_generated_image_{number // 8 + 1}"}))
            case 7:
                replies.append(calling(CODING, {"objective": f"Count {number}."}))
            case 5:
                replies.append(calling(SURVEY, {"image_id": f"tool_generated_image_{number // 8 + 1}"}))
            case _:
                replies.append(calling(ZOOM, {"image_id": "input_image_1", "coords": [0, 0, 1 + number, 1000]}))
    store = InMemoryReportStore()
    agent = sample_agent(
        [*replies, saying("<answer>x</answer>")], policy=sample_policy(max_iterations=turns + 2), store=store
    )
    await agent.answer(sample_question(), checkpoint_to="run")
    return store.history["run"]


async def test_a_save_writes_what_is_new_however_long_the_history(tmp_path: Path, disk: Disk) -> None:
    """Line by line, the last quarter of a hundred turns costs what the first quarter cost."""
    history = await _long_history(96)
    log = CheckpointLog(tmp_path)
    sizes = []
    for checkpoint in history:
        before = disk.written
        log.save(checkpoint)
        sizes.append(disk.written - before)
    body = sizes[1:-1]
    quarter = len(body) // 4
    assert sum(body[-quarter:]) < 1.15 * sum(body[:quarter])
    assert max(body[-quarter:]) < 1.25 * max(body[:quarter])
    whole = CheckpointLog(tmp_path / "whole")
    before = disk.written
    whole.save(history[-2])
    assert disk.written - before > 20 * max(body), "the state itself is far larger than what a save writes"
    assert CheckpointLog(tmp_path).load() == history[-1]


def test_each_picture_and_array_is_written_once(
    tmp_path: Path, history: list[Checkpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    replace = os.replace

    def counting(source: Path, target: Path) -> None:
        made.append(Path(target).name)
        replace(source, target)

    monkeypatch.setattr(os, "replace", counting)
    log = CheckpointLog(tmp_path)
    for checkpoint in history:
        log.save(checkpoint)
    other = CheckpointLog(tmp_path)
    other.load()
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / CONTENT).iterdir()}
    again = CheckpointLog(tmp_path)  # another question about the same pictures
    again.save(
        attrs.evolve(history[-1], state=attrs.evolve(history[-1].state, intake=attrs.evolve(history[-1].state.intake)))
    )
    assert sorted(made) == sorted([LOG, LOG, *kept])
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / CONTENT).iterdir()} == kept


def test_lines_are_json_with_a_checksum(tmp_path: Path, history: list[Checkpoint]) -> None:
    log = CheckpointLog(tmp_path)
    for checkpoint in history:
        log.save(checkpoint)
    lines = (tmp_path / LOG).read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(history) + 1
    assert json.loads(lines[0])["schema"] == "openvlharness.checkpoint/1"
    assert all(set(json.loads(line)) == {"check", "seconds", "texts", "state"} for line in lines[1:])


def test_a_tail_cut_anywhere_is_no_part_of_the_log(tmp_path: Path, history: list[Checkpoint]) -> None:
    """And the next save, here by another process, cuts it off and goes on."""
    log = CheckpointLog(tmp_path)
    ends = []
    for checkpoint in history[:6]:
        log.save(checkpoint)
        ends.append((tmp_path / LOG).stat().st_size)
    data = (tmp_path / LOG).read_bytes()
    for length in {*range(ends[3], ends[4], 97), ends[4] - 2, ends[4] - 1}:
        (tmp_path / LOG).write_bytes(data[:length])
        other = CheckpointLog(tmp_path)
        loaded = other.load()
        assert loaded == history[3]
        other.save(Checkpoint(state=attrs.evolve(loaded.state, seconds=4.5), seconds=9.0))
        assert CheckpointLog(tmp_path).load().state == attrs.evolve(history[3].state, seconds=4.5)


@pytest.mark.parametrize("tail", [b"\x00" * 50, b"\x00" * 50 + b"\n", b'{"check":"0000000000000000"}\n', b"\n", b"{"])
def test_a_tail_of_anything_is_no_part_of_the_log(tmp_path: Path, history: list[Checkpoint], tail: bytes) -> None:
    log = CheckpointLog(tmp_path)
    for checkpoint in history[:4]:
        log.save(checkpoint)
    with (tmp_path / LOG).open("ab") as file:
        file.write(tail)
    assert CheckpointLog(tmp_path).load() == history[3]


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path, history: list[Checkpoint]) -> None:
    log = CheckpointLog(tmp_path)
    for checkpoint in history[:6]:
        log.save(checkpoint)
    data = (tmp_path / LOG).read_bytes()
    lines = data.splitlines(keepends=True)
    flipped = bytearray(data)
    flipped[len(lines[0]) + len(lines[1]) + 60] ^= 1
    for damaged in (
        bytes(flipped),
        b"".join([*lines[:2], *lines[3:]]),
        b"".join([*lines[:2], lines[3], lines[2], *lines[4:]]),
    ):
        (tmp_path / LOG).write_bytes(damaged)
        with pytest.raises(SavedFileError, match="line 3: expected a line with its checksum") as caught:
            CheckpointLog(tmp_path).load()
        assert caught.value.file == str(tmp_path / LOG)


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b'{"a": 1}\n{"b": 2}\n', b"\x89PNG\r\n\x1a\n" * 20])
def test_what_is_no_log_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / LOG).write_bytes(data)
    with pytest.raises(SavedFileError) as caught:
        CheckpointLog(tmp_path).load()
    assert caught.value.file == str(tmp_path / LOG)


def test_a_log_without_its_pictures_is_refused(tmp_path: Path, history: list[Checkpoint]) -> None:
    log = CheckpointLog(tmp_path)
    log.save(history[0])
    picture = next((tmp_path / CONTENT).iterdir())
    data = picture.read_bytes()
    picture.write_bytes(data[:-1])
    with pytest.raises(SavedFileError, match="expected the bytes that the name says") as caught:
        CheckpointLog(tmp_path).load()
    assert caught.value.file == str(picture)
    picture.unlink()
    with pytest.raises(SavedFileError, match="cannot be read: No such file") as caught:
        CheckpointLog(tmp_path).load()
    assert caught.value.file == str(picture)


def test_a_full_disk_costs_no_checkpoint(tmp_path: Path, history: list[Checkpoint], disk: Disk) -> None:
    """Whichever operation of a save fails: the one before is the newest, and the next save works."""
    failures = 0
    for number in (0, 2, 4, 7):
        for stop in range(1, 40):
            run = tmp_path / f"{number}-{stop}"
            log = CheckpointLog(run)
            disk.fail_at(0)
            for checkpoint in history[:number]:
                log.save(checkpoint)
            disk.fail_at(stop)
            try:
                log.save(history[number])
            except SavedFileError as error:
                failures += 1
                assert str(tmp_path) in error.file  # noqa: PT017 - at some operations it does not fail
            else:
                break
            disk.fail_at(0)
            if number:
                assert CheckpointLog(run).load() == history[number - 1]
            log.save(history[number])
            log.save(history[number + 1])
            assert CheckpointLog(run).load() == history[number + 1]
        else:
            pytest.fail("more operations than expected")
    assert failures > 20


async def test_a_log_that_was_taken_away_begins_anew(tmp_path: Path, history: list[Checkpoint]) -> None:
    store = DirectoryReportStore(InlineOffload())
    await store.save_checkpoint(history[0], str(tmp_path))
    await store.save_checkpoint(history[1], str(tmp_path))
    for damage in ((tmp_path / LOG).unlink, lambda: (tmp_path / LOG).write_bytes(b"")):
        damage()
        await store.save_checkpoint(history[2], str(tmp_path))
        assert await DirectoryReportStore(InlineOffload()).load_checkpoint(str(tmp_path)) == history[2]


async def test_pictures_of_an_earlier_question_go_and_files_of_others_stay(
    tmp_path: Path, history: list[Checkpoint]
) -> None:
    store = DirectoryReportStore(InlineOffload())
    for checkpoint in history:
        await store.save_checkpoint(checkpoint, str(tmp_path))
    (tmp_path / CONTENT / "notes.txt").write_text("mine")
    fewer = InMemoryReportStore()
    await sample_agent([saying("<answer>1</answer>")], store=fewer).answer(sample_question(), checkpoint_to="run")
    await store.save_checkpoint(fewer.history["run"][0], str(tmp_path))
    assert len(list((tmp_path / CONTENT).iterdir())) == 3  # two pictures and the notes
    assert await store.load_checkpoint(str(tmp_path)) == fewer.history["run"][0]


async def test_a_store_holds_no_question_that_has_ended(tmp_path: Path, history: list[Checkpoint]) -> None:
    store = DirectoryReportStore(InlineOffload())
    for checkpoint in history:
        await store.save_checkpoint(checkpoint, str(tmp_path))
    assert not store._logs
    await store.load_checkpoint(str(tmp_path))
    assert not store._logs
