"""Which failures are tried again, how often and after how long.

Another attempt follows 408, 429, 500, 502, 503 and 504, attempts that ran out of time, and connections that failed or
broke; nothing else. A server that names a wait is given it up to 30 s. One that asks for more ends the call at once:
nobody should sit through two days of silence. Time is the Clock's, chance is handed in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Coroutine
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import attrs

from openvlharness_adapters.http.errors import AttemptFailed, Fault
from openvlharness_core.ports.clock import Clock
from openvlharness_core.waiting import within

T = TypeVar("T")

LONGEST_WAIT_SECONDS = 30.0
_FIRST_BACKOFF_SECONDS = 0.5
_SECONDS = re.compile(r"\d+(\.\d+)?", re.ASCII)


@attrs.frozen(kw_only=True)
class Wait:
    """A wait that is about to begin.

    Attributes:
        seconds: how long.
        attempt: which attempt failed, from 1.
        attempts: how many there are at most.
        reason: why it failed, with nothing secret in it.
        asked: whether the server named the wait.
    """

    seconds: float
    attempt: int
    attempts: int
    reason: str
    asked: bool

    def __str__(self) -> str:
        why = ", as the server asked" if self.asked else ""
        return (
            f"attempt {self.attempt} of {self.attempts} failed, the next follows in {self.seconds:.3g} s{why}: "
            f"{self.reason}"
        )


def _positive(_: object, field: attrs.Attribute[float], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{field.name}: expected seconds above 0, got {value!r}")


def _count(_: object, field: attrs.Attribute[int], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{field.name}: expected a whole number from 0, got {value!r}")


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """How patient a client is.

    Attributes:
        retry: attempts after the first one.
        timeout_seconds: limit of each attempt as a whole, from connecting to the last byte.
        share: called for each backoff; a random number from 0 to 1 that the backoff is multiplied by.
    """

    retry: int = attrs.field(validator=_count)
    timeout_seconds: float = attrs.field(validator=_positive)
    share: Callable[[], float]


def backoff_seconds(attempt: int, share: float) -> float:
    """The wait after attempt number `attempt` (from 1): up to 0.5, 1, 2, 4, … and never over 30 s."""
    # Past the sixth doubling the limit holds anyway, and a float overflows at the thousandth.
    return min(LONGEST_WAIT_SECONDS, _FIRST_BACKOFF_SECONDS * 2.0 ** min(attempt - 1, 10)) * share


def find_retry_after(value: str | None, wall_seconds: float) -> float | None:
    """Seconds to wait by a Retry-After header, 0 for a date in the past; `None` when it says nothing valid.

    Args:
        value: the header, in seconds or as an HTTP date.
        wall_seconds: now, in seconds since the epoch.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
        # A date without a zone, or with -0000, means UTC.
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - wall_seconds)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


async def with_retries(
    attempt: Callable[[], Coroutine[Any, Any, T]],
    *,
    policy: RetryPolicy,
    clock: Clock,
    on_wait: Callable[[Wait], None],
) -> T:
    """Return what the first successful attempt returns.

    An attempt raises AttemptFailed for what may be retried or translated; everything else passes through at once.
    Cancelling the task ends an attempt as well as a wait.

    Raises:
        AttemptFailed: with the last fault, which says how many attempts there were.
    """
    attempts = policy.retry + 1
    for number in range(1, attempts + 1):
        outcome = await _one(attempt, policy, clock)
        if not isinstance(outcome, Fault):
            return outcome[0]
        if not outcome.transient:
            raise AttemptFailed(outcome)
        asked = find_retry_after(outcome.retry_after, clock.wall())
        if asked is not None and asked > LONGEST_WAIT_SECONDS:
            raise AttemptFailed(_noted(outcome, f"it asks to wait {asked:.6g} s, longer than {LONGEST_WAIT_SECONDS:g}"))
        if number == attempts:
            raise AttemptFailed(_noted(outcome, f"{attempts} attempts") if attempts > 1 else outcome)
        seconds = backoff_seconds(number, policy.share()) if asked is None else asked
        reason = outcome.message
        on_wait(Wait(seconds=seconds, attempt=number, attempts=attempts, reason=reason, asked=asked is not None))
        await clock.sleep(seconds)
    raise AssertionError("the last attempt either returns or raises")


def _noted(fault: Fault, note: str) -> Fault:
    return attrs.evolve(fault, sentence=f"{fault.sentence} ({note})")


async def _one(attempt: Callable[[], Coroutine[Any, Any, T]], policy: RetryPolicy, clock: Clock) -> tuple[T] | Fault:
    # Faults are returned, so that no exception of an attempt is the context of what is raised in the end.
    try:
        return (await within(clock, policy.timeout_seconds, attempt()),)
    except AttemptFailed as failed:
        return failed.fault
    except TimeoutError:
        sentence = f"no answer within {policy.timeout_seconds:g} s"
        return Fault(kind="timeout", code="timeout", sentence=sentence, transient=True)
