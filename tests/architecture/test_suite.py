"""The promises of tests/conftest.py, which every other test leans on."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.architecture.rooms import ROOT

_ELSEWHERE = "192.0.2.1"  # RFC 5737: documentation, routed nowhere


async def test_nothing_leaves_the_machine() -> None:
    with socket.socket() as plain, pytest.raises(Exception, match="loopback only"):
        plain.connect((_ELSEWHERE, 80))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, pytest.raises(Exception, match="loopback only"):
        datagrams.sendto(b"x", (_ELSEWHERE, 53))
    with pytest.raises(Exception, match="loopback only"):
        await asyncio.open_connection(_ELSEWHERE, 80)
    async with httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(Exception, match="look up no names"):
            await client.get("http://elsewhere.example/")


async def test_loopback_stays_open() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("localhost", port, family=socket.AF_INET)
        assert await reader.read() == b"hello"
        writer.close()
        await writer.wait_closed()


_LEAVES_OUT = """
import pytest

@pytest.mark.system
def test_of_a_part(): pass

def test_that_skips(): pytest.skip("no such part")

@pytest.mark.xfail(strict=True)
def test_known_to_fail(): assert False
"""


def _closing_line(folder: Path, *options: str) -> str:
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "test_parts.py").write_text(_LEAVES_OUT, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = system: a part\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    bare = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # conftest stands on pytest alone, and starts sooner so
    ran = subprocess.run(command, cwd=folder, env=bare, capture_output=True, text=True, check=False)
    return ran.stdout.splitlines()[-1].partition(" in ")[0]


def test_a_full_run_takes_no_skip(tmp_path: Path) -> None:
    assert _closing_line(tmp_path) == "2 skipped, 1 xfailed"
    assert _closing_line(tmp_path, "--full") == "1 failed, 1 passed, 1 xfailed"


def test_a_full_run_takes_no_skipped_module(tmp_path: Path) -> None:
    (tmp_path / "test_module.py").write_text(
        "import pytest\npytest.importorskip('no_such_package')\n", encoding="utf-8"
    )
    assert _closing_line(tmp_path) == "3 skipped, 1 xfailed"
    assert _closing_line(tmp_path, "--full") == "1 error"


@pytest.mark.unprivileged
def test_another_user_runs_the_tests_that_root_would_pass_for_free() -> None:
    assert os.geteuid() != 0


_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")


def test_no_name_of_a_test_holds_a_memory_address(request: pytest.FixtureRequest) -> None:
    """Such a name differs from run to run: workers of xdist disagree on it, and nobody can ask for the test again.

    Looks at everything that this run has collected.
    """
    assert [item.nodeid for item in request.session.items if _ADDRESS.search(item.nodeid)] == []


def test_an_address_is_recognised() -> None:
    assert _ADDRESS.search(f"test_a.py::test_b[{object()}]")
    assert not _ADDRESS.search("test_a.py::test_b[0x10-0xff]")
