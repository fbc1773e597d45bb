"""Where calls come in: repeated ones are joined, bad ones refused, the others started; and how it all ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from typing import Any

import attrs

from openvlharness_adapters.router.answers import Answer, Answers, OtherBodyError
from openvlharness_adapters.router.bodies import Room
from openvlharness_adapters.router.calls import Call, ServedTool, other_body, timeout_of
from openvlharness_adapters.router.deadlines import Deadlines
from openvlharness_adapters.router.gates import Gate
from openvlharness_adapters.router.joining import Elsewhere, digest_of
from openvlharness_adapters.router.metrics import ToolCounters
from openvlharness_adapters.router.shapes import Shape
from openvlharness_adapters.wire.capabilities import WireCall
from openvlharness_adapters.wire.envelopes import BadCallError, ToolCall
from openvlharness_adapters.wire.failures import Failure, bad_arguments
from openvlharness_adapters.wire.images import TakeIn
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.ports.clock import Clock

RETRY_AFTER_SECONDS = 1
LONG_BYTES = 4 << 20
"""A body that takes the loop longer to read than a thread takes to start."""

_log = logging.getLogger("openvlharness.router")


@attrs.frozen(kw_only=True)
class Reading:
    """What a body asks for.

    Attributes:
        asked: the call, as far as it can be read.
        tool: who is to do it, where there is such a tool.
        outcome: its arguments, or why it cannot be done.
        digest: of the body, where other routers may have the same call.
    """

    asked: ToolCall
    tool: ServedTool | None = None
    outcome: WireCall | Answer
    digest: bytes | None = None


@attrs.define(kw_only=True, eq=False)
class Desk:
    """What the calls of one server share. One event loop uses it.

    Attributes:
        tools: by the name that callers use.
        gate: capacity.
        clock: deadlines and kept answers.
        take_in: makes pictures of what callers send.
        shape: how requests and answers look.
        answers: running and answered calls by idempotency key.
        elsewhere: those of other routers; `None` for a router by itself. Calls that need no seat are not shared:
            they are to go on whatever happens to the others.
        room: memory of calls without a seat.
        draining: whether the server is about to end.
        open: calls that are still to be answered.
    """

    tools: Mapping[str, ServedTool]
    gate: Gate
    clock: Clock
    take_in: TakeIn
    shape: Shape
    answers: Answers[Call]
    elsewhere: Elsewhere | None = None
    room: Room = attrs.field(factory=Room)
    deadlines: Deadlines = attrs.field(init=False)
    counters: dict[str, ToolCounters] = attrs.field(init=False)
    draining: bool = attrs.field(default=False, init=False)
    open: set[Call] = attrs.field(factory=set, init=False)
    _deliveries: set[asyncio.Task[None]] = attrs.field(factory=set, init=False)
    _idle: asyncio.Event | None = attrs.field(default=None, init=False)

    @deadlines.default
    def _no_deadlines(self) -> Deadlines:
        return Deadlines(self.clock)

    @counters.default
    def _no_calls(self) -> dict[str, ToolCounters]:
        return {tool.name: ToolCounters() for tool in self.tools.values()}

    async def take(self, body: bytes, name: str, key: str | None) -> Call | Answer:
        """As `admit`, but a long body is read in a thread, so that the others go on meanwhile."""
        reading = await asyncio.to_thread(self.read, body, name) if len(body) > LONG_BYTES else None
        return self.admit(body, name, key, reading)

    def admit(self, body: bytes, name: str, key: str | None, reading: Reading | None = None) -> Call | Answer:
        """The call that a request starts or joins, or its answer where that is certain already.

        Args:
            body: of the request; its length has been taken from `room`, and is given back here unless a call starts.
            name: the tool that the address names; empty where the body does.
            key: the idempotency key.
            reading: of the body, if it has been read.
        """
        outcome = self._admitted(body, name, key, reading)
        if not (isinstance(outcome, Call) and outcome not in self.open):
            self.room.give_back(len(body))
            return outcome
        self.open.add(outcome)
        if key is not None:
            self.answers.begin(key, body, outcome)
        outcome.start()
        return outcome

    def _admitted(self, body: bytes, name: str, key: str | None, reading: Reading | None) -> Call | Answer:
        try:
            if key is not None and (known := self.answers.find(key, body)) is not None:
                return known
        except OtherBodyError as error:
            return self._refused(body, name, error)
        if self.draining:
            return self.busy("the server is about to end")
        found = reading or self.read(body, name)
        if isinstance(found.outcome, Answer):
            if found.tool is not None:
                self.counters[found.tool.name].count(found.outcome.outcome)
            return found.outcome
        assert found.tool is not None
        return Call(
            desk=self,
            tool=found.tool,
            asked=found.asked,
            work=found.outcome,
            size=len(body),
            key=key,
            digest=None if key is None else found.digest,
        )

    def read(self, body: bytes, name: str) -> Reading:
        """What a request asks for, checked; changes nothing, so it may run in a thread."""
        try:
            asked = self.shape.read(body, name)
        except BadCallError as error:
            return Reading(asked=error.call, outcome=self.failed(error.call, error.failure))
        tool = self.tools.get(asked.tool or "")
        if tool is None:
            served = ", ".join(sorted(self.tools))
            message = f"no tool of that name is served here; there are: {served}"
            unknown = Failure(
                code="unknown_tool", message=message, exception_type="UnknownToolError", client_error=True
            )
            return Reading(asked=asked, outcome=self.failed(asked, unknown))
        try:
            work = tool.wire.read(asked.args)
        except MalformedResultError as error:
            return Reading(asked=asked, tool=tool, outcome=self.failed(asked, bad_arguments(error)))
        digest = None if self.elsewhere is None or tool.group is None else digest_of(body)
        # Its arguments are read: what waits holds the bytes of pictures once.
        return Reading(asked=attrs.evolve(asked, args=None), tool=tool, outcome=work, digest=digest)

    def _refused(self, body: bytes, name: str, why: OtherBodyError) -> Answer:
        try:
            asked = self.shape.read(body, name)
        except BadCallError as error:
            asked = error.call
        return self.failed(asked, other_body(why))

    def settle(self, call: Call, answer: Answer) -> None:
        """`call` has its answer: count it, and keep it for who repeats its key."""
        self._close(call, answer.outcome, answer)

    def forget(self, call: Call, outcome: str) -> None:
        """`call` will have no answer, since nobody waits for one."""
        self._close(call, outcome, None)

    def _close(self, call: Call, outcome: str, answer: Answer | None) -> None:
        self.open.discard(call)
        self.counters[call.tool.name].count(outcome)
        if call.key is not None:
            self.answers.end(call.key, answer)
            if self.elsewhere is not None and call.digest is not None:
                self.elsewhere.end(call.key, answer)
        if self._idle is not None and not self.open:
            self._idle.set()

    def busy(self, why: str) -> Answer:
        """A refusal that asks to come again; no envelope, so that clients do."""
        body = f"{why}; please come again\n".encode()
        retry_after = RETRY_AFTER_SECONDS
        return Answer(
            status=503, body=body, outcome="refused", retry_after=retry_after, media_type="text/plain; charset=utf-8"
        )

    def failed(self, asked: ToolCall, failure: Failure) -> Answer:
        """The answer of a structured failure."""
        return Answer(status=failure.status, body=self.shape.failure(asked, failure), outcome=failure.code)

    def deliver_soon(self, delivery: Coroutine[Any, Any, None] | Any) -> None:
        """Send an answer in a task of its own."""
        task = asyncio.get_running_loop().create_task(_sent(delivery))
        self._deliveries.add(task)
        task.add_done_callback(self._deliveries.discard)

    async def drain(self, seconds: float) -> None:
        """Take no new calls, let the others go on for so long, then answer those that are left.

        Those that had not started get a 503 and may go elsewhere; those that had get a `backend_timeout`.
        """
        self.draining = True
        if self.open:
            self._idle = asyncio.Event()
            idle = asyncio.ensure_future(self._idle.wait())
            timer = asyncio.ensure_future(self.clock.sleep(seconds))
            try:
                await asyncio.wait({idle, timer}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                idle.cancel()
                timer.cancel()
        for call in list(self.open):
            if call.seated:
                call.give_up(self.failed(call.asked, timeout_of(call.tool, "the server ended before there was one")))
            else:
                call.give_up(self.busy("the server is about to end"))
        await asyncio.gather(*self._deliveries)
        await self.deadlines.close()


async def _sent(delivery: Coroutine[Any, Any, None]) -> None:
    try:
        await delivery
    except Exception:  # noqa: BLE001 - one caller's connection; there is nobody to tell
        _log.debug("an answer could not be sent", exc_info=True)
