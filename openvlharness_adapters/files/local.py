"""Reads local files that somebody named, and never waits for one that is no file."""

from __future__ import annotations

import os
import stat

from openvlharness_core.errors import FetchError
from openvlharness_core.texts import clean_text, excerpt

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def path_name(path: str) -> str:
    """A path as errors show it."""
    return excerpt(clean_text(path), 200) or "(a blank path)"


def read_file(path: str, max_bytes: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        FetchError: missing, not readable, not a regular file, empty, or more than `max_bytes` bytes.
    """
    name = path_name(path)
    try:
        _expect_regular(name, os.stat(path).st_mode)  # before opening: to open a device may already do something
        # Not blocking, and looked at again, in case a pipe has taken the file's place since.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            _expect_regular(name, os.fstat(file.fileno()).st_mode)
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise FetchError(
            name, f"expected a file that can be read, got: {error.strerror or type(error).__name__}"
        ) from error
    except ValueError as error:  # a zero byte, or half a character that the file system cannot spell
        raise FetchError(name, "expected a path, got text that no path can be") from error
    if len(data) > max_bytes:
        raise FetchError(name, f"expected at most {max_bytes} bytes, got more")
    if not data:
        raise FetchError(name, "expected a picture, got an empty file")
    return data


def other_than_file(mode: int) -> str | None:
    """What stands in place of a regular file, in words; `None` if it is one.

    Args:
        mode: `st_mode` of a `stat`.
    """
    if stat.S_ISREG(mode):
        return None
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "something else")


def _expect_regular(name: str, mode: int) -> None:
    if (kind := other_than_file(mode)) is not None:
        raise FetchError(name, f"expected a file, got {kind}")
