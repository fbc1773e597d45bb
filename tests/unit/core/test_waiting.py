"""Waiting with a limit."""

from __future__ import annotations

import asyncio

import pytest

from openvlharness_core.testing import FakeClock
from openvlharness_core.waiting import within


async def test_work_within_its_time() -> None:
    async def work() -> int:
        return 3

    async def fail() -> int:
        raise KeyError("x")

    assert await within(FakeClock(), 60.0, work()) == 3
    with pytest.raises(KeyError):
        await within(FakeClock(), 60.0, fail())


async def test_work_that_takes_too_long_is_cancelled_and_has_ended() -> None:
    clock, ended = FakeClock(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.ensure_future(within(clock, 5.0, work()))
    await clock.advance(4.9)
    assert not waiting.done()
    await clock.advance(0.2)
    with pytest.raises(TimeoutError):
        await waiting
    assert ended.is_set()


async def test_cancelling_the_one_who_waits_ends_the_work() -> None:
    clock, ended = FakeClock(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.ensure_future(within(clock, 5.0, work()))
    await clock.advance(1.0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()
