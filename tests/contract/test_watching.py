"""The suites of Tracer and TokenCounter, bound to the doubles and to the tracer of the command line."""

from __future__ import annotations

import pytest

from contracts.ports.sample_question import sample_run
from contracts.ports.token_counter import TokenCounterContract
from contracts.ports.tracer import TracerContract
from openvlharness_app.cli.steps import WaitPrinter
from openvlharness_core.agent.protocol import Finish, Started
from openvlharness_core.testing import RecordingTracer, WordCounter


class TestRecordingTracer(TracerContract):
    @pytest.fixture
    def tracer(self) -> RecordingTracer:
        return RecordingTracer()

    async def test_everything_is_kept_in_order(self, tracer: RecordingTracer) -> None:
        await sample_run(tracer=tracer)
        assert isinstance(tracer.events[0], Started)
        assert isinstance(tracer.effects[-1], Finish)
        assert len(tracer.effects) == len(tracer.events)
        tracer.note("q", "kind", "text")
        assert tracer.notes[-1] == ("kind", "text")


class TestWaitPrinter(TracerContract):
    @pytest.fixture
    def tracer(self) -> WaitPrinter:
        return WaitPrinter()


class TestWordCounter(TokenCounterContract):
    @pytest.fixture
    def counter(self) -> WordCounter:
        return WordCounter()
