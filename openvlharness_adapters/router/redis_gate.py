"""Capacity that several routers share: the `Gate` whose seats are kept in Redis.

A place is known here before Redis knows it, and is forgotten here before Redis forgets it. So what this process keeps in
Redis can always be held against what is known here, and whatever has no place any more is let go.

    new --take--> waiting --seat--> held
     |               |                |
     full, away      away, left       released, lost

A seat that Redis has given is only used once it was confirmed: a process that was stopped in between may read the news
when the lease is long over.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import attrs

from openvlharness_adapters.router.gates import GateUnavailableError, QueueFullError, Seat
from openvlharness_adapters.router.redis_link import Errand, RedisLink
from openvlharness_adapters.router.redis_script import SEATS


@attrs.define(eq=False)
class _Place:
    """One caller's place, changed in the command thread only.

    Attributes:
        name: in Redis; the process first.
        group: capacity group.
        loop: where it is awaited.
        given: becomes its seat.
        lost: called when the seat is taken back.
        number: its ticket, once one was drawn.
        state: see the module.
    """

    name: str
    group: str
    loop: asyncio.AbstractEventLoop
    given: asyncio.Future[None]
    lost: Callable[[], None]
    number: str = ""
    state: Literal["new", "waiting", "held"] = "new"


class RedisGate:
    """See the module, and `Gate`."""

    def __init__(self, link: RedisLink, limits: Mapping[str, int], *, max_queue: int) -> None:
        """Args: Redis, seats by group, at least 1 each, and how many calls of all routers may wait in each group."""
        wrong = [f"{group}: {limit}" for group, limit in limits.items() if limit < 1]
        if wrong or max_queue < 0:
            raise ValueError(f"expected limits of at least 1 and a queue of at least 0, got {wrong or max_queue}")
        self._link = link
        self._limits = dict(limits)
        self._max_queue = max_queue
        self._script = link.script(SEATS)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._places: dict[str, _Place] = {}
        self._seats: dict[Seat, _Place] = {}
        self._in_use: set[str] = set()  # groups in which Redis may know places of this process
        link.keep(self)

    async def acquire(self, group: str, lost: Callable[[], None]) -> Seat:
        """See `Gate`."""
        loop = asyncio.get_running_loop()
        if group not in self._limits:
            raise KeyError(group)
        name = f"{self._link.name}:{next(self._numbers)}"
        place = _Place(name, group, loop, loop.create_future(), lost)
        with self._lock:
            self._places[name] = place
        self._link.post(lambda client: self._take(client, place), lambda error: self._refuse(place, error))
        try:
            await place.given
        except BaseException:  # cancelled too: whatever Redis has given meanwhile goes on to the next
            self._drop(place)
            raise
        if not self._known(place):  # taken back in the moment in which it was given
            raise GateUnavailableError(f"{self._link.shown}: the seat was lost before it was used")
        seat = Seat(group, int(place.number))
        self._seats[seat] = place
        return seat

    async def release(self, seat: Seat) -> None:
        """See `Gate`. Redis is told soon, and the next one has the seat then."""
        if (place := self._seats.pop(seat, None)) is not None:
            self._drop(place)

    def limit(self, group: str) -> int:
        """See `Gate`."""
        return self._limits[group]

    async def check(self) -> str | None:
        """See `Gate`."""
        loop = asyncio.get_running_loop()
        reached: asyncio.Future[str | None] = loop.create_future()

        def ping(client: Any) -> None:
            client.ping()
            _tell(loop, lambda: _settle(reached, None))

        self._link.post(ping, lambda error: _tell(loop, lambda: _settle(reached, error.reason)))
        return await reached

    def _lose(self, place: _Place) -> None:
        seat = next((seat for seat, held in self._seats.items() if held is place), None)
        if seat is not None:  # else it was given back in the same moment
            del self._seats[seat]
            place.lost()

    def _drop(self, place: _Place) -> None:
        with self._lock:
            known = self._places.pop(place.name, None) is not None
        if known:
            self._link.post(lambda client: self._leave(client, place), _found_later)

    def _known(self, place: _Place) -> bool:
        with self._lock:
            return place.name in self._places

    # --- in the command thread -----------------------------------------------------------------------------------

    def _run(self, client: Any, act: str, group: str, *arguments: str) -> Any:
        self._in_use.add(group)
        prefix = f"{self._link.prefix}:seats:{group}"
        keys = [f"{prefix}:{kind}" for kind in ("holders", "waiters", "processes", "ticket")]
        lease = str(max(1, round(self._link.lease_seconds * 1000)))
        fixed = (act, self._link.name, self._link.channel_of(""), group, str(self._limits[group]), str(self._max_queue))
        return self._script(keys=[*keys, f"{self._link.prefix}:born"], args=[*fixed, lease, *arguments], client=client)

    def _take(self, client: Any, place: _Place) -> None:
        if not self._known(place):
            return
        asked = time.monotonic()
        state, told, due = self._run(client, "take", place.group, place.name)
        self._link.hurry(due / 1000)
        if state == b"full":
            self._refuse(place, QueueFullError(place.group, int(told)))
            return
        place.state, place.number = "waiting", told.decode() or "0"  # a seat from the start waits for nobody
        if state == b"held":
            if time.monotonic() - asked < self._link.lease_seconds / 2:
                self._give(place)
            else:
                self._confirm(client, place)

    def _leave(self, client: Any, place: _Place) -> None:
        (due,) = self._run(client, "leave", place.group, place.name)
        self._link.hurry(due / 1000)

    def _confirm(self, client: Any, place: _Place) -> None:
        if self._known(place) and place.state == "waiting":
            self._keep(client, place.group, [place], "some")

    def _keep(self, client: Any, group: str, places: Iterable[_Place], which: Literal["all", "some"]) -> float:
        """Renew; in how many seconds to do so again at the latest."""
        places = list(places)
        while True:
            asked = time.monotonic()
            pairs = [text for place in places for text in (place.name, "" if place.state == "held" else place.number)]
            due, states = self._run(client, "keep", group, which, *pairs)
            if time.monotonic() - asked < self._link.lease_seconds / 2:
                break  # else this process was stopped, and the answer is old
        for place, state in zip(places, states, strict=True):
            if state == b"held" and place.state == "waiting":
                self._give(place)
            elif state == b"lost":
                self._take_back(place)
        return float(due) / 1000

    def _give(self, place: _Place) -> None:
        place.state = "held"
        _tell(place.loop, lambda: _settle(place.given, None))

    def _take_back(self, place: _Place) -> None:
        with self._lock:
            self._places.pop(place.name, None)
        _tell(place.loop, lambda: self._lose(place))

    def _refuse(self, place: _Place, error: Exception) -> None:
        """Here or on the loop."""
        with self._lock:
            self._places.pop(place.name, None)

        def refuse() -> None:
            if not place.given.done():
                place.given.set_exception(error)

        _tell(place.loop, refuse)

    # --- as a keeper ---------------------------------------------------------------------------------------------

    def look_after(self, client: Any) -> float:
        """See `Keeper`."""
        with self._lock:
            places = [place for place in self._places.values() if place.state != "new"]
        by_group: dict[str, list[_Place]] = {group: [] for group in self._in_use}
        for place in () if self._link.closed else places:
            by_group[place.group].append(place)
        soonest = self._link.lease_seconds
        for group, each in by_group.items():
            soonest = min(soonest, self._keep(client, group, each, "all"))
            if not each:
                self._in_use.discard(group)
        return soonest

    def woken(self, message: str) -> Errand | None:
        """See `Keeper`."""
        kind, _, rest = message.partition(" ")
        if kind != "seat":
            return None
        with self._lock:
            place = self._places.get(rest.rpartition(" ")[2])
        return None if place is None else lambda client: self._confirm(client, place)

    def left_alone(self, error: GateUnavailableError) -> None:
        """See `Keeper`: whoever waits is told; whoever works goes on."""
        with self._lock:
            waiting = [place for place in self._places.values() if place.state != "held"]
        for place in waiting:
            self._refuse(place, error)


def _settle(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


def _tell(loop: asyncio.AbstractEventLoop, what: Callable[[], None]) -> None:
    """Have `what` called on the loop, unless it is gone and everybody on it with it."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(what)


def _found_later(_: GateUnavailableError) -> None:
    """Redis is away: what has no place here any more is let go when it is looked after again."""
