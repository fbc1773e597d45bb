"""Page visits: each page read, then searched for what serves the goal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import attrs

from openvlharness_adapters.search.extraction import Extractor
from openvlharness_adapters.search.page_reading import PageReader
from openvlharness_adapters.search.remaining import Remaining
from openvlharness_core.ports.clock import Clock
from openvlharness_core.results import Answered
from openvlharness_core.seeking import VisitedPage
from openvlharness_core.texts import clean_text
from openvlharness_core.usage import Spent

NAME = "serper_webpage_visit"
AT_A_TIME = 4
"""Pages of one visit that are read side by side."""
_NOT_BEGUN = "there was no time left for it; visit it in a call of its own"


@attrs.frozen(kw_only=True)
class SerperPages:
    """The `PageBackend` over Serper and an auxiliary model.

    Attributes:
        reader: gets a page's text.
        extractor: picks out what serves the goal.
        clock: shares the time of a visit out.
    """

    reader: PageReader
    extractor: Extractor
    clock: Clock

    async def visit(
        self, urls: Sequence[str], goal: str, *, timeout_seconds: float
    ) -> Answered[tuple[VisitedPage, ...]]:
        """See `PageBackend`. What goes wrong with a page is said of that page; nothing is raised for it.

        Raises:
            MalformedResultError: something else than an http(s) or file address.
        """
        left = Remaining.of(self.clock, timeout_seconds)
        seats = asyncio.Semaphore(AT_A_TIME)

        async def one(url: str) -> _Visit:
            async with seats:
                return await self._visited(url, clean_text(goal), left)

        different = list(dict.fromkeys(urls))
        visits = dict(zip(different, await asyncio.gather(*map(one, different)), strict=True))
        return Answered(
            value=tuple(visits[url].page for url in urls),
            backend=NAME,
            sidecars={"visits": [{"url": url, **visit.sidecar} for url, visit in visits.items()]},
            usage=tuple(spent for visit in visits.values() for spent in visit.usage),
        )

    async def _visited(self, url: str, goal: str, left: Remaining) -> _Visit:
        seconds = left.seconds(0.5)
        if seconds <= 0:
            return _Visit(page=VisitedPage(url=url, ok=False, reason=_NOT_BEGUN))
        read = await self.reader.read(url, backend=NAME, timeout_seconds=seconds)
        sidecar: dict[str, object] = {"scrape_problem": read.scrape_problem or None}
        if read.page is None:
            page = VisitedPage(url=url, ok=False, reason=clean_text(read.reason))
            return _Visit(page=page, sidecar=sidecar, usage=read.usage)
        found = await self.extractor.extract(read.page, goal, url, timeout_seconds=left.seconds(0.9))
        page = VisitedPage(
            url=url, title=read.page.title, ok=True, evidence=found.evidence.strip(), summary=found.summary
        )
        sidecar |= {"characters": len(read.page.text), "parts": found.parts, "problems": list(found.problems)}
        return _Visit(page=page, sidecar=sidecar, usage=(*read.usage, *found.usage))


@attrs.frozen(kw_only=True)
class _Visit:
    page: VisitedPage
    sidecar: dict[str, object] = attrs.field(factory=dict)
    usage: tuple[Spent, ...] = ()
