"""Servers of the command line as real processes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Process:
    """A server that listens."""

    def __init__(self, process: subprocess.Popen[str], base: str) -> None:
        self.process = process
        self.base = base

    def stop(self) -> int:
        """Ask it to end, and wait for its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextmanager
def server(*arguments: str, folder: Path, environment: dict[str, str] | None = None) -> Iterator[Process]:
    """`openvlharness ARGUMENTS --port 0`, once it has said where it listens."""
    import os

    command = [sys.executable, "-m", "openvlharness_app", *arguments, "--port", "0"]
    with (folder / f"{arguments[0]}.err").open("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **(environment or {})},
        )
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            if found is None:
                process.wait(20)
                errors.seek(0)
                raise AssertionError(f"{arguments}: {line}{errors.read()}")
            yield Process(process, found[0])
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
