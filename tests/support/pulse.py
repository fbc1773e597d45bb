"""How fast a router says that it lives while every seat is taken and 200 calls wait."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable

from openvlharness_adapters.http.connections import open_client
from tests.support.routing import HeldReader, ocr_call

AIM_SECONDS = 0.05
WAITING = 200


async def pulse(base: str, backend: HeldReader, waiting: Callable[[], int]) -> float:
    """The median of `/health` in seconds, with one call at work and the others waiting; all are answered in the end."""
    async with open_client() as client:
        bodies = [ocr_call(str(number)) for number in range(WAITING + 1)]
        calls = [asyncio.ensure_future(client.post(f"{base}/execute", json=body)) for body in bodies]
        end = time.monotonic() + 60
        while waiting() < WAITING or not backend.begun:
            assert time.monotonic() < end, "the calls never came to wait"
            await asyncio.sleep(0.005)
        took = []
        for _ in range(41):
            begun = time.perf_counter()
            assert (await client.get(f"{base}/health")).status_code == 200
            took.append(time.perf_counter() - begun)
        backend.let(len(calls))
        assert {reply.status_code for reply in await asyncio.gather(*calls)} == {200}
    return statistics.median(took)
