"""One address to its bytes: redirects counted and followed by hand, sizes and packings bounded.

What may be connected to is the client's business: see `http.addresses`. Errors show of an address its host and path.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import httpx

from openvlharness_adapters.http.endpoints import shown
from openvlharness_adapters.http.errors import FOREIGN_ERRORS, fault_of, status_line
from openvlharness_adapters.http.unpacking import beginning_of, can_be_unpacked, packing_of
from openvlharness_core.errors import FetchError
from openvlharness_core.texts import excerpt

_REDIRECTS = {301, 302, 303, 307, 308}
_BAD_REDIRECT = "expected a redirect to an http(s) URL, got one to something else"


@attrs.frozen(kw_only=True)
class Fetched:
    """What an address gave.

    Attributes:
        url: where it was found in the end.
        content_type: the header as it came, empty if there was none.
        data: the body, unpacked; not empty.
        cut: whether it goes on behind the limit.
    """

    url: httpx.URL
    content_type: str
    data: bytes = attrs.field(repr=lambda data: f"<{len(data)} bytes>")
    cut: bool = False


@attrs.frozen(kw_only=True)
class Fetching:
    """How addresses are fetched.

    Attributes:
        client: a guarded client that follows no redirects by itself and has no limit of time: whoever fetches bounds it.
        wanted: what errors say was expected, such as `a picture`.
        headers: of each request.
        max_bytes: longest body, unpacked.
        max_redirects: hops after the first request.
        beginning: whether the beginning of a longer body is good enough.
    """

    client: httpx.AsyncClient
    wanted: str
    headers: Mapping[str, str]
    max_bytes: int
    max_redirects: int = 5
    beginning: bool = False

    async def fetch(self, url: httpx.URL) -> Fetched:
        """The body behind `url`, after its redirects.

        Raises:
            FetchError: refused address, failed connection, no success, too many redirects, too long or empty.
        """
        start = shown(url)
        for _ in range(self.max_redirects + 1):
            try:
                found = await self._request(url)
            except FOREIGN_ERRORS as error:
                # The client looks at redirects that it does not follow, and quotes the ones it cannot read.
                reason = _BAD_REDIRECT if "location header" in str(error) else fault_of(error).message
            else:
                if isinstance(found, Fetched):
                    return found
                url = found
                continue
            raise FetchError(shown(url), reason)  # outside, since the cause would hold the request
        raise FetchError(start, f"expected at most {self.max_redirects} redirects, got more")

    async def _request(self, url: httpx.URL) -> Fetched | httpx.URL:
        """One hop: the body, or where it sends us."""
        async with self.client.stream("GET", url, headers=self.headers) as response:
            if response.status_code in _REDIRECTS:
                return _target(url, response.headers.get("location", ""))
            if response.status_code != 200:
                raise FetchError(shown(url), f"expected {self.wanted}, got {status_line(response.status_code)}")
            packing = packing_of(response)
            if not can_be_unpacked(packing):
                raise FetchError(
                    shown(url), f"expected a body packed with gzip or not at all, got {excerpt(packing, 40)}"
                )
            announced = response.headers.get("content-length", "")
            too_long = announced.isascii() and announced.isdigit() and int(announced[:20]) > self.max_bytes
            if too_long and not self.beginning:
                raise FetchError(shown(url), f"expected at most {self.max_bytes} bytes, got {announced[:20]}")
            data = await beginning_of(response, self.max_bytes + 1)
        if len(data) > self.max_bytes and not self.beginning:
            raise FetchError(shown(url), f"expected at most {self.max_bytes} bytes, got more")
        if not data:
            raise FetchError(shown(url), f"expected {self.wanted}, got an empty body")
        content_type = excerpt(response.headers.get("content-type", ""), 200)
        cut = len(data) > self.max_bytes
        return Fetched(url=url, content_type=content_type, data=data[: self.max_bytes], cut=cut)


def parsed(source: str) -> httpx.URL:
    """An address that somebody wrote, with a scheme, as a URL with a host.

    Raises:
        FetchError: it is none; only its scheme is shown.
    """
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
