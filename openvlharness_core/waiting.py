"""Waiting with a limit on a clock of our own, so that tests need no real time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

import attrs

from openvlharness_core.ports.clock import Clock

T = TypeVar("T")
GRACE_SECONDS = 1.0
"""How long a cancelled call may take to clean up before it is left behind."""


@attrs.frozen
class Raised:
    """An error as a value.

    A task that raises `SystemExit` would end the loop, and one nobody awaits any more would complain of an exception
    never retrieved.
    """

    error: BaseException


async def held(call: Awaitable[T]) -> T | Raised:
    """What `call` returns or raises; only being cancelled and Ctrl-C go through."""
    try:
        return await call
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - handed on as a value, and raised again where it is awaited
        return Raised(error)


def released(outcome: T | Raised) -> T:
    """The result of `held`, or its error raised again."""
    if isinstance(outcome, Raised):
        raise outcome.error
    return outcome


async def within(clock: Clock, seconds: float, call: Coroutine[Any, Any, T]) -> T:
    """Await `call`, and cancel it when `seconds` have passed.

    Raises:
        TimeoutError: the time passed; the call was cancelled before this is raised.
    """
    task = asyncio.ensure_future(held(call))
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await stop(clock, task)
            raise TimeoutError(f"no result after {seconds:g} s")
        return released(task.result())
    finally:
        timer.cancel()
        if not task.done():
            await stop(clock, task)


async def stop(clock: Clock, task: asyncio.Future[Any]) -> None:
    """Cancel `task` and wait until it has ended, but not for ever: a call may ignore being cancelled."""
    task.cancel()
    grace = asyncio.ensure_future(clock.sleep(GRACE_SECONDS))
    try:
        await asyncio.wait({task, grace}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        grace.cancel()
        task.add_done_callback(_look_at)


def _look_at(task: asyncio.Future[Any]) -> None:
    """Nothing is to complain of an exception never retrieved, whenever a call that was left behind ends."""
    if not task.cancelled():
        task.exception()
