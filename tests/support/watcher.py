"""Watches the waits of a retrying client and lets none of them last."""

from __future__ import annotations

import asyncio

import attrs

from openvlharness_adapters.http.retry import Wait
from openvlharness_core.testing.time import FakeClock


@attrs.define
class Watcher:
    """An `on_wait` that moves the clock on as soon as the announced wait has begun.

    Attributes:
        waits: every wait announced.
    """

    clock: FakeClock
    waits: list[Wait] = attrs.field(factory=list)
    _advances: list[asyncio.Task[None]] = attrs.field(factory=list, init=False)

    def __call__(self, wait: Wait) -> None:
        self.waits.append(wait)
        self._advances.append(asyncio.get_running_loop().create_task(self.clock.advance(wait.seconds)))
