"""What every TextSearchBackend promises.

Subclass `TextSearchBackendContract` in a test module as `Test…` and supply four fixtures: `backend`; `relevant`, a query
that finds something; `irrelevant`, one that finds nothing; and `missing_type`, a search type that `backend` does not have,
or `None`.
"""

from __future__ import annotations

import asyncio
import re

import pytest

from openvlharness_core.errors import UnsupportedQueryError
from openvlharness_core.ports.seeking import TextSearchBackend
from openvlharness_core.seeking import SEARCH_TYPES, SearchType


class TextSearchBackendContract:
    """See the module."""

    async def test_what_is_found_has_titles_and_no_reason(self, backend: TextSearchBackend, relevant: str) -> None:
        answered = await backend.search(relevant, "search", timeout_seconds=10.0)
        assert answered.value.items
        assert all(item.title.strip() for item in answered.value.items)
        assert not answered.value.nothing_relevant
        assert answered.backend

    async def test_the_summary_cites_items_that_are_there(self, backend: TextSearchBackend, relevant: str) -> None:
        results = (await backend.search(relevant, "search", timeout_seconds=10.0)).value
        cited = {int(number) for number in re.findall(r"\[(\d+)\]", results.summary)}
        assert cited <= set(range(1, len(results.items) + 1))
        assert cited or not results.summary

    async def test_nothing_relevant_is_a_result_with_a_reason(
        self, backend: TextSearchBackend, irrelevant: str
    ) -> None:
        results = (await backend.search(irrelevant, "search", timeout_seconds=10.0)).value
        assert results.items == ()
        assert results.nothing_relevant.strip()

    async def test_a_type_it_does_not_have_is_refused_and_those_it_has_are_named(
        self, backend: TextSearchBackend, relevant: str, missing_type: SearchType | None
    ) -> None:
        if missing_type is None:
            for kind in SEARCH_TYPES:
                results = (await backend.search(relevant, kind, timeout_seconds=10.0)).value
                assert bool(results.items) != bool(results.nothing_relevant)
            return
        with pytest.raises(UnsupportedQueryError) as refusal:
            await backend.search(relevant, missing_type, timeout_seconds=10.0)
        assert "search" in refusal.value.reason

    @pytest.mark.parametrize(
        "query", ["", "   ", '"', "'", "a OR", "NEAR(", "x" * 5000, "a\ud800b", "*", "title: -", "\0"]
    )
    async def test_no_query_breaks_it(self, backend: TextSearchBackend, query: str) -> None:
        results = (await backend.search(query, "search", timeout_seconds=10.0)).value
        assert bool(results.items) != bool(results.nothing_relevant)

    async def test_several_at_once(self, backend: TextSearchBackend, relevant: str, irrelevant: str) -> None:
        found = await asyncio.gather(
            *(backend.search(query, "search", timeout_seconds=10.0) for query in (relevant, irrelevant) * 4)
        )
        assert [bool(answered.value.items) for answered in found] == [True, False] * 4
