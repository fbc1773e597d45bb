"""What every ReportStore promises.

Subclass `ReportStoreContract` in a test module as `Test…` and supply the fixtures `store`, a new and empty store, and
`reopen`, which makes the store that another process would have over the same place. The tests are coroutines, for
pytest-asyncio or a runner of your own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import attrs
import pytest

from openvlharness_core.agent.checkpoint import Checkpoint
from openvlharness_core.agent.protocol import AskModel
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.state import effect_of
from openvlharness_core.errors import SavedFileError
from openvlharness_core.memory.bindings import Binding, same
from openvlharness_core.ports.store import ReportStore
from openvlharness_core.testing.stores import InMemoryReportStore

from .sample_question import sample_agent, sample_policy, sample_replies, sample_run, sample_toolset

Reopen: TypeAlias = Callable[[ReportStore], ReportStore]


class ReportStoreContract:
    """The promises of the port, one test each."""

    @pytest.fixture
    def location(self) -> str:
        """A location that is free; override it if your store knows them by other names than relative paths."""
        return "run"

    @pytest.fixture
    async def report(self) -> Report:
        """A report of pictures, arrays, pages, envelopes and failures."""
        return await sample_run()

    @pytest.fixture
    async def history(self) -> list[Checkpoint]:
        """The checkpoint behind every event of that question."""
        memory = InMemoryReportStore()
        await sample_run(store=memory, checkpoint_to="sample")
        return memory.history["sample"]

    async def test_a_report_comes_back_equal(
        self, store: ReportStore, reopen: Reopen, location: str, report: Report
    ) -> None:
        await store.save_report(report, location)
        loaded = await reopen(store).load_report(location)
        assert loaded == report
        assert_same_values(loaded.bindings, report.bindings)

    async def test_the_last_report_is_the_one_that_counts(
        self, store: ReportStore, reopen: Reopen, location: str, report: Report
    ) -> None:
        other = attrs.evolve(report, answer="another", images=report.images[:3], steps=report.steps[:1], bindings=())
        for each in (report, other, report):
            await store.save_report(each, location)
            assert await reopen(store).load_report(location) == each

    async def test_locations_are_apart(self, store: ReportStore, location: str, report: Report) -> None:
        other = attrs.evolve(report, answer="another")
        await store.save_report(report, location)
        await store.save_report(other, f"{location}-2")
        assert (await store.load_report(location)).answer == report.answer
        assert (await store.load_report(f"{location}-2")).answer == "another"

    async def test_what_was_never_saved_is_named(self, store: ReportStore, location: str) -> None:
        with pytest.raises(SavedFileError, match="run"):
            await store.load_report(location)
        with pytest.raises(SavedFileError, match="run"):
            await store.load_checkpoint(location)

    async def test_every_checkpoint_comes_back_equal(
        self, store: ReportStore, reopen: Reopen, location: str, history: list[Checkpoint]
    ) -> None:
        for checkpoint in history:
            await store.save_checkpoint(checkpoint, location)
            loaded = await reopen(store).load_checkpoint(location)
            assert loaded == checkpoint
            assert_same_values(loaded.state.workspace.bindings.records, checkpoint.state.workspace.bindings.records)

    async def test_a_continued_question_sends_what_it_would_have_sent(
        self, store: ReportStore, reopen: Reopen, location: str, history: list[Checkpoint]
    ) -> None:
        policy = attrs.evolve(sample_policy(), tools=sample_toolset().specs(sample_policy().prompts))
        for checkpoint in history:
            await store.save_checkpoint(checkpoint, location)
            effect = effect_of(checkpoint.state, policy)
            if isinstance(effect, AskModel):
                loaded = await reopen(store).load_checkpoint(location)
                assert effect_of(loaded.state, policy) == effect

    async def test_a_question_goes_on_in_another_process_at_every_event(
        self, store: ReportStore, reopen: Reopen, location: str, history: list[Checkpoint], report: Report
    ) -> None:
        for number, checkpoint in enumerate(history):
            place = f"{location}-{number}"
            await store.save_checkpoint(checkpoint, place)
            other = reopen(store)
            loaded = await other.load_checkpoint(place)
            left = sample_replies()[len(loaded.state.turns) :]
            if loaded.state.reply is not None:  # heard already; its call is still to be run
                left = left[1:]
            again = await sample_agent(list(left), store=other).resume(loaded, checkpoint_to=place)
            assert (again.steps, again.answer, again.images) == (report.steps, report.answer, report.images)
            assert (await reopen(other).load_checkpoint(place)).finished

    async def test_a_new_question_takes_the_place_of_the_old_one(
        self, store: ReportStore, reopen: Reopen, location: str, history: list[Checkpoint]
    ) -> None:
        for checkpoint in history[:9]:
            await store.save_checkpoint(checkpoint, location)
        again = InMemoryReportStore()
        await sample_run(store=again, checkpoint_to="sample", remote_images="download")
        for checkpoint in again.history["sample"][:4]:
            await store.save_checkpoint(checkpoint, location)
            assert await reopen(store).load_checkpoint(location) == checkpoint

    async def test_report_and_checkpoint_share_a_location(
        self, store: ReportStore, reopen: Reopen, location: str, report: Report, history: list[Checkpoint]
    ) -> None:
        await store.save_checkpoint(history[3], location)
        await store.save_report(report, location)
        assert await reopen(store).load_checkpoint(location) == history[3]
        assert await reopen(store).load_report(location) == report


def assert_same_values(left: tuple[Binding, ...], right: tuple[Binding, ...]) -> None:
    """Equality of bindings leaves their values out; this is about those, by type, shape and contents."""
    assert [binding.name for binding in left] == [binding.name for binding in right]
    for one, other in zip(left, right, strict=True):
        assert same(one.fields, other.fields), one.name
