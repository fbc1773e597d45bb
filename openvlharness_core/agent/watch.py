"""Ending a question early: its deadline, and whoever asked changing his mind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from openvlharness_core.agent.protocol import Cancelled, DeadlinePassed
from openvlharness_core.ports.clock import Clock
from openvlharness_core.waiting import held, released, stop

T = TypeVar("T")


class Cancellation:
    """A switch that ends a question with a report of what there is; may be thrown from any thread."""

    def __init__(self) -> None:
        self._cancelled = False
        self._listeners: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """Whether it was thrown."""
        return self._cancelled

    def cancel(self) -> None:
        """Throw it; once thrown it stays so."""
        self._cancelled = True
        for listener in list(self._listeners):
            listener()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have `listener` called when the switch is thrown, at once if it was; returns how to unsubscribe."""
        self._listeners.append(listener)
        if self._cancelled:
            listener()

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe


class Interrupted(Exception):
    """The question ended while a port was being called; the call was cancelled."""

    def __init__(self, event: Cancelled | DeadlinePassed) -> None:
        super().__init__(type(event).__name__)
        self.event = event


class Watch:
    """Performs port calls until the deadline passes or the switch is thrown; an async context manager."""

    def __init__(self, clock: Clock, remaining_seconds: float | None, cancellation: Cancellation | None) -> None:
        self._clock = clock
        self._remaining = remaining_seconds
        self._cancellation = cancellation
        self._deadline: asyncio.Future[None] | None = None
        self._switch: asyncio.Future[None] | None = None
        self._unsubscribe: Callable[[], None] = lambda: None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        if self._remaining is not None:
            self._deadline = asyncio.ensure_future(self._clock.sleep(max(0.0, self._remaining)))
        if self._cancellation is not None:
            switch = self._switch = loop.create_future()

            def throw() -> None:
                if not switch.done():
                    switch.set_result(None)

            def throw_from_anywhere() -> None:
                loop.call_soon_threadsafe(throw)

            self._unsubscribe = self._cancellation.subscribe(throw_from_anywhere)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unsubscribe()
        for future in (self._deadline, self._switch):
            if future is not None:
                future.cancel()

    def interruption(self) -> Cancelled | DeadlinePassed | None:
        """What has happened by now, if anything."""
        if self._cancellation is not None and self._cancellation.cancelled:
            return Cancelled()
        if self._deadline is not None and (self._deadline.done() or self._remaining == 0):
            return DeadlinePassed()
        return None

    async def perform(self, call: Coroutine[Any, Any, T]) -> T:
        """Await `call`; its result counts even when it comes at the very moment of an interruption.

        Raises:
            Interrupted: the deadline or the switch came first; the call was cancelled.
        """
        task = asyncio.ensure_future(held(call))
        try:
            futures = {future for future in (task, self._deadline, self._switch) if future is not None}
            await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return released(task.result())
            await stop(self._clock, task)
            raise Interrupted(self.interruption() or DeadlinePassed())
        finally:
            if not task.done():  # our own task is being cancelled: the call must not live on
                await stop(self._clock, task)
