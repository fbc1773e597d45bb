"""A process tree of its own for one run: the first process of new PID, IPC and mount namespaces.

The last process of a PID namespace cannot outlive the first, and nothing in it can signal the first, so whatever a
program starts ends with its init. SysV segments go with the IPC namespace; `/proc` and `/dev/shm` are the run's own
where the machine lets them be mounted. Without root a user namespace comes first, in which this user stays who it is.
"""

from __future__ import annotations

import os
from contextlib import suppress

from openvlharness_adapters.executor import kernel

_SHARED_MEMORY = "/dev/shm"  # noqa: S108  the mount point; nothing is written to it here
_LEAST_PID_MAX = 301
"""The kernel takes no less, so fewer processes have to be counted."""


def leave_for_new() -> None:
    """Leave this process's namespaces; the next child is the first process of the new one.

    Raises:
        OSError: this machine gives no namespaces to this user.
    """
    flags = kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC | kernel.CLONE_NEWNS
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        try:
            kernel.unshare(flags)
        except PermissionError:  # root without its powers, as in a container
            kernel.unshare(flags | kernel.CLONE_NEWUSER)
            _stay(user, group)
        return
    kernel.unshare(flags | kernel.CLONE_NEWUSER)
    _stay(user, group)


def _stay(user: int, group: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def show_own_processes() -> bool:
    """Mount `/proc` anew for this namespace, and say whether it could be done: a container that hides parts of it forbids that."""
    try:
        kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    except OSError:
        return False
    return True


def own_shared_memory(size: int, directory: str) -> None:
    """Put an empty file system of `size` bytes over `/dev/shm`, unless `directory` lies in there or it cannot be done."""
    if not os.path.realpath(directory).startswith(f"{_SHARED_MEMORY}/"):
        with suppress(OSError):
            flags = kernel.MS_NOSUID | kernel.MS_NODEV
            kernel.mount("tmpfs", _SHARED_MEMORY, "tmpfs", flags, f"size={size},mode=1777")


def bound_processes(processes: int) -> bool:
    """Let this namespace hold no more than `processes`, or 300; whether the kernel sees to it."""
    try:
        with open("/proc/sys/kernel/pid_max", "w", encoding="ascii") as file:
            file.write(str(max(processes, _LEAST_PID_MAX)))
    except OSError:  # before Linux 6.14 there is one bound for the whole machine
        return False
    return processes >= _LEAST_PID_MAX
