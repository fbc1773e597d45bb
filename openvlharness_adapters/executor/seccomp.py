"""The system calls that a sandboxed program goes without, as a filter for the kernel.

Landlock binds what may be opened; this binds the rest: sockets, other processes' memory, namespaces, the machine's own
settings, and what changes a file without opening it. Numbers are those of 64-bit x86 and ARM; another architecture has
no filter, and a program there that switches to one dies.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

from openvlharness_adapters.executor import kernel

_MODE_FILTER = 2
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24
_X32 = 0x40000000
_SOCK_TYPE_MASK, _SOCK_STREAM = 0xF, 1
# time, mount, cgroup, uts, ipc, user, pid, net
_NAMESPACES = 0x00000080 | 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_EVERYWHERE = {
    "pidfd_getfd": 438, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435,
    "mount_setattr": 442, "quotactl_fd": 443, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466,
    "open_tree_attr": 467, "file_setattr": 469,
}  # fmt: skip

_X86_64 = {
    "accept": 43, "accept4": 288, "acct": 163, "add_key": 248, "adjtimex": 159, "bind": 49, "bpf": 321, "chmod": 90, "chown": 92,
    "chroot": 161, "clock_adjtime": 305, "clock_settime": 227, "clone": 56, "connect": 42, "delete_module": 176,
    "fanotify_init": 300, "fchmod": 91, "fchmodat": 268, "fchown": 93, "fchownat": 260, "finit_module": 313,
    "fremovexattr": 199, "fsetxattr": 190, "futimesat": 261, "init_module": 175, "ioperm": 173, "iopl": 172, "kcmp": 312,
    "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250, "lchown": 94, "listen": 50, "lremovexattr": 198, "lsetxattr": 189,
    "modify_ldt": 154, "mount": 165, "mq_open": 240, "msgget": 68, "name_to_handle_at": 303, "open_by_handle_at": 304,
    "perf_event_open": 298, "personality": 135, "pivot_root": 155, "process_vm_readv": 310, "process_vm_writev": 311,
    "ptrace": 101, "quotactl": 179, "reboot": 169, "removexattr": 197, "request_key": 249, "semget": 64, "setdomainname": 171,
    "sethostname": 170, "setns": 308, "settimeofday": 164, "setxattr": 188, "shmget": 29, "socket": 41, "socketpair": 53,
    "swapoff": 168, "swapon": 167, "syslog": 103, "umount2": 166, "unshare": 272, "userfaultfd": 323, "utime": 132,
    "utimensat": 280, "utimes": 235, "vhangup": 153,
}  # fmt: skip

_AARCH64 = {
    "accept": 202, "accept4": 242, "acct": 89, "add_key": 217, "adjtimex": 171, "bind": 200, "bpf": 280, "chroot": 51,
    "clock_adjtime": 266, "clock_settime": 112, "clone": 220, "connect": 203, "delete_module": 106, "fanotify_init": 262,
    "fchmod": 52, "fchmodat": 53, "fchown": 55, "fchownat": 54, "finit_module": 273, "fremovexattr": 16, "fsetxattr": 7,
    "init_module": 105, "kcmp": 272, "kexec_file_load": 294, "kexec_load": 104, "keyctl": 219, "listen": 201,
    "lremovexattr": 15, "lsetxattr": 6, "mount": 40, "mq_open": 180, "msgget": 186, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "perf_event_open": 241, "personality": 92, "pivot_root": 41, "process_vm_readv": 270,
    "process_vm_writev": 271, "ptrace": 117, "quotactl": 60, "reboot": 142, "removexattr": 14, "request_key": 218, "semget": 190,
    "setdomainname": 162, "sethostname": 161, "setns": 268, "settimeofday": 170, "setxattr": 5, "shmget": 194, "socket": 198,
    "socketpair": 199, "swapoff": 225, "swapon": 224, "syslog": 116, "umount2": 39, "unshare": 97, "userfaultfd": 282,
    "utimensat": 88, "vhangup": 58,
}  # fmt: skip

_NUMBERS = {"x86_64": _X86_64 | _EVERYWHERE, "aarch64": _AARCH64 | _EVERYWHERE}

# Libraries change rights and times of the files they wrote in passing; that does nothing here, and they go on.
_WITHOUT_EFFECT = {"chmod", "fchmod", "fchmodat", "fchmodat2", "futimesat", "utime", "utimensat", "utimes"}
_BY_ARGUMENT = {"clone", "socketpair"}
_MISSING = {"clone3"}  # its flags lie in memory, out of a filter's sight; the C library falls back to clone


def find_filter() -> bytes | None:
    """The filter for this machine's architecture, eight bytes an instruction; `None` where there is none."""
    machine = platform.machine()
    return _filter(_ARCHITECTURES[machine], _NUMBERS[machine]) if machine in _ARCHITECTURES else None


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)


def _filter(architecture: int, numbers: dict[str, int]) -> bytes:
    refuse = _step(_RETURN, _ERRNO | errno.EPERM)
    steps = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_EQUAL, architecture, yes=1),
        _step(_RETURN, _KILL_PROCESS),
        _step(_LOAD, _NUMBER_AT),
    ]
    if architecture == _ARCHITECTURES["x86_64"]:
        steps += [_step(_AT_LEAST, _X32, no=1), _step(_RETURN, _KILL_PROCESS)]
    for name in sorted(numbers.keys() - _BY_ARGUMENT):
        number = 0 if name in _WITHOUT_EFFECT else errno.ENOSYS if name in _MISSING else errno.EPERM
        steps += [_step(_EQUAL, numbers[name], no=1), _step(_RETURN, _ERRNO | number)]
    steps += [
        _step(_EQUAL, numbers["clone"], no=4),
        _step(_LOAD, _FIRST_ARGUMENT_AT),
        _step(_ANY_BIT, _NAMESPACES, no=1),
        refuse,
        _step(_RETURN, _ALLOW),
        # a pair of streams leads nowhere; from a datagram one can write to any socket that has a name
        _step(_EQUAL, numbers["socketpair"], no=4),
        _step(_LOAD, _SECOND_ARGUMENT_AT),
        _step(_AND, _SOCK_TYPE_MASK),
        _step(_EQUAL, _SOCK_STREAM, yes=1),
        refuse,
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(steps)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def install() -> None:
    """Put the filter on this process and all it starts, for good; needs that no new privileges can be had.

    Raises:
        OSError: the kernel takes no filter, or there is none for this architecture.
    """
    steps = find_filter()
    if steps is None:
        raise OSError(errno.ENOSYS, f"no filter of system calls for {platform.machine()}")
    program = _Program(len(steps) // 8, steps)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.set_filter(_MODE_FILTER, program)
