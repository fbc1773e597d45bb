"""Connections for many requests at once.

A connection pool looks at all of its connections at every request, which is most of the cost once dozens of questions
run side by side. So each request gets a lane: a transport with one connection, taken from a stack of free ones of the
same origin and put back when its response has been read. All lanes share one TLS context, made when first needed.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable

import attrs
import httpx

from openvlharness_adapters.http.endpoints import shown
from openvlharness_adapters.http.proxies import NO_PROXIES, ProxySettings

PROXY_EXTENSION = "openvlharness.proxy"
"""Response extension that holds the address of the proxy that the response came through."""

_KEEPALIVE_SECONDS = 30.0
_Origin = tuple[str, str, int | None]


def _lane(tls: ssl.SSLContext, proxy: str | None) -> httpx.AsyncBaseTransport:
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEPALIVE_SECONDS)
    return httpx.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits, proxy=proxy)


@attrs.define(kw_only=True, eq=False)
class LaneTransport(httpx.AsyncBaseTransport):
    """Hands each request a one-connection transport; no limit of its own on how many run at once.

    Attributes:
        proxies: which hosts are reached through which proxy.
        ca_file: certificates to trust instead of the bundled ones, a PEM file.
        max_idle: free lanes kept per origin.
        open_lane: makes a lane out of a TLS context and a proxy URL.
    """

    proxies: ProxySettings = NO_PROXIES
    ca_file: str | None = None
    max_idle: int = 64
    open_lane: Callable[[ssl.SSLContext, str | None], httpx.AsyncBaseTransport] = _lane
    _free: dict[_Origin, list[httpx.AsyncBaseTransport]] = attrs.field(factory=dict, init=False)
    _tls: dict[str, ssl.SSLContext] = attrs.field(factory=dict, init=False, repr=False)
    _closed: bool = attrs.field(default=False, init=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._closed:
            raise RuntimeError("this client has been closed")
        url = request.url
        origin = (url.scheme, url.host, url.port)
        proxy = self.proxies.proxy_for(url)
        free = self._free.get(origin)
        lane = free.pop() if free else self._new_lane(url.scheme, proxy)
        try:
            response = await lane.handle_async_request(request)
        except BaseException:  # cancelled too: what is left of the connection is not worth knowing
            await lane.aclose()
            raise
        if proxy is not None:
            response.extensions[PROXY_EXTENSION] = shown(proxy).rstrip("/")
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _LaneStream(response.stream, lane, origin, self)
        return response

    async def aclose(self) -> None:
        self._closed = True
        free, self._free = self._free, {}
        for lanes in free.values():
            for lane in lanes:
                await lane.aclose()

    async def put_back(self, origin: _Origin, lane: httpx.AsyncBaseTransport) -> None:
        """Take a lane whose response has been closed; its connection is kept if it can be used again."""
        free = self._free.setdefault(origin, [])
        if self._closed or len(free) >= self.max_idle:
            await lane.aclose()
        else:
            free.append(lane)

    def _new_lane(self, scheme: str, proxy: str | None) -> httpx.AsyncBaseTransport:
        if proxy is not None and not proxy.startswith(("http://", "https://")):
            raise httpx.UnsupportedProtocol(f"proxies speak http or https here, not {proxy.partition('://')[0]}")
        # Reading the certificates takes tens of milliseconds, and a plain connection to this machine needs none.
        secure = scheme == "https" or (proxy is not None and proxy.startswith("https://"))
        kind = "trusting" if secure else "plain"
        if kind not in self._tls:
            self._tls[kind] = _trusting(self.ca_file) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return self.open_lane(self._tls[kind], proxy)


def _trusting(ca_file: str | None) -> ssl.SSLContext:
    if ca_file is not None:
        return ssl.create_default_context(cafile=ca_file)
    return httpx.create_ssl_context(trust_env=False)


class _LaneStream(httpx.AsyncByteStream):
    """A response body that puts its lane back when it is closed."""

    def __init__(
        self, body: httpx.AsyncByteStream, lane: httpx.AsyncBaseTransport, origin: _Origin, home: LaneTransport
    ) -> None:
        self._body = body
        self._lane: httpx.AsyncBaseTransport | None = lane
        self._origin = origin
        self._home = home

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            yield chunk

    async def aclose(self) -> None:
        try:
            await self._body.aclose()
        finally:
            if self._lane is not None:
                lane, self._lane = self._lane, None
                await self._home.put_back(self._origin, lane)


def open_client(*, proxies: ProxySettings = NO_PROXIES, ca_file: str | None = None) -> httpx.AsyncClient:
    """A client for configured services; close it on the loop it was used on.

    It follows no redirect (a key would travel along), reads no variable and sets no limit of time: attempts are
    bounded by the Clock.
    """
    return httpx.AsyncClient(
        transport=LaneTransport(proxies=proxies, ca_file=ca_file),
        timeout=None,  # noqa: S113
        trust_env=False,
        follow_redirects=False,
    )
