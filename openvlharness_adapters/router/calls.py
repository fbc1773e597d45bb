"""The life of one call: it waits for a seat, works, is answered, and gives its seat back when its work has stopped.

A call is one task, which also sends the answer: more tasks a call would cost more than everything else the router does.
Whoever sent the request only listens for its own end. So a call may have several callers, when a request is repeated with
its idempotency key, or none any more:

    waiting --seat--> working --answer--> stopping --threads done--> over
       |                 |
       | last caller     | last caller left and no key; deadline; lost seat; end of draining
       v                 v
      over            answered if anybody still listens, cancelled; then stopping

An answer that is given before the work has stopped (a deadline, a caller that left) never frees the seat.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import attrs

from openvlharness_adapters.router.answers import Answer, OtherBodyError
from openvlharness_adapters.router.gates import GateUnavailableError, QueueFullError, Seat
from openvlharness_adapters.router.threads import note_threads
from openvlharness_adapters.wire.capabilities import WIRES, CapabilityWire, WireCall
from openvlharness_adapters.wire.envelopes import ToolCall, invalid_request
from openvlharness_adapters.wire.failures import Failure, failure_of
from openvlharness_adapters.wire.usage import usage_to_wire
from openvlharness_core.errors import BackendUnavailableError, HarnessError
from openvlharness_core.results import Answered

if TYPE_CHECKING:
    from openvlharness_adapters.router.desk import Desk

Deliver = Callable[[Answer], Awaitable[None]]

_log = logging.getLogger("openvlharness.router")


@attrs.frozen(kw_only=True)
class ServedTool:
    """One backend under its concrete name.

    Attributes:
        name: such as `sam3_segment`.
        capability: key of `wire.capabilities.WIRES`.
        backend: has the capability's port, and offloads through `SeatedOffload`.
        group: whose seats it takes; `None` for work that needs none.
        limit: calls at a time, for `/tools`.
        timeout_seconds: deadline of a call, from taking the seat.
        wire: arguments and results, where they are not those of the capability.
    """

    name: str
    capability: str
    backend: object
    group: str | None
    limit: int | None = None
    timeout_seconds: float = 300.0
    wire: CapabilityWire = attrs.field(repr=False)

    @wire.default
    def _of_capability(self) -> CapabilityWire:
        return WIRES[self.capability]


@attrs.define(kw_only=True, eq=False)
class Call:
    """One call under way.

    Attributes:
        desk: what all calls share.
        tool: who does the work.
        asked: the call as it came.
        work: its arguments, read and checked.
        size: bytes taken from the desk's room until it has a seat.
        key: its idempotency key.
        digest: of its body, where other routers may have the same call; else `None`.
        seated: whether it has, or had, a seat.
        answer: once it is settled.
    """

    desk: Desk
    tool: ServedTool
    asked: ToolCall
    work: WireCall
    size: int
    key: str | None
    digest: bytes | None = None
    seated: bool = attrs.field(default=False, init=False)
    answer: Answer | None = attrs.field(default=None, init=False)
    _listeners: list[Deliver] = attrs.field(factory=list, init=False)
    _task: asyncio.Task[None] | None = attrs.field(default=None, init=False)
    _begun: bool = attrs.field(default=False, init=False)
    _stoppable: bool = attrs.field(default=True, init=False)

    def start(self) -> None:
        """Begin to wait."""
        self.desk.counters[self.tool.name].waiting += 1
        self._task = asyncio.get_running_loop().create_task(self._run())

    def listen(self, deliver: Deliver) -> None:
        """One more caller; `deliver` is awaited once, when the call is settled."""
        self._listeners.append(deliver)

    def leave(self, deliver: Deliver) -> None:
        """A caller is gone. Without effect once it is being answered."""
        if deliver not in self._listeners:
            return
        self._listeners.remove(deliver)
        if self._listeners or self.answer is not None or (self.seated and self.key is not None):
            return
        self.desk.forget(self, "left")  # now: whoever repeats the key must not join a call that is ending
        self._cancel()

    def give_up(self, answer: Answer) -> None:
        """Answer now, whatever the work does."""
        if self in self.desk.open:
            self._settle(answer)
            self.desk.deliver_soon(self.deliver())
        self._cancel()

    async def deliver(self) -> None:
        """Send the answer to everybody who still listens."""
        assert self.answer is not None
        listeners, self._listeners = self._listeners, []
        for listener in listeners[1:]:  # a caller that reads slowly keeps no other one waiting
            self.desk.deliver_soon(listener(self.answer))
        if listeners:
            await listeners[0](self.answer)

    async def _run(self) -> None:
        self._begun = True
        try:
            answer = await self._find_answer()
            seat = None if answer is not None else await self._take_seat()
        except (QueueFullError, GateUnavailableError) as error:
            self._settle(self.desk.busy(str(error)))
        except OtherBodyError as error:
            self._settle(self._failed(other_body(error)))
        except asyncio.CancelledError:
            pass  # whoever cancelled has settled it, or nobody listens any more
        else:
            if answer is not None:
                self._settle(answer)
            else:
                await self._work(seat)
        self._over()
        if self.answer is not None:
            await self.deliver()

    async def _find_answer(self) -> Answer | None:
        """What another router answered to the same call; `None` when it is to be run here."""
        if self.desk.elsewhere is None or self.key is None or self.digest is None:
            return None
        return await self.desk.elsewhere.claim(self.key, self.digest)

    async def _take_seat(self) -> Seat | None:
        group = self.tool.group
        return None if group is None else await self.desk.gate.acquire(group, self._lost)

    async def _work(self, seat: Seat | None) -> None:
        desk, tool = self.desk, self.tool
        counters = desk.counters[tool.name]
        counters.waiting -= 1
        counters.running += 1
        self.seated = True
        desk.room.give_back(self.size)
        threads = note_threads()
        begun = desk.clock.monotonic()
        stop_clock = desk.deadlines.start(tool.timeout_seconds, self._expired)
        try:
            answered = await self.work.ask(tool.backend, desk.take_in, tool.timeout_seconds)
            answer = self._success(answered, desk.clock.monotonic() - begun)
        except asyncio.CancelledError:
            # Whoever cancelled has settled it, or nobody listens any more; else the backend stopped of its own accord.
            answer = self._failed(failure_of(BackendUnavailableError(tool.name, "the backend gave the call up")))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a backend may be anybody's; the caller is told all the same
            if not isinstance(error, HarnessError):
                _log.exception("%s: a bug in the backend", tool.name)
            answer = self._failed(failure_of(error))
        finally:
            stop_clock()
            self._stoppable = False
        self._settle(answer)
        if (stopped := threads.stop()) is not None:
            if self.answer is not None:
                desk.deliver_soon(self.deliver())
            await stopped.wait()
        if seat is not None:
            await desk.gate.release(seat)
        counters.seconds += desk.clock.monotonic() - begun
        counters.finished += 1

    def _success(self, answered: Answered[object], seconds: float) -> Answer:
        meta: dict[str, object] = {"backend": answered.backend, "seconds": round(seconds, 6)}
        meta |= usage_to_wire(answered.usage)
        if answered.sidecars:
            meta["sidecars"] = dict(answered.sidecars)
        result = self.tool.wire.told(answered.value)
        return Answer(status=200, body=self.desk.shape.success(self.asked, result, meta), outcome="ok")

    def _failed(self, failure: Failure) -> Answer:
        return self.desk.failed(self.asked, failure)

    def _expired(self) -> None:
        self.give_up(self._failed(timeout_of(self.tool, f"no answer within {self.tool.timeout_seconds:g} s")))

    def _lost(self) -> None:
        self.give_up(self.desk.busy("the seat was lost"))

    def _settle(self, answer: Answer) -> None:
        if self.answer is None and self in self.desk.open:
            self.answer = answer
            self.desk.settle(self, answer)

    def _cancel(self) -> None:
        if self._task is not None and self._stoppable:
            self._task.cancel()
            if not self._begun:  # then nothing of it will ever run
                self._stoppable = False
                self._over()

    def _over(self) -> None:
        counters = self.desk.counters[self.tool.name]
        if self.seated:
            counters.running -= 1
        else:
            counters.waiting -= 1
            self.desk.room.give_back(self.size)


def other_body(error: OtherBodyError) -> Failure:
    """The failure of a call whose key belongs to another one."""
    return invalid_request(f"Idempotency-Key: {error}", 422)


def timeout_of(tool: ServedTool, why: str) -> Failure:
    """The failure of a call that was given up while it worked."""
    return Failure(
        code="backend_timeout", message=why, exception_type="BackendTimeoutError", facts={"backend": tool.name}
    )
