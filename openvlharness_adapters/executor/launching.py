"""What every way of starting a run has in common: what it is given, and what it hands back."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import tempfile
from contextlib import ExitStack
from typing import BinaryIO, Protocol

import attrs

from openvlharness_adapters.executor.wire import KillLevel
from openvlharness_core.errors import BackendUnavailableError
from openvlharness_core.texts import excerpt

_IMPORTABLE = ("openvlharness_adapters", "openvlharness_core", "attr", "attrs", "numpy", "PIL")


@attrs.frozen(kw_only=True)
class Launch:
    """What a run is started with; all descriptors stay the caller's.

    Attributes:
        backend: name of the executor, for errors.
        directory: the working directory, empty.
        deadline: when the run must be over, on the monotonic clock.
        given: file with the job.
        found: file for the findings.
        stopped: readable once the run is to end early.
    """

    backend: str
    directory: str
    deadline: float
    given: int
    found: int
    stopped: int


class Running(Protocol):
    """A run that was started."""

    @property
    def level(self) -> KillLevel: ...

    @property
    def channel(self) -> int:
        """Descriptor from which the init's report can be read; at its end when the init is gone."""
        ...

    def end(self, *, reported: bool) -> bool:
        """Leave no process of the run; an init that reported has seen to that itself. Closes the channel.

        Returns whether the init is still there, to remove the working directory once `stopped` is closed.
        """
        ...

    def notes(self) -> str:
        """What the init wrote about failures of its own."""
        ...


@functools.cache
def importable() -> tuple[str, ...]:
    """The folders that hold the packages a program may import beside the standard library."""
    folders: dict[str, None] = {}
    for name in _IMPORTABLE:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            folders[os.path.dirname(os.path.abspath(next(iter(spec.submodule_search_locations))))] = None
    return tuple(folders)


def interpreter(backend: str) -> list[str]:
    """The start of a command line: isolated from this environment, its user and the current folder.

    Raises:
        BackendUnavailableError: this process is embedded in something that is no interpreter.
    """
    if not sys.executable:
        raise BackendUnavailableError(backend, "this process does not know its interpreter (sys.executable is empty)")
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c"]


def environment(directory: str, mark: str | None = None) -> dict[str, str]:
    """All that a program sees of an environment; `mark` is how what it starts is found again."""
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": directory,
        "TMPDIR": directory,
        **({} if mark is None else {"OPENVLHARNESS_RUN": mark}),
        **dict.fromkeys(threads, "1"),
    }


def nameless(stack: ExitStack, purpose: str) -> BinaryIO:
    """A file in memory where there is such a thing, else one that is deleted already."""
    if sys.platform == "linux":
        flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
        return stack.enter_context(open(os.memfd_create(f"openvlharness-{purpose}", flags), "w+b"))
    return stack.enter_context(tempfile.TemporaryFile())


def not_prepared(backend: str, notes: str) -> BackendUnavailableError:
    """The error for a run that ended before its program began, from what was written about it."""
    lines = [line for line in notes.splitlines() if line.strip()]
    reason = excerpt(lines[-1], 500) if lines else "no reason given"
    return BackendUnavailableError(backend, f"the run could not be prepared: {reason}")
