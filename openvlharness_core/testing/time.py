"""A fake clock that moves only when it is told to, and an offload that runs at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class FakeClock:
    """Time stands still until `advance`; with `auto=True` whoever sleeps moves it, so nothing ever waits.

    Attributes:
        slept: every wait that was asked for, in seconds.
    """

    def __init__(self, *, auto: bool = False) -> None:
        self._now = 0.0
        self._auto = auto
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """Seconds since it was made."""
        return self._now

    def wall(self) -> float:
        """A fixed day plus the seconds since it was made."""
        return 1_700_000_000.0 + self._now

    async def sleep(self, seconds: float) -> None:
        """Return once the clock was moved past the end of the wait."""
        self.slept.append(seconds)
        if seconds <= 0:
            return
        if self._auto:
            self._now += seconds
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (self._now + seconds, future)
        self._sleepers.append(entry)
        try:
            await future
        finally:
            self._sleepers.remove(entry)

    async def advance(self, seconds: float) -> None:
        """Move the clock and let everybody whose wait is over go on."""
        await settle()
        self._now += seconds
        for due, future in sorted(self._sleepers, key=lambda entry: entry[0]):
            if due <= self._now and not future.done():
                future.set_result(None)
        await settle()


async def settle(rounds: int = 20) -> None:
    """Let tasks that can run do so."""
    for _ in range(rounds):
        await asyncio.sleep(0)


class InlineOffload:
    """Runs the call at once, on the loop."""

    async def run(self, call: Callable[[], T]) -> T:
        """The result of `call()`."""
        return call()
