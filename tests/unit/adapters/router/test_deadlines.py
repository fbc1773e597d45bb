"""Many deadlines, one task a length."""

from __future__ import annotations

import asyncio

from openvlharness_adapters.router.deadlines import Deadlines
from openvlharness_core.testing.time import FakeClock, settle


async def test_each_passes_at_its_time_and_only_if_it_was_not_stopped() -> None:
    clock, passed = FakeClock(), list[str]()
    deadlines = Deadlines(clock)
    deadlines.start(5, lambda: passed.append("first"))
    await clock.advance(2)
    stop = deadlines.start(5, lambda: passed.append("stopped"))
    deadlines.start(5, lambda: passed.append("second"))
    deadlines.start(1, lambda: passed.append("short"))
    stop()
    stop()
    for seconds, so_far in (
        (1, ["short"]),
        (2, ["short", "first"]),
        (1.9, ["short", "first"]),
        (0.1, ["short", "first", "second"]),
    ):
        await clock.advance(seconds)
        assert passed == so_far


async def test_a_thousand_calls_cost_one_task() -> None:
    clock = FakeClock()
    deadlines, before = Deadlines(clock), len(asyncio.all_tasks())
    stops = [deadlines.start(300, lambda: None) for _ in range(1000)]
    assert len(asyncio.all_tasks()) == before + 1
    for stop in stops:
        stop()
    await clock.advance(300)
    await settle()
    assert len(asyncio.all_tasks()) == before


async def test_closing_forgets_all() -> None:
    clock, passed = FakeClock(), list[int]()
    deadlines = Deadlines(clock)
    deadlines.start(5, lambda: passed.append(1))
    await settle()
    await deadlines.close()
    await clock.advance(10)
    assert passed == []
