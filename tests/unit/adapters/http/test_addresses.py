"""Which addresses count as public, and that the connection goes to the one that was checked."""

from __future__ import annotations

import ipaddress

import attrs
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.http.addresses import AddressGuard, GuardedTransport, is_public
from openvlharness_core.errors import FetchError

PRIVATE_V4 = [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "192.0.0.8",
    "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
]  # fmt: skip
PRIVATE_V6 = [
    "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1", "3fff::1",
    "100::1", "5f00::1", "4000::1", "64:ff9b:1::808:808", "2606:4700::1%eth0",
]  # fmt: skip


def _wrapped(v4: ipaddress.IPv4Address) -> list[str]:
    bits, public = int(v4), int(ipaddress.IPv4Address("8.8.8.8"))
    values = [
        0xFFFF << 32 | bits,  # mapped
        0xFFFF << 48 | bits,  # translated
        bits,  # compatible
        0x64FF9B << 96 | bits,  # NAT64
        0x2002 << 112 | bits << 80 | 1,  # 6to4
        0x20010000 << 96 | public << 64 | (~bits & 0xFFFFFFFF),  # Teredo, as the client
        0x20010000 << 96 | bits << 64 | (~public & 0xFFFFFFFF),  # Teredo, as the server
    ]
    return [str(ipaddress.IPv6Address(value)) for value in values]


@pytest.mark.parametrize("text", [*PRIVATE_V4, *PRIVATE_V6, "", "localhost", "1.2.3", "8.8.8.8:80"])
def test_what_is_not_public(text: str) -> None:
    assert not is_public(text)


@pytest.mark.parametrize("text", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "2a00:1450:4001::1"])
def test_what_is_public(text: str) -> None:
    assert is_public(text)


@pytest.mark.parametrize("text", PRIVATE_V4)
def test_wrapping_hides_nothing(text: str) -> None:
    for wrapped in _wrapped(ipaddress.IPv4Address(text)):
        assert not is_public(wrapped), wrapped


def test_a_wrapped_public_address_is_public() -> None:
    assert all(map(is_public, _wrapped(ipaddress.IPv4Address("9.9.9.9"))))


@given(st.ip_addresses(v=4))
def test_wrapped_and_plain_are_judged_alike(v4: ipaddress.IPv4Address) -> None:
    assert {is_public(wrapped) for wrapped in _wrapped(v4)} == {is_public(str(v4))}


@attrs.define
class Names:
    """A resolver by table; counts how often it is asked."""

    table: dict[str, list[list[str]]]
    asked: int = 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked += 1
        if host not in self.table:
            raise OSError("unknown")
        answers = self.table[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


@attrs.define
class Wire(httpx.AsyncBaseTransport):
    """Stands where connections are made; addresses in `dead` refuse them."""

    dead: tuple[str, ...] = ()
    seen: list[httpx.Request] = attrs.field(factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        if request.url.host in self.dead:
            raise httpx.ConnectError("refused")
        return httpx.Response(200, content=b"ok")


def _client(names: Names, wire: Wire, **guard: object) -> httpx.AsyncClient:
    transport = GuardedTransport(guard=AddressGuard(resolver=names, **guard), open_inner=lambda scheme: wire)  # type: ignore[arg-type]
    return httpx.AsyncClient(transport=transport, trust_env=False)


async def test_the_connection_goes_to_the_checked_address_under_the_name_of_the_host() -> None:
    names, wire = Names({"example.com": [["93.184.216.34"], ["127.0.0.1"]]}), Wire()
    async with _client(names, wire) as client:
        await client.get("https://example.com:8443/a?b=c")
        (request,) = wire.seen
        assert str(request.url) == "https://93.184.216.34:8443/a?b=c"
        assert request.headers["host"] == "example.com:8443"
        assert request.extensions["sni_hostname"] == "example.com"
        assert names.asked == 1  # asked once a request: there is no second answer to slip in
        with pytest.raises(FetchError, match="not public"):
            await client.get("https://example.com:8443/a")
    assert len(wire.seen) == 1


async def test_one_private_address_among_public_ones_is_enough() -> None:
    names, wire = Names({"example.com": [["93.184.216.34", "10.0.0.1"]]}), Wire()
    async with _client(names, wire) as client:
        with pytest.raises(FetchError, match="not public") as failure:
            await client.get("http://example.com/?key=CANARY")
    assert wire.seen == []
    assert "10.0.0.1" not in str(failure.value)
    assert "CANARY" not in str(failure.value)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "017700000001", "127.1"])
async def test_old_spellings_of_an_address_are_judged_by_what_they_resolve_to(host: str) -> None:
    async with _client(Names({host: [["127.0.0.1"]]}), Wire()) as client:
        with pytest.raises(FetchError, match="not public"):
            await client.get(f"http://{host}/")


async def test_addresses_are_tried_in_turn() -> None:
    names, wire = Names({"example.com": [["2606:4700::1", "93.184.216.34"]]}), Wire(dead=("2606:4700::1",))
    async with _client(names, wire) as client:
        assert (await client.get("http://example.com/")).status_code == 200
        assert [str(request.url) for request in wire.seen] == ["http://[2606:4700::1]/", "http://93.184.216.34/"]
    wire = Wire(dead=("2606:4700::1", "93.184.216.34"))
    async with _client(names, wire) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("http://example.com/")


async def test_exemptions() -> None:
    names = Names({"inside": [["10.0.0.1"]], "::1": [["::1"]]})
    wire = Wire()
    async with _client(names, wire, fetch_hosts=["INSIDE.:80", "[::1]:8000"]) as client:
        await client.get("http://inside/")
        await client.get("http://Inside:80/")
        await client.get("http://[::1]:8000/")
        for url in ("http://inside:81/", "https://inside/", "http://[::1]:8001/"):
            with pytest.raises(FetchError, match="not public"):
                await client.get(url)
    async with _client(names, wire, allow_private_addresses=True) as client:
        await client.get("https://inside:444/")
    assert len(wire.seen) == 4


@pytest.mark.parametrize("url", ["http://unknown/", "http://example.com:0/", "http://example.com:70000/"])
async def test_what_leads_nowhere(url: str) -> None:
    async with _client(Names({"example.com": [["93.184.216.34"]]}), Wire()) as client:
        with pytest.raises(FetchError):
            await client.get(url)


@pytest.mark.parametrize("entry", ["example.com", ":80", "example.com:", "example.com:http", ""])
def test_exemptions_need_host_and_port(entry: str) -> None:
    with pytest.raises(ValueError, match="fetch_hosts: expected host:port"):
        AddressGuard(fetch_hosts=[entry])
