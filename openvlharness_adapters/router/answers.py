"""Answers that are ready to send, and those kept so that a repeated call is not done again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

import attrs

from openvlharness_core.ports.clock import Clock

KEPT_SECONDS = 60.0

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Answer:
    """A response, complete.

    Attributes:
        status: HTTP status.
        body: what is sent.
        outcome: `ok`, a failure's code, or `refused`; for the counters.
        retry_after: seconds, for a caller that should come again.
        media_type: of the body.
        close: whether the connection is of no use after it.
    """

    status: int
    body: bytes = attrs.field(repr=False)
    outcome: str
    retry_after: int | None = None
    media_type: str = "application/json"
    close: bool = False

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        headers = [
            (b"content-type", self.media_type.encode()),
            (b"content-length", str(len(self.body)).encode()),
        ]
        if self.retry_after is not None:
            headers.append((b"retry-after", str(self.retry_after).encode()))
        if self.close:
            headers.append((b"connection", b"close"))
        return headers


class OtherBodyError(Exception):
    """An idempotency key came with another body than before."""

    def __init__(self) -> None:
        super().__init__("this key came with another body")


@attrs.define(eq=False)
class _Entry(Generic[T]):
    fingerprint: int
    call: T | None
    answer: Answer | None = None
    until: float = 0.0


@attrs.define(kw_only=True, eq=False)
class Answers(Generic[T]):
    """Calls by idempotency key: those that are under way, and for a while those that were answered.

    Attributes:
        clock: how long is a while.
        max_bytes: kept bodies, all together; the oldest go first, and one that is longer is not kept at all.
        keep_seconds: how long an answer is kept.
    """

    clock: Clock
    max_bytes: int
    keep_seconds: float = KEPT_SECONDS
    _entries: OrderedDict[str, _Entry[T]] = attrs.field(factory=OrderedDict, init=False)
    _done: OrderedDict[str, _Entry[T]] = attrs.field(factory=OrderedDict, init=False)
    held_bytes: int = attrs.field(default=0, init=False)

    def find(self, key: str, body: bytes) -> T | Answer | None:
        """The call or the answer of that key; `None` for a new one.

        Raises:
            OtherBodyError: the key came with another body.
        """
        self._forget_old()
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.fingerprint != fingerprint_of(body):
            raise OtherBodyError
        return entry.answer if entry.answer is not None else entry.call

    def begin(self, key: str, body: bytes, call: T) -> None:
        """A call of a new key is under way."""
        self._entries[key] = _Entry(fingerprint_of(body), call)

    def end(self, key: str, answer: Answer | None) -> None:
        """A call has ended; without an answer, and with a 503, its key is new again."""
        entry = self._entries.get(key)
        if entry is None:
            return
        entry.call = None
        if answer is None or answer.status == 503 or len(answer.body) > self.max_bytes:
            del self._entries[key]
            return
        entry.answer, entry.until = answer, self.clock.monotonic() + self.keep_seconds
        self._done[key] = entry
        self.held_bytes += len(answer.body)
        while self.held_bytes > self.max_bytes:
            self._drop(next(iter(self._done)))

    def _forget_old(self) -> None:
        now = self.clock.monotonic()
        while self._done and next(iter(self._done.values())).until <= now:
            self._drop(next(iter(self._done)))

    def _drop(self, key: str) -> None:
        entry = self._done.pop(key)
        del self._entries[key]
        assert entry.answer is not None
        self.held_bytes -= len(entry.answer.body)


def fingerprint_of(body: bytes) -> int:
    """A keyed 64-bit hash: it finds mistakes of callers, and costs a tenth of a digest."""
    return hash(body)
