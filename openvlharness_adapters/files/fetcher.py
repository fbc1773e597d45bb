"""Bytes behind a path or an http(s) URL, bounded in size, time and hops."""

from __future__ import annotations

import re

import attrs
import httpx

from openvlharness_adapters.files.local import path_name, read_file
from openvlharness_adapters.http.endpoints import shown
from openvlharness_adapters.http.errors import FOREIGN_ERRORS, fault_of, status_line
from openvlharness_adapters.http.unpacking import beginning_of, can_be_unpacked, packing_of
from openvlharness_core.errors import FetchError
from openvlharness_core.ports.clock import Clock
from openvlharness_core.ports.offload import Offload
from openvlharness_core.texts import excerpt
from openvlharness_core.waiting import within

_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]+)://")
_REDIRECTS = {301, 302, 303, 307, 308}
_BAD_REDIRECT = "expected a redirect to an http(s) URL, got one to something else"
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
            url = _parsed(source)
            name, work = shown(url), self._download(url)
        else:
            raise FetchError(f"{scheme[1].lower()}://…", "expected a path or an http(s) URL")
        try:
            return await within(self.clock, self.timeout_seconds, work)
        except TimeoutError:
            ran_out = FetchError(name, f"expected an answer within {self.timeout_seconds:g} seconds, got none")
        raise ran_out

    async def _download(self, url: httpx.URL) -> bytes:
        start = shown(url)
        for _ in range(self.max_redirects + 1):
            try:
                found = await self._request(url)
            except FOREIGN_ERRORS as error:
                # The client looks at redirects that it does not follow, and quotes the ones it cannot read.
                reason = _BAD_REDIRECT if "location header" in str(error) else fault_of(error).message
            else:
                if isinstance(found, bytes):
                    return found
                url = found
                continue
            raise FetchError(shown(url), reason)  # outside, since the cause would hold the request
        raise FetchError(start, f"expected at most {self.max_redirects} redirects, got more")

    async def _request(self, url: httpx.URL) -> bytes | httpx.URL:
        """One hop: the body, or where it sends us."""
        async with self.client.stream("GET", url, headers=_HEADERS) as response:
            if response.status_code in _REDIRECTS:
                return _target(url, response.headers.get("location", ""))
            if response.status_code != 200:
                raise FetchError(shown(url), f"expected a picture, got {status_line(response.status_code)}")
            packing = packing_of(response)
            if not can_be_unpacked(packing):
                raise FetchError(
                    shown(url), f"expected a body packed with gzip or not at all, got {excerpt(packing, 40)}"
                )
            announced = response.headers.get("content-length", "")
            if announced.isascii() and announced.isdigit() and int(announced[:20]) > self.max_bytes:
                raise FetchError(shown(url), f"expected at most {self.max_bytes} bytes, got {announced[:20]}")
            data = await beginning_of(response, self.max_bytes + 1)
        if len(data) > self.max_bytes:
            raise FetchError(shown(url), f"expected at most {self.max_bytes} bytes, got more")
        if not data:
            raise FetchError(shown(url), "expected a picture, got an empty body")
        return data


def _parsed(source: str) -> httpx.URL:
    try:
        url = httpx.URL(source.strip())
    except (httpx.InvalidURL, ValueError):
        url = None
    if url is None or not url.host:  # raised here, since the cause would show what was written
        raise FetchError(
            f"{source.strip().partition(':')[0].lower()}://…", "expected an http(s) URL, got something that is none"
        )
    return url


def _target(url: httpx.URL, location: str) -> httpx.URL:
    """Where a redirect leads; credentials that it brings are dropped."""
    try:
        target = url.join(location).copy_with(username="", password="", fragment=None) if location else None
    except (httpx.InvalidURL, ValueError):
        target = None
    if target is None or target.scheme not in ("http", "https") or not target.host:
        raise FetchError(shown(url), _BAD_REDIRECT)
    return target
