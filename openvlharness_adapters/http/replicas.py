"""Several servers that do the same work, behind one client.

Whoever calls a service knows one address, the first of its replicas. A client made here sends each request to the replica
that is least busy at that moment; an attempt that is made again may so go elsewhere. A replica that cannot be reached, or
whose gateway says so, is set aside and asked for its health from time to time until it answers; a replica whose call was
given up may be hanging, so it is asked once too. While all are set aside, all are tried: a failure tells more than none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import attrs
import httpx

from openvlharness_adapters.http.errors import FOREIGN_ERRORS
from openvlharness_core.ports.clock import Clock
from openvlharness_core.waiting import within

PROBE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
_PATIENCE_SECONDS = 5.0
_AWAY = frozenset({502, 503, 504})
"""Statuses that say that nobody is there to do the work; any other answer comes from a server that lives."""


@attrs.define(eq=False)
class _Replica:
    base_url: str
    busy: int = 0
    last: int = 0
    probing: asyncio.Task[None] | None = None
    aside: bool = False


class ReplicaTransport(httpx.AsyncBaseTransport):
    """See the module. One event loop uses it."""

    def __init__(self, client: httpx.AsyncClient, base_urls: Sequence[str], *, clock: Clock) -> None:
        """Over `client`, which stays the caller's to close.

        Raises:
            ValueError: no address.
        """
        if not base_urls:
            raise ValueError("base_urls: expected at least one address, got none")
        self._client = client
        self._clock = clock
        self._replicas = [_Replica(url.rstrip("/")) for url in dict.fromkeys(base_urls)]
        self._known = self._replicas[0].base_url
        self._turn = 0

    @property
    def aside(self) -> tuple[str, ...]:
        """The replicas that are not asked at the moment."""
        return tuple(replica.base_url for replica in self._replicas if replica.aside)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it to one of them. Raises what the client inside raises."""
        replica = self._least_busy()
        self._turn += 1
        replica.busy, replica.last = replica.busy + 1, self._turn
        try:
            response = await self._client.send(self._for(replica, request), stream=True)
        except BaseException as error:
            replica.busy -= 1
            if isinstance(error, FOREIGN_ERRORS):
                replica.aside = True
            if isinstance(error, (asyncio.CancelledError, *FOREIGN_ERRORS)):
                self._probe(replica)
            raise
        if response.status_code in _AWAY:
            replica.aside = True
            self._probe(replica)
        return httpx.Response(
            status_code=response.status_code,
            headers=response.headers,
            stream=_Counted(response, replica),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Ask nobody any more."""
        probing = [replica.probing for replica in self._replicas if replica.probing is not None]
        for task in probing:
            task.cancel()
        await asyncio.gather(*probing, return_exceptions=True)

    def _least_busy(self) -> _Replica:
        there = [replica for replica in self._replicas if not replica.aside] or self._replicas
        return min(there, key=lambda replica: (replica.busy, replica.last))

    def _for(self, replica: _Replica, request: httpx.Request) -> httpx.Request:
        address = str(request.url)
        if not address.startswith(self._known):
            raise httpx.UnsupportedProtocol(f"this client reaches {self._known} and its replicas only")
        url = httpx.URL(replica.base_url + address[len(self._known) :])
        headers = httpx.Headers([pair for pair in request.headers.multi_items() if pair[0] != "host"])
        headers["Host"] = url.netloc.decode("ascii")
        return httpx.Request(request.method, url, headers=headers, stream=request.stream, extensions=request.extensions)

    def _probe(self, replica: _Replica) -> None:
        if replica.probing is None:
            replica.probing = asyncio.get_running_loop().create_task(self._until_healthy(replica))

    async def _until_healthy(self, replica: _Replica) -> None:
        pause = PROBE_SECONDS
        try:
            while True:
                if replica.aside:
                    await self._clock.sleep(pause)
                    pause = min(LONGEST_PAUSE_SECONDS, 2 * pause)
                replica.aside = not await self._healthy(replica)
                if not replica.aside:
                    return
        finally:
            replica.probing = None

    async def _healthy(self, replica: _Replica) -> bool:
        try:
            asked = self._client.get(f"{replica.base_url}/health")
            return (await within(self._clock, _PATIENCE_SECONDS, asked)).status_code < 500
        except (TimeoutError, *FOREIGN_ERRORS):
            return False


class _Counted(httpx.AsyncByteStream):
    """A body; its replica is busy until it is closed."""

    def __init__(self, response: httpx.Response, replica: _Replica) -> None:
        self._response = response
        self._replica: _Replica | None = replica

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.aiter_raw():
            yield chunk

    async def aclose(self) -> None:
        if self._replica is not None:
            self._replica.busy -= 1
            self._replica = None
        await self._response.aclose()


def open_replicated(client: httpx.AsyncClient, base_urls: Sequence[str], *, clock: Clock) -> httpx.AsyncClient:
    """A client for the service at `base_urls[0]` that asks all of `base_urls`; close it before `client`."""
    transport = ReplicaTransport(client, base_urls, clock=clock)
    return httpx.AsyncClient(transport=transport, timeout=None, trust_env=False, follow_redirects=False)  # noqa: S113
