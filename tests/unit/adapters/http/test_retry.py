"""Which failures are tried again, how often and after how long; time is moved by hand."""

from __future__ import annotations

import asyncio
from email.utils import formatdate

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.http.errors import AttemptFailed, Fault
from openvlharness_adapters.http.retry import RetryPolicy, Wait, backoff_seconds, find_retry_after, with_retries
from openvlharness_core.testing.time import FakeClock, settle
from tests.support.watcher import Watcher

BUSY = Fault(kind="status", code="http_503", sentence="503", transient=True)
NOW = 1_700_000_000.0


@attrs.define
class Attempts:
    """Fails with these faults in turn, then succeeds."""

    faults: list[Fault]
    made: int = 0

    async def __call__(self) -> str:
        self.made += 1
        if self.made <= len(self.faults):
            raise AttemptFailed(self.faults[self.made - 1])
        return "done"


async def _run(attempts: Attempts, retry: int, share: float = 1.0) -> tuple[str, list[Wait]]:
    clock = FakeClock()
    watcher = Watcher(clock)
    policy = RetryPolicy(retry=retry, timeout_seconds=60.0, share=lambda: share)
    return await with_retries(attempts, policy=policy, clock=clock, on_wait=watcher), watcher.waits


async def test_backoff_doubles_up_to_the_limit() -> None:
    result, waits = await _run(Attempts([BUSY] * 9), retry=9)
    assert result == "done"
    assert [wait.seconds for wait in waits] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert str(waits[0]) == "attempt 1 of 10 failed, the next follows in 0.5 s: 503"


async def test_backoff_is_shared_out() -> None:
    _, waits = await _run(Attempts([BUSY] * 3), retry=3, share=0.25)
    assert [wait.seconds for wait in waits] == [0.125, 0.25, 0.5]


@pytest.mark.parametrize("retry", [0, 1, 4])
async def test_no_more_than_the_attempts_there_are(retry: int) -> None:
    attempts = Attempts([BUSY] * 9)
    with pytest.raises(AttemptFailed) as failed:
        await _run(attempts, retry)
    assert attempts.made == retry + 1
    assert failed.value.fault.transient
    assert (f"{retry + 1} attempts" in failed.value.fault.message) == (retry > 0)


async def test_what_does_not_pass_fails_at_once() -> None:
    attempts = Attempts([attrs.evolve(BUSY, transient=False, retry_after="1")])
    with pytest.raises(AttemptFailed):
        await _run(attempts, retry=5)
    assert attempts.made == 1


@pytest.mark.parametrize(
    ("header", "seconds", "asked"),
    [
        ("7", 7.0, True),
        ("30", 30.0, True),
        ("0", 0.0, True),
        ("1.5", 1.5, True),
        (formatdate(NOW + 12, usegmt=True), 12.0, True),
        (formatdate(NOW - 100, usegmt=True), 0.0, True),
        ("-1", 0.5, False),
        ("NaN", 0.5, False),
        ("inf", 0.5, False),
        ("", 0.5, False),
        ("soon", 0.5, False),
        ("1e1", 0.5, False),
        ("٣", 0.5, False),
        ("Fri, 99 Foo 2024 00:00:00 GMT", 0.5, False),
        (None, 0.5, False),
    ],
)
async def test_the_wait_that_a_server_names(header: str | None, seconds: float, *, asked: bool) -> None:
    _, (wait,) = await _run(Attempts([attrs.evolve(BUSY, retry_after=header)]), retry=1)
    assert (wait.seconds, wait.asked) == (seconds, asked)


@pytest.mark.parametrize("header", ["198300", "30.5", "9" * 400, formatdate(NOW + 172_800, usegmt=True)])
async def test_too_long_a_wait_ends_the_call_at_once(header: str) -> None:
    attempts = Attempts([attrs.evolve(BUSY, retry_after=header)])
    with pytest.raises(AttemptFailed, match="asks to wait") as failed:
        await _run(attempts, retry=5)
    assert attempts.made == 1
    if header == "198300":
        assert "198300 s" in failed.value.fault.message


async def test_an_attempt_that_takes_too_long_is_cancelled_and_tried_again() -> None:
    clock, cancelled = FakeClock(), []
    watcher = Watcher(clock)

    async def attempt() -> str:
        if cancelled:
            return "done"
        try:
            advance = asyncio.create_task(clock.advance(5.0))
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append(advance)
            raise
        raise AssertionError("unreachable")

    policy = RetryPolicy(retry=1, timeout_seconds=5.0, share=lambda: 1.0)
    assert await with_retries(attempt, policy=policy, clock=clock, on_wait=watcher) == "done"
    assert [wait.reason for wait in watcher.waits] == ["no answer within 5 s"]
    await settle()
    assert not clock._sleepers


@pytest.mark.parametrize("during", ["attempt", "wait"])
async def test_cancelling_interrupts(during: str) -> None:
    clock, waits, begun = FakeClock(), [], asyncio.Event()

    async def attempt() -> str:
        if during == "wait":
            raise AttemptFailed(BUSY)
        begun.set()
        await asyncio.get_running_loop().create_future()
        return "never"

    def on_wait(wait: Wait) -> None:
        waits.append(wait)
        begun.set()

    policy = RetryPolicy(retry=1, timeout_seconds=5.0, share=lambda: 1.0)
    task = asyncio.create_task(with_retries(attempt, policy=policy, clock=clock, on_wait=on_wait))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(waits) == (during == "wait")
    await settle()
    assert not clock._sleepers


async def test_what_no_attempt_should_raise_passes_through() -> None:
    async def attempt() -> str:
        raise KeyError("a bug")

    policy = RetryPolicy(retry=3, timeout_seconds=5.0, share=lambda: 1.0)
    with pytest.raises(KeyError):
        await with_retries(attempt, policy=policy, clock=FakeClock(), on_wait=lambda _: None)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_no_backoff_is_longer_than_the_limit(attempt: int, share: float) -> None:
    assert 0 <= backoff_seconds(attempt, share) <= 30


@given(st.text() | st.none())
def test_any_header_gives_seconds_or_nothing(value: str | None) -> None:
    seconds = find_retry_after(value, NOW)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("field", "value"),
    [("retry", -1), ("retry", True), ("retry", 1.5), ("timeout_seconds", 0), ("timeout_seconds", float("nan"))],
)
def test_a_policy_names_what_it_cannot_be(field: str, value: object) -> None:
    settings = {"retry": 1, "timeout_seconds": 1.0, "share": lambda: 1.0} | {field: value}
    with pytest.raises(ValueError, match=f"^{field}: expected"):
        RetryPolicy(**settings)
