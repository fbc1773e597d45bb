"""The guard for addresses that a model, a page or a data set chose.

Such an address may point into the machine or the network it runs in. So a name is resolved here, every address it
resolves to must be one of the public internet, and the connection goes to the very address that was checked: a name
that resolves differently a moment later gains nothing. A transport sees every request, so every redirect hop passes too.
IPv6 addresses that carry an IPv4 address inside reach that one, which is therefore what is checked.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy

import attrs
import httpx

from openvlharness_adapters.http.endpoints import shown
from openvlharness_core.errors import FetchError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Host and port to the addresses of the host, in the order to be tried; raises OSError."""

_PORTS = {"http": 80, "https": 443}
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
# Not for hosts of the public internet, though not every release of `ipaddress` says so.
_NOT_PUBLIC = tuple(ipaddress.ip_network(n) for n in ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20"))
_LAST_32_BITS_ARE_V4 = tuple(
    ipaddress.IPv6Network(n) for n in ("::ffff:0:0/96", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96")
)  # mapped, compatible, translated, NAT64
_6TO4, _TEREDO = ipaddress.IPv6Network("2002::/16"), ipaddress.IPv6Network("2001::/32")


def unwrapped(address: Address) -> tuple[Address, ...]:
    """The addresses that a packet to `address` reaches or passes: itself, or the IPv4 ones inside it."""
    if isinstance(address, ipaddress.IPv4Address):
        return (address,)
    bits = int(address)
    if any(address in network for network in _LAST_32_BITS_ARE_V4):
        return (ipaddress.IPv4Address(bits & 0xFFFFFFFF),)
    if address in _6TO4:
        return (ipaddress.IPv4Address(bits >> 80 & 0xFFFFFFFF),)
    if address in _TEREDO:  # the server in clear, the client with every bit turned
        return ipaddress.IPv4Address(bits >> 64 & 0xFFFFFFFF), ipaddress.IPv4Address(~bits & 0xFFFFFFFF)
    return (address,)


def is_public(text: str) -> bool:
    """Whether an address is a global unicast one, what is wrapped in it included; a scope (`%eth0`) makes it local."""
    try:
        found = unwrapped(ipaddress.ip_address(text))
    except ValueError:
        return False
    return all(_is_global_unicast(address) for address in found)


def _is_global_unicast(address: Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if any(address in network for network in _NOT_PUBLIC if network.version == address.version):
        return False
    return address.version == 4 or (address in _GLOBAL_UNICAST and getattr(address, "scope_id", None) is None)


async def resolve(host: str, port: int) -> list[str]:
    """Ask the system; see `Resolver`."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _host_and_port(text: str) -> str:
    host, colon, port = text.strip().rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit()):
        raise ValueError(f"fetch_hosts: expected host:port, got {text!r}")
    return f"{_plain(host)}:{int(port)}"


def _plain(host: str) -> str:
    return host.strip("[]").rstrip(".").lower()


def _hosts_and_ports(entries: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_host_and_port, entries))


@attrs.frozen(kw_only=True)
class AddressGuard:
    """Says which addresses a URL may be fetched from.

    Attributes:
        allow_private_addresses: let every address pass.
        fetch_hosts: `host:port` as URLs name them, whose addresses are not checked.
        resolver: asks for the addresses of a name.
    """

    allow_private_addresses: bool = False
    fetch_hosts: frozenset[str] = attrs.field(default=frozenset(), converter=_hosts_and_ports)
    resolver: Resolver = resolve

    async def addresses_of(self, url: httpx.URL) -> list[str]:
        """The checked addresses behind `url`, in the order to be tried, at least one.

        Raises:
            FetchError: no http(s) URL, an unknown name, or an address that is not public.
        """
        if url.scheme not in _PORTS or not url.host:
            raise FetchError(shown(url), "expected an address that begins with http:// or https:// and names a host")
        port = _PORTS[url.scheme] if url.port is None else url.port
        if not 0 < port < 1 << 16:
            raise FetchError(shown(url), f"expected a port from 1 to 65535, got {port}")
        try:
            found = await self.resolver(url.raw_host.decode("ascii"), port)
        except (OSError, UnicodeError):  # a label that is too long fails in the encoding, before anybody is asked
            found = []
        if not found:
            raise FetchError(shown(url), "the name of the host does not resolve to an address")
        if self.allow_private_addresses or f"{_plain(url.host)}:{port}" in self.fetch_hosts:
            return found
        if not all(map(is_public, found)):
            # Which address it was would tell whoever chose the URL how the network inside is laid out.
            raise FetchError(shown(url), "the host has an address that is not public, and is not among fetch_hosts")
        return found


def _open_inner(scheme: str) -> httpx.AsyncBaseTransport:
    # A plain connection needs no certificates, and reading them takes tens of milliseconds.
    tls = httpx.create_ssl_context(trust_env=False) if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # No connection is kept: they are filed by address here, and one made for a host must not serve another of its address.
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits)


@attrs.define(kw_only=True, eq=False)
class GuardedTransport(httpx.AsyncBaseTransport):
    """Connects to a checked address and to no other, without a proxy.

    Certificates are verified against the host's name, which also stands in the `Host` header.

    Attributes:
        guard: says which addresses.
        open_inner: makes the transport that connects, for a scheme.
    """

    guard: AddressGuard
    open_inner: Callable[[str], httpx.AsyncBaseTransport] = _open_inner
    _inner: dict[str, httpx.AsyncBaseTransport] = attrs.field(factory=dict, init=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Try the host's addresses in turn. Raises FetchError for a refused one, else as an httpx transport does."""
        addresses = await self.guard.addresses_of(request.url)
        scheme = request.url.scheme
        if scheme not in self._inner:
            self._inner[scheme] = self.open_inner(scheme)
        for position, address in enumerate(addresses, 1):
            try:
                return await self._inner[scheme].handle_async_request(_to(address, request))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if position == len(addresses):
                    raise
        raise AssertionError("a guard gives at least one address")

    async def aclose(self) -> None:
        """Close what has been opened."""
        for inner in self._inner.values():
            await inner.aclose()


def _to(address: str, request: httpx.Request) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
    )


def open_guarded_client(guard: AddressGuard) -> httpx.AsyncClient:
    """A client for addresses that somebody else chose; close it on the loop it was used on.

    It follows no redirect, keeps no cookie, reads no variable and sets no limit of time: whoever uses it counts hops
    and bounds the whole.
    """
    return httpx.AsyncClient(
        transport=GuardedTransport(guard=guard),
        cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=())),
        timeout=None,  # noqa: S113
        trust_env=False,
        follow_redirects=False,
    )
