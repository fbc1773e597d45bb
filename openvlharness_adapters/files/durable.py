"""Writing so that it stays written: bytes reach the disk before anybody is told that they are there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from openvlharness_core.errors import SavedFileError


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Whatever the system refuses inside becomes a `SavedFileError` that names `path`."""
    try:
        yield
    except OSError as error:
        raise SavedFileError(str(path), f"cannot be written: {error.strerror or type(error).__name__}") from error


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever the system refuses inside becomes a `SavedFileError` that names `path`."""
    try:
        yield
    except OSError as error:
        raise SavedFileError(str(path), f"cannot be read: {error.strerror or type(error).__name__}") from error


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte of `data`, however many calls that takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_new(path: Path, data: bytes) -> None:
    """Write a file from its beginning, whatever was there, and wait until it is on the disk.

    Raises:
        OSError: it is there in part, or not at all.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
