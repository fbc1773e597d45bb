"""A run from the warm template: the caller's side.

One template serves all executors of a process, and is started by the first run that needs it. A process that was
forked from its owner starts its own. A template that was killed is replaced at the next run; the runs it had handed on
do not notice.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO

import attrs

from openvlharness_adapters.executor.launching import (
    Launch,
    environment,
    importable,
    interpreter,
    nameless,
    not_prepared,
)
from openvlharness_adapters.executor.wire import KillLevel
from openvlharness_core.errors import BackendUnavailableError

_START = "import sys; sys.path += sys.argv[3:]; from openvlharness_adapters.executor.template import main; main()"
_STARTED, _REFUSED = b"+", b"-"
_OVERDUE_SECONDS = 0.3
_END_SECONDS = 0.2
_LEAVING_SECONDS = 1.0
_SEND_SECONDS = 5.0
_ATTEMPTS = 3
_MAX_MESSAGE_BYTES = 64 * 1024


@attrs.define(kw_only=True, eq=False)
class _Template:
    """The process, once started; `obstacle` is known after it has said it."""

    owner: int
    process: subprocess.Popen[bytes]
    control: socket.socket
    notes_file: BinaryIO
    stack: ExitStack
    said: bool = False
    obstacle: str | None = None

    def notes(self) -> str:
        """The end of what went wrong in it."""
        size = os.fstat(self.notes_file.fileno()).st_size
        return os.pread(self.notes_file.fileno(), 4000, max(0, size - 4000)).decode("utf-8", "replace")

    def close(self) -> None:
        """Let it end, and with it whatever it started."""
        self.stack.close()  # the control socket among it, which is what tells it
        try:
            self.process.wait(_LEAVING_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@attrs.define(eq=False)
class _Holder:
    lock: threading.Lock = attrs.field(factory=threading.Lock)
    template: _Template | None = None


_here = _Holder()


def _after_fork() -> None:
    """In a forked process: what the parent holds is not ours, not even its lock, which somebody there may have."""
    inherited = _here.template
    _here.lock, _here.template = threading.Lock(), None
    if inherited is not None:
        inherited.process.returncode = 0  # no child of this process, so nothing to wait for
        inherited.stack.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def close() -> None:
    """End this process's template, if there is one; the next run starts another."""
    with _here.lock:
        template, _here.template = _here.template, None
    if template is not None and template.owner == os.getpid():
        template.close()


def find_obstacle(backend: str, deadline: float) -> str | None:
    """Why runs cannot come from a template here; starts it to find out, and waits no longer than until `deadline`.

    Raises:
        BackendUnavailableError: it could not be started.
        OSError: likewise.
    """
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return f"{sys.platform} has no namespaces"
    with _locked(deadline) as held:
        if not held:
            return None  # not ready before the deadline: there will be no run to tell otherwise
        template = _present(backend)
        return template.obstacle if template.said or _hear(template, backend, deadline) else None


@contextmanager
def _locked(deadline: float) -> Iterator[bool]:
    held = _here.lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
    try:
        yield held
    finally:
        if held:
            _here.lock.release()


def _readable(descriptors: Iterable[int], until: float) -> list[int]:
    """Those that can be read or are at their end; none once `until` is over."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    left = max(0.0, until - time.monotonic())
    return [descriptor for descriptor, _ in poll.poll(math.ceil(left * 1000))]


def _present(backend: str) -> _Template:
    """The template, a new one if there is none that lives; the caller holds the lock."""
    template = _here.template
    if template is not None and (template.owner != os.getpid() or template.process.poll() is not None):
        _drop(template)
        template = None
    if template is None:
        template = _here.template = _start(backend)
    return template


def _drop(template: _Template) -> None:
    if _here.template is template:
        _here.template = None
    if template.owner == os.getpid():
        template.process.kill()
        template.process.wait()
    template.stack.close()


def _start(backend: str) -> _Template:
    with ExitStack() as stack:
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.enter_context(control)
        control.settimeout(_SEND_SECONDS)
        notes = nameless(stack, "notes")
        with theirs:
            process = subprocess.Popen(  # noqa: S603  our own interpreter and text
                [*interpreter(backend), _START, str(theirs.fileno()), str(os.getpid()), *importable()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=notes,
                pass_fds=(theirs.fileno(),),
                env=environment("/"),
                cwd="/",
                start_new_session=True,
            )
        return _Template(owner=os.getpid(), process=process, control=control, notes_file=notes, stack=stack.pop_all())


def _hear(template: _Template, backend: str, deadline: float) -> bool:
    """Read what a new template says of itself; whether it has said it in time."""
    if not _readable([template.control.fileno()], deadline):
        return False
    try:
        message = template.control.recv(_MAX_MESSAGE_BYTES)
        obstacle = json.loads(message)["obstacle"]
    except (OSError, ValueError, KeyError):
        notes = template.notes()
        _drop(template)
        raise not_prepared(backend, notes) from None
    template.said, template.obstacle = True, None if obstacle is None else str(obstacle)
    return True


@attrs.frozen(kw_only=True)
class Warm:
    """A run whose init was forked from the template; the pidfd ends it even if its own watching fails."""

    level: KillLevel = "pid_namespace"
    _channel: socket.socket
    _pidfd: int | None
    _notes: str = ""

    @property
    def channel(self) -> int:
        """The init's stdout."""
        return self._channel.fileno()

    def end(self, *, reported: bool) -> bool:
        """An init that reported has ended all others before; one that did not is ended, and they with it."""
        if not reported and self._pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            _readable([self._pidfd], time.monotonic() + _END_SECONDS)
        self._channel.close()
        return reported

    def notes(self) -> str:
        """What is known of an init that said nothing."""
        return self._notes or "the run's first process was ended from outside"


def start(launch: Launch, stack: ExitStack) -> Warm:
    """Hand a job to the template; another template takes it if that one was ended before it handed it on.

    Raises:
        BackendUnavailableError: there is no template, or it can make no process.
    """
    for _ in range(_ATTEMPTS):
        ours, theirs = socket.socketpair()
        stack.enter_context(ours)
        with theirs:
            handed = _hand_over(launch, theirs)
        if handed is False:
            continue
        word, pidfd = _first_word(ours, launch, stack) if handed else (b"", None)
        if word == _REFUSED:
            raise BackendUnavailableError(launch.backend, f"no process: {_rest(ours)}")
        if word == _STARTED or handed is None or time.monotonic() >= launch.deadline:
            return Warm(channel=ours, pidfd=pidfd)
    raise BackendUnavailableError(
        launch.backend, f"the process that programs are forked from was ended {_ATTEMPTS} times"
    )


def _hand_over(launch: Launch, channel: socket.socket) -> bool | None:
    """Whether the template was given the job; `None` if the deadline passed before there was one."""
    with _locked(launch.deadline) as held:
        if not held:
            return None
        template = _present(launch.backend)
        if not template.said and not _hear(template, launch.backend, launch.deadline):
            return None
        files = [launch.stopped, channel.fileno(), launch.given, launch.found]
        try:
            socket.send_fds(template.control, [os.fsencode(launch.directory)], files)
        except OSError:
            _drop(template)
            return False
    return True


def _first_word(channel: socket.socket, launch: Launch, stack: ExitStack) -> tuple[bytes, int | None]:
    """What the template says of a job, with the pidfd of its init; nothing if it was ended, or if it takes too long."""
    until = launch.deadline + _OVERDUE_SECONDS
    waited_for = [channel.fileno(), launch.stopped]
    while ready := _readable(waited_for, until):
        if channel.fileno() not in ready:
            waited_for.remove(launch.stopped)
            until = min(until, time.monotonic() + _OVERDUE_SECONDS)
            continue
        word, files, _, _ = socket.recv_fds(channel, 1, 1)
        for file in files:
            stack.callback(os.close, file)
        return word, files[0] if files else None
    return b"", None


def _rest(channel: socket.socket) -> str:
    channel.settimeout(_SEND_SECONDS)
    with channel.makefile("rb") as file:
        return file.read(_MAX_MESSAGE_BYTES).decode("utf-8", "replace")
