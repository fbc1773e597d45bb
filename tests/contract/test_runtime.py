"""The suites of Clock and Offload, bound to the machine and to the fakes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contracts.ports.clock import ClockContract
from contracts.ports.offload import OffloadContract
from openvlharness_adapters.runtime import SystemClock, ThreadOffload
from openvlharness_core.ports.clock import Clock
from openvlharness_core.testing.time import FakeClock, InlineOffload


class TestSystemClock(ClockContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return SystemClock()


class TestFakeClock(ClockContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return FakeClock(auto=True)


class TestThreadOffload(OffloadContract):
    @pytest.fixture(params=[1, 8])
    def offload(self, request: pytest.FixtureRequest) -> Iterator[ThreadOffload]:
        offload = ThreadOffload(threads=request.param)
        yield offload
        offload.close()


class TestInlineOffload(OffloadContract):
    @pytest.fixture
    def offload(self) -> InlineOffload:
        return InlineOffload()
