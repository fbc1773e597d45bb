"""A clock that stands still until it is told to move."""

from __future__ import annotations

import asyncio


class HandClock:
    """Time that only `advance` moves; a sleep ends when its instant has come.

    Attributes:
        slept: every sleep asked for, in seconds, in order.
    """

    def __init__(self, wall: float = 1_700_000_000.0) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self._epoch = wall
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self._epoch + self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper = (self.now + seconds, asyncio.get_running_loop().create_future())
        self._sleepers.append(sleeper)
        try:
            await sleeper[1]
        finally:
            self._sleepers.remove(sleeper)

    def advance(self, seconds: float) -> None:
        """Move on, and wake whoever has slept long enough."""
        self.now += seconds
        for due, future in self._sleepers:
            if due <= self.now and not future.done():
                future.set_result(None)

    @property
    def sleepers(self) -> int:
        """How many sleep now."""
        return len(self._sleepers)
