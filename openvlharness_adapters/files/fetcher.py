"""Bytes behind a path or an http(s) URL, bounded in size, time and hops."""

from __future__ import annotations

import re

import attrs
import httpx

from openvlharness_adapters.files.local import path_name, read_file
from openvlharness_adapters.http.endpoints import shown
from openvlharness_adapters.http.fetching import Fetching, parsed
from openvlharness_core.errors import FetchError
from openvlharness_core.ports.clock import Clock
from openvlharness_core.ports.offload import Offload
from openvlharness_core.waiting import within

_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]+)://")
_HEADERS = {"Accept": "image/*,*/*;q=0.5", "Accept-Encoding": "identity", "User-Agent": "openvlharness"}


@attrs.frozen(kw_only=True)
class ImageSourceFetcher:
    """The `ImageFetcher` of the app. What may be connected to is the client's business: see `http.addresses`.

    Attributes:
        client: a guarded client that follows no redirects by itself.
        offload: where files are read.
        clock: bounds the whole fetch.
        max_bytes: longest file or body, unpacked.
        timeout_seconds: for one fetch with all its hops.
        max_redirects: hops after the first request.
    """

    client: httpx.AsyncClient
    offload: Offload
    clock: Clock
    max_bytes: int = 64 << 20
    timeout_seconds: float = 60.0
    max_redirects: int = 5

    async def fetch(self, source: str) -> bytes:
        """See `ImageFetcher`. Errors show of a URL its host and path only."""
        scheme = _SCHEME.match(source)
        if scheme is None:
            name, work = path_name(source), self.offload.run(lambda: read_file(source, self.max_bytes))
        elif scheme[1].lower() in ("http", "https"):
            url = parsed(source)
            name, work = shown(url), self._download(url)
        else:
            raise FetchError(f"{scheme[1].lower()}://…", "expected a path or an http(s) URL")
        try:
            return await within(self.clock, self.timeout_seconds, work)
        except TimeoutError:
            ran_out = FetchError(name, f"expected an answer within {self.timeout_seconds:g} seconds, got none")
        raise ran_out

    async def _download(self, url: httpx.URL) -> bytes:
        fetching = Fetching(
            client=self.client,
            wanted="a picture",
            headers=_HEADERS,
            max_bytes=self.max_bytes,
            max_redirects=self.max_redirects,
        )
        return (await fetching.fetch(url)).data
