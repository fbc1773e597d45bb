"""Capacity by group: who may work now, and in which order the others come.

A call takes a seat before it costs a thread or a connection, and keeps it until its work has really stopped.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

import attrs

from openvlharness_core.errors import HarnessError


class QueueFullError(HarnessError):
    """So many calls of a group wait already that one more is not taken."""

    def __init__(self, group: str, waiting: int) -> None:
        super().__init__(f"{waiting} calls wait for a seat of {group} already")
        self.group = group
        self.waiting = waiting


class GateUnavailableError(HarnessError):
    """Whoever keeps the seats cannot be reached, so none can be given; running calls go on."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@attrs.frozen(eq=False)
class Seat:
    """The right to work; each is another one, even of the same group.

    Attributes:
        group: where it is.
        ticket: whose turn it was: of two seats of a group, that of the smaller number was due first.
    """

    group: str
    ticket: int = 0


class Gate(Protocol):
    """Hands out the seats of capacity groups; one event loop uses it.

    What every gate promises:
    - Limit: at no time more seats of a group are out than the group has, over all processes that share the gate.
    - Order: a ticket is drawn as soon as `acquire` begins to run, and seats are given in the order of tickets.
      Nobody who comes later is served first, not even while a seat is free for a moment.
    - Leaving: cancelling the task that waits in `acquire` gives its place up at once. If a seat was just being given
      to it, that seat goes to the next in line, and none is ever lost.
    - Loss: a shared gate may have to take a seat back, because its holder was silent for longer than a lease. It then
      calls `lost` of that seat once, on the loop, before anybody else is given the seat where it can; the holder
      cancels its call and still calls `release`, which is then without effect.
    """

    async def acquire(self, group: str, lost: Callable[[], None]) -> Seat:
        """Wait for a seat.

        Args:
            group: one of the groups that the gate was made with.
            lost: called when the seat is taken back; never called by a gate without leases, nor after `release`.

        Raises:
            QueueFullError: nobody more may wait; raised at once, never after a wait.
            GateUnavailableError: the seats are kept elsewhere and cannot be reached.
        """
        ...

    async def release(self, seat: Seat) -> None:
        """Give a seat back; it never raises. A seat that was given back already, or lost, is ignored."""
        ...

    def limit(self, group: str) -> int:
        """How many seats a group has."""
        ...

    async def check(self) -> str | None:
        """Why no seat can be given at the moment, for `/ready`; `None` when all is well."""
        ...


@attrs.define(eq=False)
class _Group:
    limit: int
    out: int = 0
    waiting: deque[tuple[int, asyncio.Future[Seat]]] = attrs.field(factory=deque)


class LocalGate:
    """The `Gate` of one process."""

    def __init__(self, limits: Mapping[str, int], *, max_queue: int) -> None:
        """Args: seats by group, at least 1 each, and how many calls may wait in each group."""
        wrong = [f"{group}: {limit}" for group, limit in limits.items() if limit < 1]
        if wrong or max_queue < 0:
            raise ValueError(f"expected limits of at least 1 and a queue of at least 0, got {wrong or max_queue}")
        self._groups = {group: _Group(limit) for group, limit in limits.items()}
        self._max_queue = max_queue
        self._out: set[Seat] = set()
        self._tickets = itertools.count(1)

    async def acquire(self, group: str, lost: Callable[[], None]) -> Seat:
        """See `Gate`."""
        room = self._groups[group]
        ticket = next(self._tickets)
        if room.out < room.limit:  # whoever waits is given a seat as soon as one is free, so nobody waits here
            return self._seat(group, room, ticket)
        if len(room.waiting) >= self._max_queue:
            raise QueueFullError(group, len(room.waiting))
        place: asyncio.Future[Seat] = asyncio.get_running_loop().create_future()
        room.waiting.append((ticket, place))
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # the seat came in the same moment
                await self.release(place.result())
            elif (ticket, place) in room.waiting:
                room.waiting.remove((ticket, place))
            raise

    async def release(self, seat: Seat) -> None:
        """See `Gate`."""
        if seat not in self._out:
            return
        self._out.discard(seat)
        room = self._groups[seat.group]
        room.out -= 1
        while room.waiting and room.out < room.limit:
            ticket, place = room.waiting.popleft()
            if not place.done():  # else it was just cancelled
                place.set_result(self._seat(seat.group, room, ticket))

    def limit(self, group: str) -> int:
        """See `Gate`."""
        return self._groups[group].limit

    async def check(self) -> str | None:
        """See `Gate`."""
        return None

    def _seat(self, group: str, room: _Group, ticket: int) -> Seat:
        room.out += 1
        seat = Seat(group, ticket)
        self._out.add(seat)
        return seat
