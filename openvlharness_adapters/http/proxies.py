"""Which host is reached through which proxy.

The variables come in as a value: only the application reads the environment. Whatever they say, this machine itself is
never reached through a proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

import attrs
import httpx

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _address(host: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_this_machine(host: str) -> bool:
    """Whether `host` is a loopback address or a name that always means one."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    return address is not None and (address.is_loopback or address.is_unspecified)


@attrs.frozen(kw_only=True)
class ProxySettings:
    """Proxies by scheme of the target.

    Attributes:
        http: proxy URL for http targets; may hold credentials.
        https: proxy URL for https targets; may hold credentials.
        exceptions: hosts reached directly: `*`, a name (its subdomains too), `host:port`, an address or a range such
            as `10.0.0.0/8`.
    """

    http: str | None = attrs.field(default=None, repr=lambda url: "None" if url is None else "***")
    https: str | None = attrs.field(default=None, repr=lambda url: "None" if url is None else "***")
    exceptions: tuple[str, ...] = ()

    @classmethod
    def from_variables(cls, variables: Mapping[str, str]) -> ProxySettings:
        """Read `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`; lower case wins over upper case."""

        def value(name: str) -> str:
            return (variables.get(name) or variables.get(name.upper()) or "").strip()

        anything = value("all_proxy")
        return cls(
            http=_with_scheme(value("http_proxy") or anything),
            https=_with_scheme(value("https_proxy") or anything),
            exceptions=tuple(entry.strip() for entry in value("no_proxy").split(",") if entry.strip()),
        )

    def proxy_for(self, url: httpx.URL) -> str | None:
        """The proxy URL for a target, `None` for a direct connection."""
        proxy = self.https if url.scheme == "https" else self.http
        if proxy is None or is_this_machine(url.host) or any(_covers(entry, url) for entry in self.exceptions):
            return None
        return proxy


NO_PROXIES = ProxySettings()


def _with_scheme(proxy: str) -> str | None:
    if not proxy:
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _covers(entry: str, url: httpx.URL) -> bool:
    if entry == "*":
        return True
    host = url.host.lower().rstrip(".")
    address = _address(host)
    if address is not None:
        try:
            return address in ipaddress.ip_network(entry.strip("[]"), strict=False)
        except ValueError:
            pass  # no address or range, so it may be one with a port
    name, colon, port = entry.lower().rpartition(":")
    if not colon or not port.isdigit():
        name, port = entry.lower(), ""
    if port and int(port) != (url.port or {"http": 80, "https": 443}.get(url.scheme)):
        return False
    name = name.removeprefix("*").lstrip(".").strip("[]").rstrip(".")
    if address is not None:
        return _address(name) == address
    return bool(name) and (host == name or host.endswith(f".{name}"))
