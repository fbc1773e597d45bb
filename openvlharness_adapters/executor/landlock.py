"""Landlock: what this process and all it starts may open, and whom they may signal, from now on and for good.

A rule names a file or a folder with all below it. Looking up a path and reading its metadata is never restricted.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from contextlib import suppress

from openvlharness_adapters.executor import kernel

SIGNAL_SCOPE_ABI = 6
TRUNCATE_ABI = 3
"""The first version under which a file that may not be written cannot be emptied either."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_LAST_FILE_RIGHT = {1: 12, 2: 13, 3: 14, 4: 14}  # by version: removing and making, then moving, truncating, ioctl
_LAST_FILE_RIGHT_NOW = 15
_NETWORK_ABI, _BIND_AND_CONNECT = 4, 0b11
_ABSTRACT_SOCKETS, _SIGNALS = 0b01, 0b10


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """The version this kernel speaks, 0 for none."""
    if sys.platform != "linux":
        return 0
    try:
        return kernel.system_call(_CREATE_RULESET, 0, 0, _CREATE_RULESET_VERSION)
    except OSError:  # not built in, not switched on, or forbidden by a filter around us
        return 0


def scope_signals() -> None:
    """From now on, signals reach only processes that were started from here.

    Raises:
        OSError: the kernel does not offer it.
    """
    _restrict(_Ruleset(0, 0, _SIGNALS), ())


def allow_only(*, readable: Iterable[str], writable: Iterable[str]) -> None:
    """From now on, open nothing else, use no TCP port and signal nobody outside, as far as this kernel can bind that.

    Args:
        readable: files and folders to read and execute; a path that does not exist is no rule.
        writable: files, and folders to do anything in; these must exist.

    Raises:
        OSError: the kernel does not offer it, or a writable path is missing.
    """
    version = abi()
    rights = (1 << _LAST_FILE_RIGHT.get(version, _LAST_FILE_RIGHT_NOW) + 1) - 1
    network = _BIND_AND_CONNECT if version >= _NETWORK_ABI else 0
    scoped = _ABSTRACT_SOCKETS | _SIGNALS if version >= SIGNAL_SCOPE_ABI else 0
    rules = [(path, rights & ~_IOCTL_DEV, True) for path in writable]
    rules += [(path, _READING, False) for path in readable]
    _restrict(_Ruleset(rights, network, scoped), rules)


def _restrict(attributes: _Ruleset, rules: Iterable[tuple[str, int, bool]]) -> None:
    # an older kernel takes a longer structure as long as what it does not know is zero
    ruleset = kernel.system_call(_CREATE_RULESET, ctypes.byref(attributes), ctypes.sizeof(attributes), 0)
    try:
        for path, rights, required in rules:
            if required:
                _add_rule(ruleset, path, rights)
            else:
                with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                    _add_rule(ruleset, path, rights)
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.system_call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _add_rule(ruleset: int, path: str, rights: int) -> None:
    parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed = rights if os.path.isdir(path) else rights & _OF_FILES
        rule = _PathBeneath(allowed, parent)
        kernel.system_call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(parent)
