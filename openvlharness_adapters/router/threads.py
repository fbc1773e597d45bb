"""Which threads a call has set to work, so that its seat is not free before they have stopped.

A thread cannot be interrupted: a call that is cancelled ends at once, and what it offloaded goes on computing. Everything
that serves calls therefore offloads through `SeatedOffload`, which notes each thread with the call it works for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

import attrs

from openvlharness_core.ports.offload import Offload

T = TypeVar("T")


class CallEndedError(Exception):
    """A thread was about to begin for a call that has ended; nobody awaits it any more."""


class CallThreads:
    """The threads of one call. Made on the loop; threads report from their own side."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._running = 0
        self._stopped: asyncio.Event | None = None

    def begin(self) -> None:
        """A thread begins. Raises CallEndedError once `stopped` was asked for."""
        with self._lock:
            if self._stopped is not None:
                raise CallEndedError
            self._running += 1

    def end(self) -> None:
        """A thread has stopped."""
        with self._lock:
            self._running -= 1
            last = self._stopped if self._running == 0 else None
        if last is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(last.set)

    def stop(self) -> asyncio.Event | None:
        """Let no further thread begin; `None` if none is running, else what is set when the last one has stopped."""
        with self._lock:
            self._stopped = self._stopped or asyncio.Event()
            return self._stopped if self._running else None


_current: ContextVar[CallThreads | None] = ContextVar("openvlharness_call_threads", default=None)


def note_threads() -> CallThreads:
    """From here on, threads that this task and its children set to work are noted in what is returned."""
    threads = CallThreads()
    _current.set(threads)
    return threads


@attrs.frozen
class SeatedOffload:
    """The `Offload` of backends that are served; outside a served call it is the one inside.

    Attributes:
        inner: does the work.
    """

    inner: Offload

    async def run(self, call: Callable[[], T]) -> T:
        """See `Offload`."""
        threads = _current.get()
        if threads is None:
            return await self.inner.run(call)

        def noted() -> T:
            threads.begin()
            try:
                return call()
            finally:
                threads.end()

        return await self.inner.run(noted)
