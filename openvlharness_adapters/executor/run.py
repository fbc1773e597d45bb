"""One run as the caller sees it: start the init, wait for its report, read what the worker left, leave nothing behind.

The init keeps the deadline; this side keeps a later one, for the case that a program stops or kills its init.
"""

from __future__ import annotations

import json
import logging
import math
import os
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress

import attrs

from openvlharness_adapters.executor import values, wire, workdir
from openvlharness_adapters.executor.launching import Launch, nameless, not_prepared
from openvlharness_adapters.executor.starting import Starting
from openvlharness_core.errors import BackendUnavailableError
from openvlharness_core.results import Outcome
from openvlharness_core.texts import clean_text

_OVERDUE_SECONDS = 0.3
_MAX_REPORT_BYTES = 2 * 1024 * 1024  # two texts of 64 KiB, six bytes a character at worst
_REMOVAL_SECONDS = 0.1
_READ_BYTES = 64 * 1024

_log = logging.getLogger(__name__)


@attrs.define(kw_only=True, eq=False)
class Run:
    """One run; only `stop` may be called from another thread than `execute`."""

    program: str
    values: Mapping[str, object]
    started: float
    seconds: float
    limits: wire.Limits
    starting: Starting
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _pipe: tuple[int, int] | None = attrs.field(factory=os.pipe, init=False)

    @property
    def backend(self) -> str:
        """The executor's name."""
        return self.starting.backend

    @property
    def deadline(self) -> float:
        """When the run must be over, on the monotonic clock."""
        return self.started + self.seconds

    def stop(self) -> None:
        """End the run early; the init and the waiting thread both see it."""
        with self._lock:
            if self._pipe is not None:
                os.write(self._pipe[1], b"x")

    def close(self) -> None:
        """Let go of what `stop` needs; `execute` does this itself."""
        with self._lock:
            for descriptor in self._pipe or ():
                os.close(descriptor)
            self._pipe = None

    def execute(self) -> Outcome:
        """Start, wait, read and clean up; blocks until all of that is done.

        Raises:
            BackendUnavailableError: no process could be started.
            ValueError, TypeError: values that no program can be given.
        """
        try:
            with ExitStack() as stack:
                return self._execute(stack)
        except OSError as fault:
            raise BackendUnavailableError(self.backend, f"no process: {fault}") from fault
        finally:
            self.close()

    def _execute(self, stack: ExitStack) -> Outcome:
        structure, arrays = values.pack(self.values)
        directory = tempfile.mkdtemp(prefix="openvlharness-run-")
        removal = _Removal(directory)
        stack.callback(removal.remove)
        given, found = (nameless(stack, purpose) for purpose in ("values", "findings"))
        level = self.starting.level(self.deadline)
        job = wire.Job(
            clean_text(self.program), structure, directory, self.deadline, self.limits, level, self.starting.sandboxed
        )
        wire.write_job(given, job, arrays)
        os.ftruncate(found.fileno(), wire.FINDINGS_BYTES)
        _seal(given.fileno(), written=True)
        _seal(found.fileno(), written=False)
        assert self._pipe is not None, "a run is executed once"
        launch = Launch(
            backend=self.backend,
            directory=directory,
            deadline=self.deadline,
            given=given.fileno(),
            found=found.fileno(),
            stopped=self._pipe[0],
        )
        running = self.starting.start(launch, level, stack)
        report = None
        try:
            report = self._report(running.channel)
        finally:
            removal.shared = running.end(reported=report is not None and report.clean)
        findings, damage = _findings(found.fileno())
        if not findings.started:
            if report is None and time.monotonic() < self.deadline:
                raise not_prepared(self.backend, running.notes())
            if report is not None and report.ended == "exit":
                raise not_prepared(self.backend, report.stderr)
        return self._outcome(report or _Report(ended="nothing"), findings, damage, running.level)

    def _report(self, reader: int) -> _Report | None:
        """What the init says at its end; `None` when it says nothing, or not in time."""
        assert self._pipe is not None
        stopped = self._pipe[0]
        poll = select.poll()
        poll.register(reader, select.POLLIN)
        poll.register(stopped, select.POLLIN)
        until = self.deadline + _OVERDUE_SECONDS
        data = b""
        while len(data) <= _MAX_REPORT_BYTES and (left := until - time.monotonic()) > 0:
            for descriptor, _ in poll.poll(math.ceil(left * 1000)):
                if descriptor == stopped:
                    poll.unregister(stopped)
                    until = min(until, time.monotonic() + _OVERDUE_SECONDS)
                elif piece := os.read(reader, _READ_BYTES):
                    data += piece
                else:
                    return _Report.read(data)
        return None

    def _outcome(self, report: _Report, findings: wire.Findings, damage: str | None, level: wire.KillLevel) -> Outcome:
        done = report.ended == "exit" and findings.done and damage is None
        timed_out = report.ended == "deadline" or (report.ended == "nothing" and time.monotonic() >= self.deadline)
        return Outcome(
            stdout=report.stdout,
            stderr=report.stderr,
            variables=findings.variables if done else {},
            images=findings.images if done else (),
            error=findings.error if done else self._why(report, timed_out, damage),
            timed_out=timed_out,
            seconds=time.monotonic() - self.started,
            kill_level=level,
        )

    def _why(self, report: _Report, timed_out: bool, damage: str | None) -> str:
        if timed_out:
            return f"The program did not end within {self.seconds:g} seconds and was stopped."
        match report.ended:
            case "processes":
                return f"The program had more than {self.limits.processes} processes and threads and was stopped."
            case "stopped":
                return "The program was stopped from outside."
            case "exit" if damage is not None:
                return f"The program damaged the record of its results: {damage}."
            case "exit":
                return f"The program ended its process before its own end, {_status(report.status)}."
        return "The program ended the process that watches it."


@attrs.define
class _Removal:
    """Removes the working directory at the end; what takes long is left to the init, where that waits for its turn.

    A disk can need milliseconds for a folder, and a program can make thousands.
    """

    directory: str
    shared: bool = False

    def remove(self) -> None:
        """Remove it, or as much as there is time for."""
        until = time.monotonic() + _REMOVAL_SECONDS if self.shared else math.inf
        if not workdir.remove_tree(self.directory, until) and not self.shared:
            _log.warning("%s could not be removed", self.directory)


@attrs.frozen(kw_only=True)
class _Report:
    """How a run ended, as its init tells it."""

    ended: str
    status: int | None = None
    clean: bool = False
    stdout: str = ""
    stderr: str = ""

    @classmethod
    def read(cls, data: bytes) -> _Report | None:
        """`None` for anything that no init writes: it was ended before it could."""
        try:
            fields = json.loads(data)
        except ValueError:
            return None
        match fields:
            case {
                "ended": str(ended),
                "status": int() | None as status,
                "clean": bool(clean),
                "stdout": str(out),
                "stderr": str(err),
            }:
                out, err = clean_text(out), clean_text(err)
                return cls(ended=ended, status=status, clean=clean, stdout=out, stderr=err)
        return None


def _findings(descriptor: int) -> tuple[wire.Findings, str | None]:
    try:
        return wire.read_findings(descriptor), None
    except wire.DamagedFindingsError as fault:
        return wire.Findings(started=True), str(fault)


def _status(status: int | None) -> str:
    if status is None:
        return "nobody saw how"
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"with exit status {code}"
    with suppress(ValueError):
        return f"by signal {-code} ({signal.Signals(-code).name})"
    return f"by signal {-code}"


def _seal(descriptor: int, *, written: bool) -> None:
    """Fix the size of a file in memory, and its bytes once they are all `written`, for whoever else holds it open."""
    if sys.platform == "linux":
        import fcntl

        seals = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | (fcntl.F_SEAL_WRITE if written else 0) | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
