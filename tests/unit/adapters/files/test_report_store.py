"""Reports as directories: what lies where, what a disk that fails leaves behind, and who may be in the directory too."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import attrs
import numpy as np
import pytest

from contracts.ports.report_store import assert_same_values
from contracts.ports.sample_question import sample_run
from openvlharness_adapters.files.replacing import COMMITTED, STAGED
from openvlharness_adapters.files.report_store import DirectoryReportStore, read_report, write_report
from openvlharness_core.agent.report import Report
from openvlharness_core.errors import SavedFileError
from openvlharness_core.memory.images import ImageRecord
from openvlharness_core.pictures import EncodedImage, digest_of
from openvlharness_core.testing import InlineOffload, fake_image
from tests.support.failing_disk import Disk
from tests.support.report_schema import check_report


@pytest.fixture(scope="module")
def report() -> Report:
    return asyncio.run(sample_run())


@pytest.fixture(scope="module")
def other(report: Report) -> Report:
    """Another report that shares some of the files, has others under the same names, and lacks the rest."""
    changed = attrs.evolve(report.images[0], picture=_picture(report.images[0], b"FAKE 40 60 changed"))
    return attrs.evolve(
        report,
        answer="another",
        images=(changed, *report.images[1:4]),
        steps=report.steps[:2],
        bindings=report.bindings[1:],
    )


def _picture(record: ImageRecord, data: bytes) -> object:
    assert record.picture is not None
    image = attrs.evolve(record.picture.full, data=data)
    return attrs.evolve(record.picture, full=image, sent=image, digest=digest_of(data))


def _files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def _json(path: Path) -> object:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_directory_holds_the_report_and_what_it_names(report: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path / "run")
    record = _json(tmp_path / "run" / "report.json")
    assert record == report.to_dict()
    assert isinstance(record, dict)
    check_report(record)
    pictures = {image["file"] for image in record["images"].values()}
    envelopes = {step["private"]["envelope_ref"] for step in record["steps"] if step["kind"] == "tool"} - {None}
    assert envelopes
    assert _files(tmp_path / "run") == {"report.json", "bindings.json", "arrays.npz"} | pictures | envelopes
    for image in report.images:
        assert image.picture is not None
        assert (tmp_path / "run" / f"images/{image.handle}.png").read_bytes() == image.picture.full.data


def test_arrays_are_no_pickles(report: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path)
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    survey = next(binding for binding in report.bindings if binding.name == "survey")
    bindings = _json(tmp_path / "bindings.json")
    assert isinstance(bindings, dict)
    reference = bindings["survey"]["fields"]["values"]["array"]
    np.testing.assert_array_equal(found[reference], survey.fields["values"])
    assert found[reference].dtype == np.float32


def test_a_report_without_bindings_has_no_files_for_them(report: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path)
    write_report(attrs.evolve(report, bindings=()), tmp_path)
    assert not {"bindings.json", "arrays.npz"} & _files(tmp_path)
    assert read_report(tmp_path).bindings == ()


def test_the_smaller_copy_that_was_sent_is_kept_beside_the_full_one(report: Report, tmp_path: Path) -> None:
    first = report.images[0]
    assert first.picture is not None
    sent = EncodedImage(data=fake_image(20, 30), media_type="image/png", size_hw=(20, 30))
    shrunk = attrs.evolve(first, picture=attrs.evolve(first.picture, sent=sent, notes=("first of 3 frames",)))
    changed = attrs.evolve(report, images=(shrunk, *report.images[1:]))
    write_report(changed, tmp_path)
    assert (tmp_path / "images/input_image_1.sent.png").read_bytes() == sent.data
    loaded = read_report(tmp_path)
    assert loaded == changed
    check_report(changed.to_dict())
    write_report(report, tmp_path)
    assert not (tmp_path / "images/input_image_1.sent.png").exists()


def test_a_report_is_read_from_its_file_too(report: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path)
    assert read_report(tmp_path / "report.json") == report


def test_what_somebody_else_put_there_stays(report: Report, other: Report, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    theirs = {"notes.txt": b"mine", "images/holiday.jpg": b"\xff\xd8", "images/input_image_9.png": b"mine too"}
    for name, data in theirs.items():
        (tmp_path / name).write_bytes(data)
    for each in (report, other, report):
        write_report(each, tmp_path)
        assert {name: (tmp_path / name).read_bytes() for name in theirs} == theirs


def test_files_of_the_report_before_go_with_it(report: Report, other: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path / "a")
    write_report(other, tmp_path / "a")
    write_report(other, tmp_path / "b")
    assert _files(tmp_path / "a") == _files(tmp_path / "b")


def test_a_report_of_somebody_else_cannot_name_files_to_be_removed(report: Report, tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    run = tmp_path / "run"
    run.mkdir()
    forged = report.to_dict()
    forged["images"]["input_image_1"]["file"] = "../precious.txt"
    forged["steps"] = [{"private": {"envelope_ref": "images/../../precious.txt"}}]
    (run / "report.json").write_text(json.dumps(forged))
    write_report(report, run)
    assert (tmp_path / "precious.txt").read_text() == "mine"


# --- disks that fail -------------------------------------------------------------------------------------------------


def _problem(report: Report, directory: Path) -> str | None:
    try:
        write_report(report, directory)
    except SavedFileError as error:
        return str(error)
    return None


def _operations(disk: Disk, report: Report, directory: Path) -> int:
    disk.fail_at(0)
    write_report(report, directory)
    return disk.count


def test_a_full_disk_leaves_the_old_report(
    report: Report, other: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whichever operation it fails: a reader sees the old report or the new one, and what is said is where it failed."""
    disk = Disk(monkeypatch)
    write_report(report, tmp_path / "count")
    total = _operations(disk, other, tmp_path / "count")
    assert total > 20
    seen = set()
    for stop in range(1, total + 1):
        run = tmp_path / f"run-{stop}"
        disk.fail_at(0)
        write_report(report, run)
        before = _files(run)
        disk.fail_at(stop)
        problem = _problem(other, run)
        disk.fail_at(0)
        assert problem is None or (str(run) in problem and "No space left" in problem)
        loaded = read_report(run)
        assert loaded in (report, other)
        seen.add((problem is not None, loaded == report))
        assert not (run / STAGED).exists()
        if loaded == report:
            assert _files(run) == before
        if stop % 5 == 0:
            write_report(other, run)
            assert read_report(run) == other
            assert not (run / COMMITTED).exists()
    assert (True, True) in seen


def test_a_full_disk_leaves_nothing_where_nothing_was(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    disk.fail_at(9)
    with pytest.raises(SavedFileError, match="No space left"):
        write_report(report, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_process_that_died_on_the_way_is_made_good(
    report: Report, other: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is cleaned up here, as if the process had been killed before operation `stop`."""
    disk = Disk(monkeypatch)
    write_report(report, tmp_path / "count")
    whole = _files(tmp_path / "count")
    total = _operations(disk, other, tmp_path / "count")
    seen = []
    for stop in range(1, total + 1):
        run = tmp_path / f"run-{stop}"
        disk.fail_at(0)
        write_report(report, run)
        child = os.fork()
        if child == 0:
            disk.fail_at(stop, lambda *_: os._exit(7))
            write_report(other, run)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        loaded = read_report(run)
        assert loaded in (report, other)
        seen.append(loaded == report)
        assert_same_values(loaded.bindings, (report if seen[-1] else other).bindings)
        if stop % 5 == 0:
            write_report(report, run)
            assert read_report(run) == report
            assert _files(run) == whole
    assert seen == sorted(seen, reverse=True), "the old one up to some operation, the new one from it on"
    assert set(seen) == {True, False}


def test_a_reader_sees_one_report_or_the_other(
    report: Report, other: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Disk(monkeypatch)  # spares the waiting for a real one
    write_report(report, tmp_path)
    child = os.fork()
    if child == 0:
        for _ in range(15):
            write_report(other, tmp_path)
            write_report(report, tmp_path)
        os._exit(0)
    reads = 0
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert read_report(tmp_path) in (report, other)
        reads += 1
    assert reads
    assert read_report(tmp_path) == report


@pytest.mark.unprivileged
def test_a_directory_that_may_not_be_written(report: Report, other: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path / "run")
    (tmp_path / "run").chmod(0o500)
    try:
        with pytest.raises(SavedFileError, match="run"):
            write_report(other, tmp_path / "run")
        assert read_report(tmp_path / "run") == report
    finally:
        (tmp_path / "run").chmod(0o700)


async def test_a_file_in_the_way(report: Report, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    store = DirectoryReportStore(InlineOffload())
    with pytest.raises(SavedFileError, match="run"):
        await store.save_report(report, str(tmp_path / "run"))
    (tmp_path / "dir" / "report.json").mkdir(parents=True)
    with pytest.raises(SavedFileError, match=r"report\.json"):
        await store.save_report(report, str(tmp_path / "dir"))
    assert _files(tmp_path) == {"run"}
