"""The process above a program: it owns the deadline, the pipes, the killing and the clean-up of one run.

It is started by the caller with `python -I`, forks the worker, and watches. It is a program of its own because what it
does needs a process: it adopts whatever the program detaches, and it outlives a caller that dies. Whatever happens, it
ends everything below itself, reports as one line of JSON on its stdout, and removes the working directory. The caller
does that too, for an init that was killed, so a folder that takes long to empty delays nobody's report.

The caller keeps the other end of stdin: anything read there, the end included, means that nobody waits any more.
"""

from __future__ import annotations

import json
import os
import select
import selectors
import signal
import sys
import time
import traceback
from contextlib import suppress
from typing import NoReturn

from openvlharness_adapters.executor import kernel, landlock, processes, sandbox, wire, workdir

_KEPT_OUTPUT_BYTES = 64 * 1024
_KILL_SECONDS = 0.2
_HALF = _KEPT_OUTPUT_BYTES // 2
_READ_BYTES = 64 * 1024
_COUNT_SECONDS = 0.05
_ASKED_TO_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_START_FAILED = 70
_CALLER_SECONDS = 5.0


class Output:
    """What came through one pipe: the first and the last 32 KiB, and how much there was in between."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Take another piece."""
        room = _HALF - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        excess = len(self._tail) - _HALF
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess

    def text(self) -> str:
        """All of it as text, with a notice where bytes are missing; what is not UTF-8 is replaced."""
        if not self._dropped:
            return (self._head + self._tail).decode("utf-8", "replace")
        head, tail = (half.decode("utf-8", "replace") for half in (self._head, self._tail))
        return f"{head}\n[… {self._dropped} bytes left out …]\n{tail}"


class Watch:
    """The run of one worker, from its fork to the last byte of its output."""

    def __init__(
        self, job: wire.Job, values_file: int, arrays_at: int, findings_file: int, *, own_processes: bool, counts: bool
    ) -> None:
        self._job = job
        self._counts = counts
        self._outputs = {"stdout": Output(), "stderr": Output()}
        self._pipes: dict[int, Output] = {}
        self._selector = selectors.DefaultSelector()
        self._status: int | None = None
        self._namespace = job.level == "pid_namespace"
        self._selector.register(0, selectors.EVENT_READ)
        self._wake = _signals_to_pipe(() if self._namespace else _ASKED_TO_STOP)
        self._selector.register(self._wake, selectors.EVENT_READ)
        writing = []
        for output in self._outputs.values():
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            self._selector.register(reader, selectors.EVENT_READ)
            self._pipes[reader] = output
            writing.append(writer)
        init = os.getpid()
        self._worker = os.fork()
        if self._worker == 0:
            self._selector.close()
            files, ours = (values_file, arrays_at, findings_file), [self._wake, *self._pipes]
            _become_worker(job, init, writing, ours, files, own_processes)
        for descriptor in (*writing, values_file):
            os.close(descriptor)

    def follow(self) -> str:
        """Wait for the end, whatever it is, and say which: `exit`, `deadline`, `processes` or `stopped`."""
        counted = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= self._job.deadline:
                return "deadline"
            for key, _ in self._selector.select(max(0.0, min(_COUNT_SECONDS, self._job.deadline - now))):
                if key.fd in self._pipes:
                    self._drain(key.fd)
                elif key.fd == 0 or any(number in _ASKED_TO_STOP for number in os.read(self._wake, _READ_BYTES)):
                    return "stopped"
            if self._collect():
                return "exit"
            if self._counts and time.monotonic() - counted > _COUNT_SECONDS:
                counted = time.monotonic()
                # the kernel's own bound counts the whole user, and never binds root
                if sum(processes.descendants(os.getpid()).values()) > self._job.limits.processes:
                    return "processes"

    def _collect(self) -> bool:
        """Collect whoever has ended, adopted ones included; whether the worker is among them."""
        with suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if process == self._worker:
                    self._status = status
                    return True
                if process == 0:
                    return False
        return False

    def _drain(self, reader: int) -> bool:
        """Take one piece from a pipe; whether there may be more."""
        try:
            data = os.read(reader, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            if reader in self._selector.get_map():
                self._selector.unregister(reader)
            return False
        self._pipes[reader].add(data)
        return True

    def finish(self) -> dict[str, object]:
        """End everything below this process, and report."""
        until = time.monotonic() + _KILL_SECONDS
        clean = processes.end_namespace(until) if self._namespace else processes.end_below(self._worker, until)
        for reader in self._pipes:
            # nobody is left to write, so this ends; unless someone could not be ended
            while self._drain(reader) and time.monotonic() < until:
                continue
        texts = {name: output.text() for name, output in self._outputs.items()}
        return {"status": self._status, "clean": clean, **texts}


def _signals_to_pipe(requests: tuple[signal.Signals, ...]) -> int:
    """Let the end of a child, and a request to stop, wake the selector; what the caller had blocked or ignored is undone."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in _ASKED_TO_STOP:
        signal.signal(number, signal.SIG_IGN)  # as the first process of a namespace, from whom only others ask
    for number in (signal.SIGCHLD, *requests):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return reader


def _become_worker(
    job: wire.Job, init: int, writing: list[int], ours: list[int], files: tuple[int, int, int], own_processes: bool
) -> NoReturn:
    """In the child: let go of what is the init's, and run the program."""
    values_file, arrays_at, findings_file = files
    try:
        os.close(signal.set_wakeup_fd(-1))
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        processes.die_with(init)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for standard, descriptor in enumerate((nothing, *writing)):
            os.dup2(descriptor, standard)
        for descriptor in (nothing, *writing, *ours):
            os.close(descriptor)
        os.chdir(job.directory)
        os.environ.update(HOME=job.directory, TMPDIR=job.directory)  # a template knew of no directory yet
        tasks = processes.tasks_on_machine()
        from openvlharness_adapters.executor import worker  # numpy is for the worker alone

        worker.limit(job.limits, tasks)
        if job.level == "signal_scope":
            landlock.scope_signals()
        elif job.level == "pid_namespace" and os.geteuid() != 0:
            kernel.drop_capabilities()  # those of the user namespace that was needed to get here
        if job.sandboxed:
            sandbox.enter(job.directory, own_processes=own_processes)
        worker.main(job, arrays_at, values_file, findings_file)
    except BaseException:  # noqa: BLE001  nothing may run on into the init's part; the caller reads this on stderr
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(_START_FAILED)


def main() -> None:
    """Carry out the job of one file, given with the file for its findings as descriptors on the command line."""
    values_file, findings_file = map(int, sys.argv[1:3])
    for descriptor in (values_file, findings_file):
        os.set_inheritable(descriptor, False)
    processes.adopt_orphans()
    carry_out(values_file, findings_file)
    os._exit(0)


def carry_out(
    values_file: int,
    findings_file: int,
    *,
    own_processes: bool = False,
    counts: bool = True,
    caller_removes: bool = False,
) -> None:
    """Be the init of one run to its end; stdin is the request to stop, stdout takes the report.

    Args:
        values_file: the job.
        findings_file: what the worker leaves.
        own_processes: whether `/proc` shows this run alone.
        counts: whether this process sees to the number of processes, which the kernel does otherwise.
        caller_removes: the working directory goes once the caller has had the time for it, or has ended.
    """
    os.umask(0o077)
    job, arrays_at = wire.read_job(values_file)
    watch = Watch(job, values_file, arrays_at, findings_file, own_processes=own_processes, counts=counts)
    ended = watch.follow()
    report = watch.finish()
    with suppress(BrokenPipeError):  # the caller is gone
        sys.stdout.write(json.dumps({"ended": ended, **report}))
        sys.stdout.flush()
    os.close(1)
    if caller_removes:
        _wait_for_the_end_of(0)
    workdir.remove_tree(job.directory)


def _wait_for_the_end_of(pipe: int) -> None:
    """Until nobody can write to it; but not for ever, since a process that forked meanwhile may hold it open."""
    until = time.monotonic() + _CALLER_SECONDS
    while (left := until - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0] and os.read(pipe, 16):
        continue
