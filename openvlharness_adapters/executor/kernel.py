"""The system calls that Python does not offer, by way of the C library.

Nothing is loaded before the first call, and every failure is an OSError that names the call.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_REC, MS_PRIVATE = 0x4000, 0x40000

_CAPABILITY_VERSION = 0x20080522


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


def prctl(option: int, argument: int) -> None:
    """Set an attribute of this process; nothing where there is no such call."""
    if sys.platform == "linux":
        _checked(_library().prctl(option, ctypes.c_ulong(argument), 0, 0, 0), f"prctl {option}")


def set_filter(mode: int, program: ctypes.Structure) -> None:
    """Filter the system calls of this process from now on."""
    _checked(_library().prctl(PR_SET_SECCOMP, ctypes.c_ulong(mode), ctypes.byref(program), 0, 0), "prctl seccomp")


def unshare(flags: int) -> None:
    """Leave the namespaces of `flags` for new ones; with `CLONE_NEWPID` it is the next child that is in the new one."""
    _checked(_library().unshare(flags), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount a file system, or change how `target` passes mounts on."""
    texts = [None if text is None else text.encode() for text in (source, target, kind, data)]
    _checked(_library().mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]), f"mount {target}")


def system_call(number: int, *arguments: object) -> int:
    """A system call that the C library has no function for; integers and ctypes references."""
    wide = (ctypes.c_long(value) if isinstance(value, int) else value for value in arguments)
    return _checked(_library().syscall(ctypes.c_long(number), *wide), f"system call {number}")


def drop_capabilities() -> None:
    """Give up whatever root, or the first process of a user namespace, may do beyond the permissions of its user."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    none = (ctypes.c_uint32 * 6)()
    _checked(_library().capset(ctypes.byref(header), ctypes.byref(none)), "capset")
