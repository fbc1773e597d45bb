"""Calls by idempotency key as several routers share them: `Elsewhere` over Redis.

    asking --claimed--> ours --end--> kept for a while
       |
    elsewhere --answer--> told;  its router died: asking again

A claim outlives the silence of its router by a lease and no more, so a call whose router was killed can be run again.
Answers given while Redis is away are told when it is back.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any, Literal

import attrs

from openvlharness_adapters.router.answers import KEPT_SECONDS, Answer, OtherBodyError
from openvlharness_adapters.router.gates import GateUnavailableError
from openvlharness_adapters.router.joining import digest_of
from openvlharness_adapters.router.redis_link import Errand, RedisLink
from openvlharness_adapters.router.redis_script import CALLS


@attrs.define(eq=False)
class _Claim:
    """A call of this router, changed in the command thread only.

    Attributes:
        name: in Redis; the process first.
        call: the call's name in Redis, made of its key.
        digest: of its body.
        loop: where it is awaited.
        told: who runs it.
        state: see the module.
        answer: once it ended here.
    """

    name: str
    call: str
    digest: bytes
    loop: asyncio.AbstractEventLoop
    told: asyncio.Future[Answer | None]
    state: Literal["asking", "elsewhere", "ours", "ended"] = "asking"
    answer: Answer | None = None


class RedisCalls:
    """See the module, and `Elsewhere`."""

    def __init__(self, link: RedisLink, *, max_bytes: int) -> None:
        """Args: Redis, and bytes of kept answers of all routers together; the oldest go first."""
        self._link = link
        self._max_bytes = max_bytes
        self._script = link.script(CALLS)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._claims: dict[str, _Claim] = {}
        self._untold: list[_Claim] = []
        link.keep(self)

    async def claim(self, key: str, digest: bytes) -> Answer | None:
        """See `Elsewhere`."""
        loop = asyncio.get_running_loop()
        call = self._call_of(key)
        claim = _Claim(f"{self._link.name}:{next(self._numbers)}", call, digest, loop, loop.create_future())
        with self._lock:
            self._claims[call] = claim
        self._link.post(lambda client: self._ask(client, claim), lambda error: self._fail(claim, error))
        try:
            return await claim.told
        except BaseException:  # cancelled too: then nobody is to wait for this router
            self._close(claim, None)
            raise

    def end(self, key: str, answer: Answer | None) -> None:
        """See `Elsewhere`."""
        call = self._call_of(key)
        with self._lock:
            claim = self._claims.get(call)
        if claim is not None:
            self._close(claim, None if answer is None or answer.status == 503 else answer)

    def _call_of(self, key: str) -> str:
        return f"{self._link.prefix}:call:{digest_of(key.encode()).hex()}"

    def _close(self, claim: _Claim, answer: Answer | None) -> None:
        if not self._forget(claim):
            return
        claim.answer = answer
        self._link.post(lambda client: self._tell_end(client, claim), lambda _: self._remember(claim))

    def _forget(self, claim: _Claim) -> bool:
        """Whether it was known."""
        with self._lock:
            if self._claims.get(claim.call) is not claim:
                return False
            del self._claims[claim.call]
        return True

    def _remember(self, claim: _Claim) -> None:
        if claim.answer is not None:  # a claim without an answer ends with its lease
            with self._lock:
                self._untold.append(claim)

    # --- in the command thread -----------------------------------------------------------------------------------

    def _run(self, client: Any, act: str, *arguments: str | bytes) -> Any:
        prefix = self._link.prefix
        lease = str(max(1, round(self._link.lease_seconds * 1000)))
        return self._script(
            keys=[f"{prefix}:born", f"{prefix}:answers", f"{prefix}:answer_bytes"],
            args=[act, self._link.name, self._link.channel_of(""), lease, *arguments],
            client=client,
        )

    def _ask(self, client: Any, claim: _Claim) -> None:
        with self._lock:
            if self._claims.get(claim.call) is not claim or claim.state == "ours":
                return
        state, *rest = self._run(client, "claim", claim.call, claim.name, claim.digest)
        if state == b"yours":
            claim.state = "ours"
            self._settle(claim, None)
        elif state == b"wait":
            claim.state = "elsewhere"
            self._link.hurry(int(rest[0]) / 1000)
        elif state == b"other":
            self._fail(claim, OtherBodyError())
        else:
            status, outcome, media, body = rest
            answer = Answer(status=int(status), body=body, outcome=outcome.decode(), media_type=media.decode())
            self._forget(claim)
            self._settle(claim, answer)

    def _tell_end(self, client: Any, claim: _Claim) -> None:
        known, answer = (claim.call, claim.name, claim.digest), claim.answer
        if answer is None:
            self._run(client, "end", *known, "")
            return
        told = (str(answer.status), answer.outcome, answer.media_type, answer.body)
        self._run(client, "end", *known, *told, str(round(KEPT_SECONDS)), str(self._max_bytes))

    def _settle(self, claim: _Claim, answer: Answer | None) -> None:
        def settle() -> None:
            if not claim.told.done():
                claim.told.set_result(answer)

        if not claim.loop.is_closed():
            claim.loop.call_soon_threadsafe(settle)

    def _fail(self, claim: _Claim, error: Exception) -> None:
        """Here or on the loop."""
        self._forget(claim)

        def fail() -> None:
            if not claim.told.done():
                claim.told.set_exception(error)

        if not claim.loop.is_closed():
            claim.loop.call_soon_threadsafe(fail)

    # --- as a keeper ---------------------------------------------------------------------------------------------

    def look_after(self, client: Any) -> float:
        """See `Keeper`."""
        with self._lock:
            claims, untold = list(self._claims.values()), list(self._untold)
        ours = [part for claim in claims if claim.state == "ours" for part in (claim.call, claim.name, claim.digest)]
        if ours:
            self._run(client, "keep", *ours)
        for claim in untold:
            self._tell_end(client, claim)
            self._untold.remove(claim)
        for claim in claims:
            if claim.state == "elsewhere":
                self._ask(client, claim)
        return self._link.lease_seconds / 3

    def woken(self, message: str) -> Errand | None:
        """See `Keeper`."""
        kind, _, call = message.partition(" ")
        with self._lock:
            claim = self._claims.get(call) if kind == "call" else None
        return None if claim is None else lambda client: self._ask(client, claim)

    def left_alone(self, error: GateUnavailableError) -> None:
        """See `Keeper`: whoever waits for another router is told; what runs here goes on."""
        with self._lock:
            waiting = [claim for claim in self._claims.values() if claim.state != "ours"]
        for claim in waiting:
            self._fail(claim, error)
