"""Which hosts are reached through which proxy."""

from __future__ import annotations

import httpx
import pytest

from openvlharness_adapters.http.proxies import ProxySettings, is_this_machine

PROXY = "http://proxy.test:3128"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST", "localhost.", "a.localhost", "::1", "[::1]", "0.0.0.0", "::ffff:127.0.0.1"]
)  # fmt: skip
def test_this_machine_is_never_reached_through_a_proxy(host: str) -> None:
    assert is_this_machine(host)
    url = httpx.URL(f"http://{f'[{host}]' if ':' in host and '[' not in host else host}:8000/v1")
    assert ProxySettings(http=PROXY, https=PROXY).proxy_for(url) is None


@pytest.mark.parametrize("host", ["example.org", "10.0.0.1", "localhost.example.org", "notlocalhost", "2001:db8::1"])
def test_other_hosts_are(host: str) -> None:
    assert not is_this_machine(host)
    url = httpx.URL(f"http://{f'[{host}]' if ':' in host else host}/")
    assert ProxySettings(http=PROXY).proxy_for(url) == PROXY


@pytest.mark.parametrize(
    ("entry", "url", "direct"),
    [
        ("*", "http://example.org", True),
        ("example.org", "http://example.org", True),
        ("example.org", "http://api.example.org", True),
        (".example.org", "http://api.example.org", True),
        ("*.example.org", "http://api.example.org", True),
        ("EXAMPLE.org", "http://Example.ORG", True),
        ("example.org", "http://notexample.org", False),
        ("example.org:8000", "http://example.org:8000", True),
        ("example.org:8000", "http://example.org", False),
        ("example.org:443", "https://example.org", True),
        ("10.0.0.0/8", "http://10.1.2.3:8000", True),
        ("10.0.0.0/8", "http://11.1.2.3", False),
        ("10.1.2.3", "http://10.1.2.3", True),
        ("10.1.2.3:80", "http://10.1.2.3", True),
        ("10.1.2.3:81", "http://10.1.2.3", False),
        ("2001:db8::/32", "http://[2001:db8::1]", True),
        ("[2001:db8::1]", "http://[2001:db8::1]", True),
        ("[2001:db8::1]:80", "http://[2001:db8::1]", True),
        ("10.0.0.0/8", "http://example.org", False),
        (".", "http://example.org", False),
    ],
)
def test_exceptions(entry: str, url: str, *, direct: bool) -> None:
    settings = ProxySettings.from_variables({"HTTP_PROXY": PROXY, "HTTPS_PROXY": PROXY, "NO_PROXY": f" , {entry} ,"})
    assert (settings.proxy_for(httpx.URL(url)) is None) == direct


def test_variables() -> None:
    settings = ProxySettings.from_variables(
        {"http_proxy": "one:1", "HTTP_PROXY": "http://two:2", "ALL_PROXY": "http://u:CANARY@all:3", "PATH": "/bin"}
    )
    assert settings.proxy_for(httpx.URL("http://h")) == "http://one:1"
    assert settings.proxy_for(httpx.URL("https://h")) == "http://u:CANARY@all:3"
    assert "CANARY" not in repr(settings)
    assert ProxySettings.from_variables({}).proxy_for(httpx.URL("http://h")) is None
