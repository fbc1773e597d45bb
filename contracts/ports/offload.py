"""What every Offload promises.

Subclass `OffloadContract` in a test module as `Test…` and supply a fixture `offload`.
"""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from openvlharness_core.ports.offload import Offload


class OffloadContract:
    """See the module."""

    async def test_the_result_comes_back(self, offload: Offload) -> None:
        value = object()
        assert await offload.run(lambda: value) is value
        assert await offload.run(lambda: [None]) == [None]

    async def test_what_the_call_raises_is_raised(self, offload: Offload) -> None:
        raised = ValueError("as it was")

        def fail() -> None:
            raise raised

        with pytest.raises(ValueError, match="as it was") as failure:
            await offload.run(fail)
        assert failure.value is raised

    async def test_many_at_once_each_get_their_own(self, offload: Offload) -> None:
        assert await asyncio.gather(*(offload.run(partial(pow, n, 2)) for n in range(200))) == [
            n * n for n in range(200)
        ]

    async def test_a_failure_does_not_spoil_the_next_call(self, offload: Offload) -> None:
        with pytest.raises(ZeroDivisionError):
            await offload.run(lambda: 1 // 0)
        assert await offload.run(lambda: 1) == 1

    def test_it_serves_one_loop_after_another(self, offload: Offload) -> None:
        async def ask() -> int:
            return await offload.run(lambda: 7)

        assert [asyncio.run(ask()) for _ in range(3)] == [7, 7, 7]
