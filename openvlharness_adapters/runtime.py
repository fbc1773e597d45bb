"""Time and threads of the machine."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import attrs

T = TypeVar("T")


@attrs.frozen
class SystemClock:
    """The `Clock` of the machine."""

    def monotonic(self) -> float:
        """See `Clock`."""
        return time.monotonic()

    def wall(self) -> float:
        """See `Clock`."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """See `Clock`."""
        await asyncio.sleep(max(0.0, seconds))


def _default_threads() -> int:
    return (os.cpu_count() or 1) + 4  # decoders release the lock, and a few more may wait for a disk


@attrs.define(kw_only=True, eq=False)
class ThreadOffload:
    """The `Offload` of the app: one bounded pool of threads, for every loop of the process.

    Threads start with the first calls. Cancelling the task that waits leaves a call that has begun to run to its end.

    Attributes:
        threads: calls that run at a time; the others queue.
    """

    threads: int = attrs.field(factory=_default_threads)
    _pool: ThreadPoolExecutor = attrs.field(init=False)

    @_pool.default
    def _empty_pool(self) -> ThreadPoolExecutor:
        if self.threads < 1:
            raise ValueError(f"threads: expected at least 1, got {self.threads}")
        return ThreadPoolExecutor(self.threads, thread_name_prefix="openvlharness")

    async def run(self, call: Callable[[], T]) -> T:
        """See `Offload`.

        Raises:
            RuntimeError: `call` raised StopIteration, which no future can carry; or the pool is closed.
        """
        return await asyncio.get_running_loop().run_in_executor(self._pool, _carried, call)

    def close(self) -> None:
        """Let running calls end, drop queued ones and take no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _carried(call: Callable[[], T]) -> T:
    try:
        return call()
    except StopIteration as error:  # set on a future it would leave the caller waiting for ever
        raise RuntimeError("an offloaded call raised StopIteration") from error
