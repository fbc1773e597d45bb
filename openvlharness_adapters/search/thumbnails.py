"""Small pictures of results: few, of bounded size, fetched side by side, and none of them worth a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import attrs

from openvlharness_core.errors import FetchError
from openvlharness_core.ports.clock import Clock
from openvlharness_core.ports.fetcher import ImageFetcher
from openvlharness_core.seeking import SearchItem
from openvlharness_core.waiting import within

MOST_BYTES = 2 << 20
"""Of one picture; for whoever makes the fetcher."""
MOST_PICTURES = 10
PATIENCE_SECONDS = 15.0


@attrs.frozen(kw_only=True)
class Thumbnails:
    """Fetches pictures of results.

    Attributes:
        fetcher: guarded, and bounded to `MOST_BYTES` a picture: pages chose these addresses.
        clock: bounds all of them together.
        most: how many are fetched.
        patience_seconds: how long all of them may take.
    """

    fetcher: ImageFetcher
    clock: Clock
    most: int = MOST_PICTURES
    patience_seconds: float = PATIENCE_SECONDS

    async def added(self, items: Sequence[SearchItem], *, timeout_seconds: float) -> tuple[SearchItem, ...]:
        """The items, the first ones with the bytes of their picture where it could be had in time."""
        wanted = [at for at, item in enumerate(items) if _remote(item.thumbnail_url)][: self.most]
        found: dict[int, bytes] = {}
        seconds = min(self.patience_seconds, timeout_seconds)
        if wanted and seconds > 0:
            try:
                await within(self.clock, seconds, self._fetch_all({at: items[at] for at in wanted}, found))
            except TimeoutError:
                found = dict(found)  # what came in time
        return tuple(attrs.evolve(item, thumbnail=found.get(at)) for at, item in enumerate(items))

    async def _fetch_all(self, items: Mapping[int, SearchItem], found: dict[int, bytes]) -> None:
        await asyncio.gather(*(self._fetch(at, item.thumbnail_url or "", found) for at, item in items.items()))

    async def _fetch(self, at: int, url: str, found: dict[int, bytes]) -> None:
        try:
            found[at] = await self.fetcher.fetch(url)
        except FetchError:
            return  # the item is worth showing without it, and its address stays


def _remote(url: str | None) -> bool:
    return url is not None and url.lower().startswith(("http://", "https://"))
