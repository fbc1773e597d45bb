"""A disk that fails at the operation of one's choice: full, or taken away in the middle of a write."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest

OPERATIONS = ("write", "fsync", "replace", "mkdir", "ftruncate", "unlink", "rmdir")
"""Calls of `os` that change what is on a disk."""


class Disk:
    """Counts the operations on `os` from its making on, and calls `at` before number `stop`, from 1."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.stop = 0
        self.at: Callable[[str, tuple[Any, ...]], None] = full
        self.written = 0
        for name in OPERATIONS:
            patch.setattr(os, name, self._counting(name, getattr(os, name)))

    def fail_at(self, stop: int, at: Callable[[str, tuple[Any, ...]], None] | None = None) -> None:
        """From now on, let operation number `stop` fail; 0 for none."""
        self.count, self.stop, self.at = 0, stop, at or full

    def _counting(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            if self.count == self.stop:
                if name == "write":  # half of it arrives
                    descriptor, data = arguments
                    real(descriptor, bytes(data)[: len(data) // 2])
                self.at(name, arguments)
            if name == "write":
                self.written += len(arguments[1])
            return None if name == "fsync" else real(*arguments, **options)  # no machine loses power in a test

        return call


def full(name: str, _: tuple[Any, ...]) -> None:
    """No space left."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
