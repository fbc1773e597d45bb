"""What holds for every test: no network beyond loopback, and in a full run no test left out.

`make test` skips what needs a system part, minutes, or another user than root, and names the command that runs it.
`pytest --full`, as `make test-full` calls it, runs those, and turns a skip into a failure: there, a part that is missing is a fault.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Generator, Iterator

import hypothesis
import pytest

# Machines that run the suites are busy, so nothing is timed; and a failure seen once must be seen again.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("suite")

_LEFT_OUT = {
    "heavy": "takes minutes or installs packages: `make test-full`",
    "system": "needs a system part: `make test-full`",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run tests of every mark; a skip is a failure")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    left_out = dict(_LEFT_OUT)
    if os.geteuid() == 0:
        left_out["unprivileged"] = "says nothing when root runs it: `make test-full`"
    for item in items:
        for mark, reason in left_out.items():
            if item.get_closest_marker(mark) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def _reason(longrepr: object) -> str:
    return longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("--full"):
        report.outcome = "failed"
        report.longrepr = f"a full run leaves nothing out, but this test did: {_reason(report.longrepr)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.outcome == "skipped" and collector.config.getoption("--full"):
        report.outcome = "failed"
        report.longrepr = f"a full run leaves nothing out, but this module did: {_reason(report.longrepr)}"
    return report


class NetworkBlockedError(Exception):
    """A test tried to leave the machine. Not an OSError on purpose: adapters translate those, and the attempt would pass for a fault."""


def _is_loopback(host: object) -> bool:
    text = host.decode() if isinstance(host, bytes) else str(host)
    if text == "localhost" or text.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(text.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _is_literal(host: object) -> bool:
    try:
        ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host))
    except ValueError:
        return False
    return True


def _refuse_beyond_loopback(family: int, address: object) -> None:
    if family in {socket.AF_INET, socket.AF_INET6} and not (isinstance(address, tuple) and _is_loopback(address[0])):
        raise NetworkBlockedError(f"tests reach loopback only, not {address!r}")


@pytest.fixture(autouse=True, scope="session")
def loopback_only() -> Iterator[None]:
    """Block what this process sends beyond loopback, name look-ups included; processes that a test starts are not covered."""
    connect, connect_ex, sendto = socket.socket.connect, socket.socket.connect_ex, socket.socket.sendto
    getaddrinfo = socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: object) -> None:
        _refuse_beyond_loopback(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: object) -> int:
        _refuse_beyond_loopback(self.family, address)
        return connect_ex(self, address)

    def guarded_sendto(self: socket.socket, *args: object) -> int:
        _refuse_beyond_loopback(self.family, args[-1])
        return sendto(self, *args)

    def guarded_getaddrinfo(host: object, *args: object, **kwargs: object) -> object:
        # A numeric address is parsed, not looked up; whoever connects to it meets the guard above.
        if host is not None and host not in ("", b"") and not _is_loopback(host) and not _is_literal(host):
            raise NetworkBlockedError(f"tests look up no names, not {host!r}")
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket.socket, "sendto", guarded_sendto)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield
