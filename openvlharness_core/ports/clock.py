"""Time, so that deadlines and backoff can be tested without waiting."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Monotonic and wall time; deadlines, backoff and every measured second use it."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; cancelling the task ends the wait."""
        ...
