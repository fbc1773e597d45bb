"""The clock and the threads of the machine."""

from __future__ import annotations

import asyncio
import threading

import pytest

from openvlharness_adapters.runtime import ThreadOffload


async def test_the_loop_goes_on_while_a_call_runs() -> None:
    offload, release = ThreadOffload(threads=1), threading.Event()
    waiting = asyncio.ensure_future(offload.run(lambda: release.wait(10)))
    await asyncio.sleep(0)
    assert not waiting.done()
    release.set()
    assert await waiting
    offload.close()


async def test_no_more_threads_than_allowed() -> None:
    offload, lock = ThreadOffload(threads=3), threading.Lock()
    running: list[int] = [0, 0]
    meet = threading.Barrier(3, timeout=10)

    def call() -> str:
        with lock:
            running[0] += 1
            running[1] = max(running)
        meet.wait()
        with lock:
            running[0] -= 1
        return threading.current_thread().name

    names = set(await asyncio.gather(*(offload.run(call) for _ in range(9))))
    assert running[1] == 3
    assert len(names) == 3
    offload.close()


def test_several_loops_at_once_share_the_threads() -> None:
    offload, results = ThreadOffload(threads=2), []

    async def ask(n: int) -> list[int]:
        return await asyncio.gather(*(offload.run(lambda n=n: n) for _ in range(20)))  # type: ignore[misc]

    threads = [threading.Thread(target=lambda n=n: results.append(asyncio.run(ask(n)))) for n in range(4)]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [[n] * 20 for n in range(4)]
    offload.close()


async def test_stop_iteration_does_not_hang_the_caller() -> None:
    offload = ThreadOffload(threads=1)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await offload.run(lambda: next(iter(())))
    offload.close()


async def test_a_closed_pool_says_so() -> None:
    offload = ThreadOffload(threads=1)
    offload.close()
    with pytest.raises(RuntimeError, match="shutdown"):
        await offload.run(lambda: 1)


@pytest.mark.parametrize("threads", [0, -1])
def test_a_pool_needs_a_thread(threads: int) -> None:
    with pytest.raises(ValueError, match="threads"):
        ThreadOffload(threads=threads)
