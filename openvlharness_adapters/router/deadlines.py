"""Deadlines of many calls with one task for each length of time, instead of a timer for each call.

Calls of one backend all have the same time, so their deadlines pass in the order in which they were set: a first-in
first-out line a length is all that is needed, and a call that ends in time leaves its line for the price of a dict.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import attrs

from openvlharness_core.ports.clock import Clock


@attrs.define(eq=False)
class _Line:
    waiting: dict[int, tuple[float, Callable[[], None]]] = attrs.field(factory=dict)
    task: asyncio.Task[None] | None = None


@attrs.define(eq=False)
class Deadlines:
    """Calls back when time has passed.

    Attributes:
        clock: whose time.
    """

    clock: Clock
    _lines: dict[float, _Line] = attrs.field(factory=dict, init=False)
    _number: int = attrs.field(default=0, init=False)

    def start(self, seconds: float, passed: Callable[[], None]) -> Callable[[], None]:
        """Have `passed` called after `seconds`, unless what this returns is called first; calling it again is fine."""
        line = self._lines.setdefault(seconds, _Line())
        self._number += 1
        number = self._number
        line.waiting[number] = (self.clock.monotonic() + seconds, passed)
        if line.task is None:
            line.task = asyncio.get_running_loop().create_task(self._watch(line))

        def stop() -> None:
            line.waiting.pop(number, None)

        return stop

    async def _watch(self, line: _Line) -> None:
        try:
            while line.waiting:
                number, (due, passed) = next(iter(line.waiting.items()))
                left = due - self.clock.monotonic()
                if left > 0:
                    await self.clock.sleep(left)  # whoever came first may have gone by then: it is looked up anew
                else:
                    del line.waiting[number]
                    passed()
        finally:
            line.task = None

    async def close(self) -> None:
        """Forget all deadlines."""
        tasks = [line.task for line in self._lines.values() if line.task is not None]
        self._lines.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
