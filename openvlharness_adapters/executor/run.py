"""One run as the caller sees it: start the init, wait for its report, read what the worker left, leave nothing behind.

The init keeps the deadline; this side keeps a later one, for the case that a program stops or kills its init.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
import math
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import BinaryIO

import attrs

from openvlharness_adapters.executor import processes, values, wire, workdir
from openvlharness_core.errors import BackendUnavailableError
from openvlharness_core.results import Outcome
from openvlharness_core.texts import clean_text, excerpt

BACKEND = "python_executor_local"

_START = "import sys; sys.path += sys.argv[3:]; from openvlharness_adapters.executor.init import main; main()"
_IMPORTABLE = ("openvlharness_adapters", "openvlharness_core", "attr", "attrs", "numpy", "PIL")
_OVERDUE_SECONDS = 0.3
_END_SECONDS = 0.15
_MAX_REPORT_BYTES = 2 * 1024 * 1024  # two texts of 64 KiB, six bytes a character at worst
_READ_BYTES = 64 * 1024

_log = logging.getLogger(__name__)


@functools.cache
def _importable() -> tuple[str, ...]:
    """The folders that hold the packages a program may import beside the standard library."""
    folders: dict[str, None] = {}
    for name in _IMPORTABLE:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            folders[os.path.dirname(os.path.abspath(next(iter(spec.submodule_search_locations))))] = None
    return tuple(folders)


def _environment(directory: str, mark: str) -> dict[str, str]:
    """All that a program sees of an environment; `mark` is how what it starts is found again."""
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": directory,
        "TMPDIR": directory,
        "OPENVLHARNESS_RUN": mark,
        **dict.fromkeys(threads, "1"),
    }


def _nameless(stack: ExitStack, purpose: str) -> BinaryIO:
    """A file in memory where there is such a thing, else one that is deleted already."""
    if sys.platform == "linux":
        return stack.enter_context(open(os.memfd_create(f"openvlharness-{purpose}"), "w+b"))
    return stack.enter_context(tempfile.TemporaryFile())


@attrs.define(kw_only=True, eq=False)
class Run:
    """One run; only `stop` may be called from another thread than `execute`."""

    program: str
    values: Mapping[str, object]
    started: float
    seconds: float
    limits: wire.Limits
    _mark: str = attrs.field(factory=lambda: secrets.token_hex(16), init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _pipe: tuple[int, int] | None = attrs.field(factory=os.pipe, init=False)

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
            raise BackendUnavailableError(BACKEND, f"no process: {fault}") from fault
        finally:
            self.close()

    def _execute(self, stack: ExitStack) -> Outcome:
        structure, arrays = values.pack(self.values)
        directory = tempfile.mkdtemp(prefix="openvlharness-run-")
        stack.callback(_remove, directory)
        given, found, notes = (_nameless(stack, purpose) for purpose in ("values", "findings", "notes"))
        job = wire.Job(clean_text(self.program), structure, directory, self.deadline, self.limits)
        wire.write_job(given, job, arrays)
        init = self._start(given.fileno(), found.fileno(), notes.fileno(), directory)
        report = None
        try:
            report = self._report(init)
        finally:
            self._end(init, reported=report is not None)
        findings, damage = _findings(found.fileno())
        if not findings.started:
            if report is None and time.monotonic() < self.deadline:
                notes.seek(0)
                raise _not_prepared(notes.read().decode("utf-8", "replace"))
            if report is not None and report.ended == "exit":
                raise _not_prepared(report.stderr)
        return self._outcome(report or _Report(ended="nothing"), findings, damage)

    def _start(self, given: int, found: int, notes: int, directory: str) -> subprocess.Popen[bytes]:
        if not sys.executable:
            raise BackendUnavailableError(
                BACKEND, "this process does not know its interpreter (sys.executable is empty)"
            )
        assert self._pipe is not None, "a run is executed once"
        return subprocess.Popen(  # noqa: S603  our own interpreter and text
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, str(given), str(found), *_importable()],
            stdin=self._pipe[0],
            stdout=subprocess.PIPE,
            stderr=notes,
            pass_fds=(given, found),
            env=_environment(directory, self._mark),
            cwd="/",
            start_new_session=True,
        )

    def _report(self, init: subprocess.Popen[bytes]) -> _Report | None:
        """What the init says at its end; `None` when it says nothing, or not in time."""
        assert init.stdout is not None
        assert self._pipe is not None
        reader, stopped = init.stdout.fileno(), self._pipe[0]
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

    def _end(self, init: subprocess.Popen[bytes], *, reported: bool) -> None:
        """Nothing of the run stays; an init that reported has seen to that, and only has to leave."""
        assert init.stdout is not None
        init.stdout.close()
        if reported:
            with suppress(subprocess.TimeoutExpired):
                init.wait(timeout=_END_SECONDS)
                return
        if not processes.end_run(init.pid, self._mark, time.monotonic() + _END_SECONDS):
            _log.warning("processes of a program could not be ended; they carry OPENVLHARNESS_RUN=%s", self._mark)
        init.wait()

    def _outcome(self, report: _Report, findings: wire.Findings, damage: str | None) -> Outcome:
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


@attrs.frozen(kw_only=True)
class _Report:
    """How a run ended, as its init tells it."""

    ended: str
    status: int | None = None
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
            case {"ended": str(ended), "status": int() | None as status, "stdout": str(out), "stderr": str(err)}:
                return cls(ended=ended, status=status, stdout=clean_text(out), stderr=clean_text(err))
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


def _not_prepared(notes: str) -> BackendUnavailableError:
    lines = [line for line in notes.splitlines() if line.strip()]
    reason = excerpt(lines[-1], 500) if lines else "no reason given"
    return BackendUnavailableError(BACKEND, f"the run could not be prepared: {reason}")


def _remove(directory: str) -> None:
    if not workdir.remove_tree(directory):
        _log.warning("%s could not be removed", directory)
