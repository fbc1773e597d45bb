"""Servers that nobody here wrote, as processes of an environment of their own."""

from __future__ import annotations

import contextlib
import selectors
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-peers" / "bin" / "python"
READY = ROOT / ".venv-peers" / ".made"

_START_SECONDS = 180.0  # four are enough where nobody else wants the processor
_END_SECONDS = 30.0


class PeerError(AssertionError):
    """A server did not come up; the message says what it said last."""


@contextlib.contextmanager
def running(program: str, *arguments: str) -> Iterator[str]:
    """The address of a server that runs as long as the block does.

    Args:
        program: module of this folder; prints its address once it serves, ends when its standard input does.
        arguments: for the program.

    Raises:
        PeerError: the environment was not made, or no address came.
    """
    if not READY.is_file():
        raise PeerError("the servers of tests/peers are not installed: `make peers`, a part of `make test-full`")
    command = [PYTHON, "-I", "-u", Path(__file__).with_name(program), *arguments]
    with tempfile.TemporaryFile() as said:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(server.stdout, selectors.EVENT_READ)
                line = server.stdout.readline().strip() if selector.select(_START_SECONDS) else ""
            if not line.startswith("http://127.0.0.1:"):
                said.seek(0)
                words = said.read()[-2000:].decode(errors="replace")
                raise PeerError(f"{program}: expected an address on loopback, got {line!r}; it said:\n{words}")
            yield line
        finally:
            server.stdin.close()
            try:
                server.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            server.stdout.close()
