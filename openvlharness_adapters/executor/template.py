"""The warm process that runs are forked from: numpy and Pillow are imported, and no value of any run was ever here.

::

    caller ──starts──▶ template ──forks──▶ launcher ──forks──▶ init, first of its namespaces ──forks──▶ worker
                                           (ends at once)      (waits for a job)

An init is made ahead, so that a job finds one waiting. The template is one thread, and a subreaper, so an init becomes
its child when the launcher ends. It holds a pidfd of every init and the folder of every run: when the caller ends,
however it does, nothing of its runs stays, even where the init was ended as well.

On the control socket comes one message a job: the working directory, and the descriptors of `JOB_FILES`. The pidfd goes
to the caller over the job's own channel, in front of the report.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from collections import deque
from contextlib import suppress
from typing import NamedTuple, NoReturn

from openvlharness_adapters.executor import init, namespaces, processes, wire, workdir

JOB_FILES = ("stopped", "channel", "given", "found")
STARTED, REFUSED = b"+", b"-"
MAX_MESSAGE_BYTES = 64 * 1024

_IMPORTED = (
    "math", "json", "re", "collections", "itertools", "statistics", "random", "numpy", "numpy.random", "PIL.Image",
    "openvlharness_core.code_helpers", "openvlharness_adapters.executor.worker",
)  # fmt: skip
_OPTIONAL = {"PIL.Image"}
_AHEAD = 1
_AT_ONCE = 4
_END_SECONDS = 2.0


class _Job(NamedTuple):
    directory: str
    files: tuple[int, ...]


class _Init(NamedTuple):
    channel: socket.socket
    pidfd: int


class Template:
    """The loop of the template; ends with its caller."""

    def __init__(self, control: socket.socket, owner: int) -> None:
        self._control = control
        self._owner = owner
        self._selector = selectors.DefaultSelector()
        self._jobs: deque[_Job] = deque()
        self._starting: set[socket.socket] = set()
        self._waiting: deque[_Init] = deque()
        self._running: dict[int, str] = {}  # pidfd to folder
        self._folders: set[str] = set()
        self._selector.register(control, selectors.EVENT_READ)
        self._selector.register(owner, selectors.EVENT_READ)

    def first(self) -> str | None:
        """Make an init, and say why there can be none."""
        self._start_init()
        [channel] = self._starting
        self._starting.remove(channel)
        self._selector.unregister(channel)
        return self._take_in(channel)

    def follow(self) -> None:
        """Hand out jobs until the caller is gone."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._control:
                    if not self._receive():
                        return
                elif key.fd == self._owner:
                    return
                elif key.fileobj in self._starting:
                    channel = key.fileobj
                    assert isinstance(channel, socket.socket)
                    self._starting.remove(channel)
                    self._selector.unregister(channel)
                    self._refuse(self._take_in(channel))
                else:
                    self._forget(key.fd)
            self._match()

    def finish(self) -> None:
        """End every run, and remove what is left of them."""
        for pidfd in [*self._running, *(ready.pidfd for ready in self._waiting)]:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        ended = selectors.DefaultSelector()
        for pidfd in self._running:
            ended.register(pidfd, selectors.EVENT_READ)
        while ended.get_map():
            events = ended.select(_END_SECONDS)
            if not events:
                break
            for key, _ in events:
                ended.unregister(key.fd)
        for folder in {*self._folders, *(job.directory for job in self._jobs)}:
            workdir.remove_tree(folder)

    def _receive(self) -> bool:
        """Take one job; whether there is a caller still."""
        try:
            message, files, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, len(JOB_FILES))
        except ConnectionError:
            return False
        if not message:
            return False
        self._jobs.append(_Job(os.fsdecode(message), tuple(files)))
        return True

    def _match(self) -> None:
        while self._jobs and self._waiting:
            self._hand_over(self._jobs.popleft(), self._waiting.popleft())
        wanted = len(self._jobs) + _AHEAD - len(self._waiting) - len(self._starting)
        for _ in range(min(wanted, _AT_ONCE - len(self._starting))):
            try:
                self._start_init()
            except OSError as fault:  # no more processes or descriptors now
                self._refuse(str(fault))
                return

    def _hand_over(self, job: _Job, ready: _Init) -> None:
        self._folders = {folder for folder in self._folders if os.path.lexists(folder)} | {job.directory}
        self._running[ready.pidfd] = job.directory
        self._selector.register(ready.pidfd, selectors.EVENT_READ)
        try:
            with socket.socket(fileno=os.dup(job.files[JOB_FILES.index("channel")])) as channel:
                socket.send_fds(channel, [STARTED], [ready.pidfd])
            socket.send_fds(ready.channel, [os.fsencode(job.directory)], list(job.files))
        except OSError:  # the caller left, or someone ended the init: its pidfd tells both of us
            pass
        ready.channel.close()
        for file in job.files:
            os.close(file)

    def _refuse(self, reason: str | None) -> None:
        """Tell the job that waits longest why it cannot be done."""
        if reason is None or not self._jobs:
            return
        job = self._jobs.popleft()
        with suppress(OSError), socket.socket(fileno=os.dup(job.files[JOB_FILES.index("channel")])) as channel:
            channel.sendall(REFUSED + reason.encode("utf-8", "replace"))
        for file in job.files:
            os.close(file)

    def _forget(self, pidfd: int) -> None:
        self._selector.unregister(pidfd)
        self._running.pop(pidfd, None)
        os.close(pidfd)
        _collect()

    def _start_init(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                launcher = os.fork()
            except OSError:
                ours.close()
                raise
            if launcher == 0:
                _launch(theirs)
        self._starting.add(ours)
        self._selector.register(ours, selectors.EVENT_READ)

    def _take_in(self, channel: socket.socket) -> str | None:
        """What a launcher says: an init that waits, or why there is none."""
        message, files, _, _ = socket.recv_fds(channel, MAX_MESSAGE_BYTES, 1)
        _collect()
        if message == STARTED and len(files) == 1:
            self._waiting.append(_Init(channel, files[0]))
            return None
        channel.close()
        return message.decode("utf-8", "replace") or "the process that makes namespaces was ended"


def _collect() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass  # a launcher or an init that has ended


def _launch(channel: socket.socket) -> NoReturn:
    """In the launcher: make the init, say so, and end; in the init: wait for a job, and carry it out."""
    try:
        own = os.dup2(channel.detach(), 3)
        os.closerange(own + 1, os.sysconf("SC_OPEN_MAX"))
        channel = socket.socket(fileno=own)
        os.setsid()
        try:
            namespaces.leave_for_new()
            child = os.fork()
        except OSError as fault:
            channel.send(str(fault).encode())
        else:
            if child == 0:
                _wait(channel)
            else:
                socket.send_fds(channel, [STARTED], [os.pidfd_open(child)])
    except BaseException:  # noqa: BLE001  nothing may run on into the template's loop; the caller reads this
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _wait(channel: socket.socket) -> None:
    os.setsid()
    own_processes = namespaces.show_own_processes()
    message, files, _, _ = socket.recv_fds(channel, MAX_MESSAGE_BYTES, len(JOB_FILES))
    if not message or len(files) != len(JOB_FILES):  # the template has ended
        return
    channel.close()
    standing = dict(zip(JOB_FILES, files, strict=True))
    for name, number in (("stopped", 0), ("channel", 1)):
        os.dup2(standing[name], number)
        os.close(standing[name])
    job, _ = wire.read_job(standing["given"])
    bounded = namespaces.bound_processes(job.limits.processes)
    namespaces.own_shared_memory(job.limits.memory_bytes, job.directory)
    init.carry_out(
        standing["given"],
        standing["found"],
        own_processes=own_processes,
        counts=own_processes and not bounded,  # without it the numbers in `/proc` are not those of this namespace
        caller_removes=True,
    )


def main() -> None:
    """Be the template of the process that started this one, with the number of the control socket on the command line."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    owner = os.pidfd_open(int(sys.argv[2]))
    if os.getppid() != int(sys.argv[2]):  # it has ended already, and its number may be another's
        return
    os.umask(0o077)
    for name in _IMPORTED:
        with suppress(*([ImportError] if name in _OPTIONAL else [])):
            importlib.import_module(name)
    if (preinit := getattr(sys.modules.get("PIL.Image"), "preinit", None)) is not None:
        preinit()
    processes.adopt_orphans()
    gc.collect()
    gc.freeze()  # a collection in a run would copy every page of what is shared with it
    template = Template(control, owner)
    control.send(json.dumps({"obstacle": template.first()}).encode())
    try:
        template.follow()
    finally:
        template.finish()
        os._exit(0)
