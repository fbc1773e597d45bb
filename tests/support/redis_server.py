"""A real Redis on a free port of this machine, to be stopped, halted and started again empty."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@attrs.define(eq=False)
class RedisServer:
    """See the module; nothing is ever written to disk, so whoever starts it again finds it empty.

    Attributes:
        folder: working directory.
        password: that clients must send; empty for none.
        port: chosen once.
    """

    folder: Path
    password: str = ""
    port: int = attrs.field(factory=_free_port, init=False)
    _process: subprocess.Popen[bytes] | None = attrs.field(default=None, init=False)

    @property
    def url(self) -> str:
        user = f":{self.password}@" if self.password else ""
        return f"redis://{user}127.0.0.1:{self.port}/0"

    @property
    def shown(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self, *, long_ago: bool = True) -> None:
        """Start it empty; `long_ago` has it believe that it was up before, so that nobody waits for old holders."""
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("needs redis-server: `bash tests/setup.sh`")
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        if self.password:
            command += ["--requirepass", self.password]
        self._process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        client = self.client()
        for _ in range(500):
            try:
                client.ping()
                break
            except Exception:  # noqa: BLE001 - it is not up yet; a fault shows in what follows
                time.sleep(0.01)
        if long_ago:
            client.set("{openvlharness}:born", "1")
        client.close()

    def client(self) -> Any:
        redis = pytest.importorskip("redis", reason="needs the extra: pip install 'openvlharness[redis]'")
        return redis.Redis.from_url(self.url, protocol=2)

    def empty(self) -> None:
        """Forget everything, as after a start."""
        client = self.client()
        client.flushall()
        client.set("{openvlharness}:born", "1")
        client.close()

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()
            self._process = None

    def halt(self) -> None:
        """Leave it there and have it answer nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


@contextmanager
def redis_server(folder: Path, password: str = "") -> Iterator[RedisServer]:
    server = RedisServer(folder, password)
    server.start()
    try:
        yield server
    finally:
        server.stop()
