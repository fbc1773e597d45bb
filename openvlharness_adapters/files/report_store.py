"""The report store of the app: a directory a question."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from pathlib import Path

import attrs

from openvlharness_adapters.files.checkpoint_log import CheckpointLog
from openvlharness_adapters.files.durable import reading
from openvlharness_adapters.files.replacing import find_bytes, replace_files
from openvlharness_adapters.files.report_files import REPORT, files_of_report, report_to_files
from openvlharness_adapters.files.report_reading import ReportReader
from openvlharness_core.agent.checkpoint import Checkpoint
from openvlharness_core.agent.report import Report
from openvlharness_core.errors import MalformedResultError, SavedFileError
from openvlharness_core.ports.offload import Offload

_LOGS = 1024  # questions in progress whose last saved state is kept; a question beyond writes its log anew
_CHANGES = 100  # reports that may replace one another while one is read


@attrs.define(eq=False)
class DirectoryReportStore:
    """The `ReportStore` of the app; a location is a directory, or for reading the `report.json` in it.

    A report is `report.json` with `images/`, `envelopes/`, `bindings.json` and `arrays.npz` beside it; checkpoints are
    `checkpoint.jsonl` with their pictures and arrays in `checkpoint/`. Other files of the directory are left alone.

    Attributes:
        offload: where files are read and written.
    """

    offload: Offload
    _logs: OrderedDict[str, CheckpointLog] = attrs.field(factory=OrderedDict, init=False, repr=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    async def save_report(self, report: Report, location: str) -> None:
        """See `ReportStore`."""
        await self.offload.run(lambda: write_report(report, Path(location)))

    async def load_report(self, location: str) -> Report:
        """See `ReportStore`."""
        return await self.offload.run(lambda: read_report(Path(location)))

    async def save_checkpoint(self, checkpoint: Checkpoint, location: str) -> None:
        """See `ReportStore`."""
        log = self._log(location)
        await self.offload.run(lambda: log.save(checkpoint))
        if checkpoint.finished:
            self._forget(location)

    async def load_checkpoint(self, location: str) -> Checkpoint:
        """See `ReportStore`. Saving to the same location then goes on where the log ends."""
        log = self._log(location)
        try:
            checkpoint = await self.offload.run(log.load)
        except SavedFileError:
            self._forget(location)
            raise
        if checkpoint.finished:
            self._forget(location)
        return checkpoint

    def _log(self, location: str) -> CheckpointLog:
        key = os.path.abspath(location)
        with self._lock:
            log = self._logs.pop(key, None) or CheckpointLog(Path(location))
            self._logs[key] = log
            while len(self._logs) > _LOGS:
                self._logs.popitem(last=False)
            return log

    def _forget(self, location: str) -> None:
        with self._lock:
            self._logs.pop(os.path.abspath(location), None)


def write_report(
    report: Report, directory: Path, *, beside: Mapping[str, bytes] | None = None, without: Collection[str] = ()
) -> None:
    """Save a report, all or nothing.

    Args:
        report: what to save.
        directory: where.
        beside: further files that belong to it, by name.
        without: names that an earlier report may have left and that must go unless they are in `beside`.

    Raises:
        SavedFileError: it cannot be written, naming the file; what was there stays.
    """
    try:
        files = {**report_to_files(report), **(beside or {})}
    except MalformedResultError as error:
        raise SavedFileError(str(directory / REPORT), str(error)) from None
    with reading(directory / REPORT):
        before = find_bytes(directory, REPORT)
    replace_files(directory, files, (files_of_report(before or b"") | set(without)) - files.keys())


def read_report(location: Path) -> Report:
    """Read a report from its directory or from its `report.json`.

    While it is read, another one may take its place. Then what was read so far says nothing, and reading starts again.

    Raises:
        SavedFileError: none there, or not one of ours, naming file and place.
    """
    is_file = location.is_file() or (location.name == REPORT and not location.is_dir())
    directory, name = (location.parent, location.name) if is_file else (location, REPORT)
    reader = ReportReader(directory=directory, find=lambda plain: find_bytes(directory, plain))
    data = _report_bytes(directory, name)
    for _ in range(_CHANGES):
        try:
            report, fault = reader.read(str(directory / name), data), None
        except SavedFileError as error:
            report, fault = None, error
        again = _report_bytes(directory, name)
        if again == data:
            if fault is not None:
                raise fault
            assert report is not None
            return report
        data = again
    raise SavedFileError(str(directory / name), f"was replaced {_CHANGES} times while it was read")


def _report_bytes(directory: Path, name: str) -> bytes:
    with reading(directory / name):
        data = find_bytes(directory, name)
    if data is None:
        raise SavedFileError(str(directory / name), "expected a report, found none")
    return data
