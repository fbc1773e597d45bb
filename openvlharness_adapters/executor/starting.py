"""Which way a run is started, and how firmly it is then held.

From the warm template where this machine gives namespaces; else in a fresh interpreter. What was found is said once in
the log, and with every outcome.
"""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack

import attrs

from openvlharness_adapters.executor import sandbox, spawned, warm
from openvlharness_adapters.executor.launching import Launch, Running
from openvlharness_adapters.executor.wire import KILL_LEVELS, KillLevel
from openvlharness_core.errors import BackendUnavailableError

_log = logging.getLogger(__name__)
_told: set[str] = set()


@attrs.frozen(kw_only=True)
class Starting:
    """How the runs of one executor start.

    Attributes:
        backend: the executor's name.
        sandboxed: whether a program is bound to its directory.
        kill_level: the only level that is tried; `None` takes the firmest one that this machine offers.
    """

    backend: str
    sandboxed: bool = False
    kill_level: KillLevel | None = None

    def level(self, deadline: float) -> KillLevel:
        """How firmly the next run is held; starts the template when it has to be asked.

        Raises:
            BackendUnavailableError: a wanted level or a sandbox cannot be had here.
        """
        if self.sandboxed and (obstacle := sandbox.find_obstacle()) is not None:
            raise BackendUnavailableError(self.backend, f"no sandbox here: {obstacle}")
        level, obstacle = self._level(deadline)
        if self.kill_level is not None and KILL_LEVELS.index(level) > KILL_LEVELS.index(self.kill_level):
            raise BackendUnavailableError(self.backend, f"{self.kill_level} cannot be had here: {obstacle}")
        if self.sandboxed and level == "subreaper":
            told = "a program could end the process that watches it, for want of PID namespaces and of Landlock's signal scope"
            raise BackendUnavailableError(self.backend, f"no sandbox here: {told}")
        _tell(self.backend, level, obstacle)
        return level

    def _level(self, deadline: float) -> tuple[KillLevel, str | None]:
        obstacle = None
        if self.kill_level in (None, "pid_namespace"):
            obstacle = warm.find_obstacle(self.backend, deadline)
            if obstacle is None:
                return "pid_namespace", None
        here = spawned.level_here()
        return ("subreaper" if self.kill_level == "subreaper" else here), obstacle

    def start(self, launch: Launch, level: KillLevel, stack: ExitStack) -> Running:
        """Start a run; what it holds open is closed with `stack`."""
        if level == "pid_namespace":
            return warm.start(launch, stack)
        return spawned.start(launch, level, stack)


def _tell(backend: str, level: KillLevel, obstacle: str | None) -> None:
    line = f"{backend}: programs are held by {level}"
    if line in _told:
        return
    _told.add(line)
    if level == "subreaper":
        _log.warning("%s alone: one that means harm can end its watcher and stay (%s)", line, obstacle or sys.platform)
    else:
        _log.info("%s%s", line, f" ({obstacle})" if obstacle else "")
