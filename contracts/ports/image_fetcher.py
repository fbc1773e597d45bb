"""What every ImageFetcher promises.

Subclass `ImageFetcherContract` in a test module as `Test…` and supply a fixture `sources` that gives `FetcherSources`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import attrs
import pytest

from openvlharness_core.errors import FetchError
from openvlharness_core.ports.fetcher import ImageFetcher


@attrs.frozen(kw_only=True)
class FetcherSources:
    """A fetcher, and what there is for it.

    Attributes:
        fetcher: the one to be tested.
        readable: paths or URLs that it can fetch, with the bytes behind them.
        unreadable: paths or URLs that it cannot.
    """

    fetcher: ImageFetcher
    readable: Mapping[str, bytes]
    unreadable: Sequence[str]


class ImageFetcherContract:
    """See the module."""

    async def test_bytes_come_as_they_are(self, sources: FetcherSources) -> None:
        assert sources.readable
        for source, data in sources.readable.items():
            assert await sources.fetcher.fetch(source) == data

    async def test_the_same_source_can_be_fetched_again_and_side_by_side(self, sources: FetcherSources) -> None:
        asked = list(sources.readable) * 3
        found = await asyncio.gather(*map(sources.fetcher.fetch, asked))
        assert found == [sources.readable[source] for source in asked]

    async def test_what_cannot_be_fetched_is_named_with_a_reason(self, sources: FetcherSources) -> None:
        assert sources.unreadable
        for source in sources.unreadable:
            with pytest.raises(FetchError) as failure:
                await sources.fetcher.fetch(source)
            assert failure.value.source
            assert failure.value.reason
            str(failure.value).encode()

    async def test_a_failure_does_not_spoil_the_next_fetch(self, sources: FetcherSources) -> None:
        with pytest.raises(FetchError):
            await sources.fetcher.fetch(sources.unreadable[0])
        await self.test_bytes_come_as_they_are(sources)
