"""What every Clock promises.

Subclass `ClockContract` in a test module as `Test…` and supply a fixture `clock`. A fake one must move when somebody
sleeps.
"""

from __future__ import annotations

import asyncio

import pytest

from openvlharness_core.ports.clock import Clock

BLINK = 0.002


class ClockContract:
    """See the module."""

    async def test_monotonic_time_never_goes_back(self, clock: Clock) -> None:
        seen = [clock.monotonic() for _ in range(100)]
        await clock.sleep(0)
        seen.append(clock.monotonic())
        assert seen == sorted(seen)

    async def test_a_sleep_moves_both_times(self, clock: Clock) -> None:
        before = clock.monotonic(), clock.wall()
        await clock.sleep(BLINK)
        assert clock.monotonic() - before[0] >= BLINK * 0.9  # timers of a loop have a grain
        assert clock.wall() > before[1]

    async def test_wall_time_is_in_seconds_since_the_epoch(self, clock: Clock) -> None:
        assert 1_500_000_000 < clock.wall() < 10_000_000_000

    async def test_no_time_or_less_returns(self, clock: Clock) -> None:
        await clock.sleep(0)
        await clock.sleep(-1)

    async def test_sleepers_wait_side_by_side(self, clock: Clock) -> None:
        woken: list[float] = []

        async def sleeper(seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append(seconds)

        await asyncio.gather(*(sleeper(BLINK * n) for n in (3, 1, 2)))
        assert sorted(woken) == [BLINK, BLINK * 2, BLINK * 3]

    async def test_cancelling_ends_the_wait(self, clock: Clock) -> None:
        task = asyncio.ensure_future(clock.sleep(1e6))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
