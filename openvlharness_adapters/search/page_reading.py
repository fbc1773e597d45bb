"""One page's text: as the search service reads it, else fetched directly under the address guard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import httpx

from openvlharness_adapters.http.fetching import Fetching, parsed
from openvlharness_adapters.search.page_texts import PageText, UnreadablePageError, page_text
from openvlharness_adapters.search.serper import SerperClient
from openvlharness_core.errors import BackendError, FetchError
from openvlharness_core.ports.clock import Clock
from openvlharness_core.ports.offload import Offload
from openvlharness_core.texts import clean_text, excerpt
from openvlharness_core.usage import Spent
from openvlharness_core.waiting import within

SCRAPE_RETRY = 2
"""Three attempts."""
MOST_BYTES = 16 << 20
FETCH_SECONDS = 60.0
_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.8,*/*;q=0.5",
    "Accept-Encoding": "gzip",
    "User-Agent": "openvlharness",
}


@attrs.frozen(kw_only=True)
class ReadPage:
    """What reading a page came to.

    Attributes:
        page: its text; `None` if it could not be read.
        reason: why not, and what to try; empty if it could.
        scrape_problem: why the search service did not read it; empty if it did.
        usage: credits.
    """

    page: PageText | None = None
    reason: str = ""
    scrape_problem: str = ""
    usage: tuple[Spent, ...] = ()


@attrs.frozen(kw_only=True)
class PageReader:
    """Reads pages.

    Attributes:
        serper: reads them over there.
        client: guarded client for reading them here.
        offload: where markup becomes text.
        clock: bounds a direct fetch.
        max_bytes: of a page that is fetched directly; of a longer one the beginning is read.
        fetch_seconds: for one direct fetch with all its hops.
    """

    serper: SerperClient
    client: httpx.AsyncClient
    offload: Offload
    clock: Clock
    max_bytes: int = MOST_BYTES
    fetch_seconds: float = FETCH_SECONDS

    async def read(self, url: str, *, backend: str, timeout_seconds: float) -> ReadPage:
        """The text of the page at `url`, or why there is none.

        Args:
            url: http(s), as a model wrote it.
            backend: who asks, for errors.
            timeout_seconds: for both ways together; scraping gets two thirds of it.
        """
        try:
            target = parsed(url)
        except FetchError as error:
            return ReadPage(reason=f"{error.reason}; give its full address")
        if target.scheme not in ("http", "https"):
            return ReadPage(reason="only http and https addresses can be visited; give another one")
        if target.userinfo:
            return ReadPage(reason="addresses with user and password are not visited; give it without them")
        ends = self.clock.monotonic() + timeout_seconds
        try:
            reply = await self.serper.ask(
                "scrape",
                {"url": url, "includeMarkdown": True},
                backend=backend,
                timeout_seconds=timeout_seconds * 2 / 3,
                retry=SCRAPE_RETRY,
                usable=lambda payload: bool(_scraped_text(payload)),
            )
        except BackendError as error:
            problem, usage = error.reason, error.usage
        else:
            return ReadPage(page=_scraped(reply.payload), usage=reply.usage)
        page, reason = await self._fetched(target, min(self.fetch_seconds, ends - self.clock.monotonic()))
        return ReadPage(page=page, reason=reason, scrape_problem=problem, usage=usage)

    async def _fetched(self, url: httpx.URL, seconds: float) -> tuple[PageText | None, str]:
        try:
            if seconds <= 0:
                raise TimeoutError
            return await within(self.clock, seconds, self._text_behind(url)), ""
        except TimeoutError:
            return None, "it did not come in time; try again, or another source"
        except FetchError as error:
            return None, f"{error.reason}; try another address"
        except UnreadablePageError as error:
            return None, str(error)

    async def _text_behind(self, url: httpx.URL) -> PageText:
        fetching = Fetching(
            client=self.client, wanted="a page", headers=_HEADERS, max_bytes=self.max_bytes, beginning=True
        )
        found = await fetching.fetch(url)
        return await self.offload.run(lambda: page_text(found.data, found.content_type, cut=found.cut))


def _scraped_text(payload: Mapping[str, Any]) -> str:
    for name in ("markdown", "text"):
        value = payload.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _scraped(payload: Mapping[str, Any]) -> PageText:
    metadata = payload.get("metadata")
    titles = (metadata.get("title"), metadata.get("og:title")) if isinstance(metadata, Mapping) else ()
    title = next((title for title in titles if isinstance(title, str) and title.strip()), "")
    return PageText(title=excerpt(clean_text(title), 300), text=clean_text(_scraped_text(payload)))
