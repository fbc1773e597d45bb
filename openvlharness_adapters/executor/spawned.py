"""A run in a fresh interpreter: the way that needs nothing of the kernel but processes, at the price of a start each time.

The init it starts is a subreaper. Where Landlock offers it, the program's signals stay below the init, so that the init
cannot be stopped or ended by what it watches.
"""

from __future__ import annotations

import logging
import secrets
import subprocess
import time
from contextlib import ExitStack, suppress
from typing import BinaryIO

import attrs

from openvlharness_adapters.executor import landlock, processes
from openvlharness_adapters.executor.launching import Launch, environment, importable, interpreter, nameless
from openvlharness_adapters.executor.wire import KillLevel

_START = "import sys; sys.path += sys.argv[3:]; from openvlharness_adapters.executor.init import main; main()"
_END_SECONDS = 0.15

_log = logging.getLogger(__name__)


def level_here() -> KillLevel:
    """How firmly a spawned run is held on this machine."""
    return "signal_scope" if landlock.abi() >= landlock.SIGNAL_SCOPE_ABI else "subreaper"


@attrs.frozen(kw_only=True)
class Spawned:
    """A run with a process of ours above it that nobody but its number tells from others."""

    level: KillLevel
    _init: subprocess.Popen[bytes]
    _mark: str
    _notes: BinaryIO

    @property
    def channel(self) -> int:
        """The init's stdout."""
        assert self._init.stdout is not None
        return self._init.stdout.fileno()

    def end(self, *, reported: bool) -> bool:
        """Nothing of the run stays; an init that reported has seen to that, and only has to leave."""
        assert self._init.stdout is not None
        self._init.stdout.close()
        if reported:
            with suppress(subprocess.TimeoutExpired):
                self._init.wait(timeout=_END_SECONDS)
                return False
        if not processes.end_run(self._init.pid, self._mark, time.monotonic() + _END_SECONDS):
            _log.warning("processes of a program could not be ended; they carry OPENVLHARNESS_RUN=%s", self._mark)
        self._init.wait()
        return False

    def notes(self) -> str:
        """What the init wrote to its stderr."""
        self._notes.seek(0)
        return self._notes.read().decode("utf-8", "replace")


def start(launch: Launch, level: KillLevel, stack: ExitStack) -> Spawned:
    """Start an interpreter that becomes the init of the run.

    Raises:
        BackendUnavailableError: this process knows no interpreter.
        OSError: it cannot be started.
    """
    mark = secrets.token_hex(16)
    notes = nameless(stack, "notes")
    init = subprocess.Popen(  # noqa: S603  our own interpreter and text
        [*interpreter(launch.backend), _START, str(launch.given), str(launch.found), *importable()],
        stdin=launch.stopped,
        stdout=subprocess.PIPE,
        stderr=notes,
        pass_fds=(launch.given, launch.found),
        env=environment(launch.directory, mark),
        cwd="/",
        start_new_session=True,
    )
    return Spawned(level=level, init=init, mark=mark, notes=notes)
