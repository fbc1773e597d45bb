"""What a sandboxed program is left with: an interpreter, numpy, Pillow, our helpers, and a folder of its own.

Reading is granted package by package, since a folder on `sys.path` may be anybody's project; writing is granted for the
working directory alone. Landlock sees to files and signals, a filter of system calls to the rest.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import sysconfig

from openvlharness_adapters.executor import kernel, landlock, seccomp

_PACKAGES = ("numpy", "PIL", "attr", "attrs", "openvlharness_core")
_SYSTEM = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/dev/zero",
    "/dev/urandom",
    "/dev/random",
)
_PROCESSES = "/proc"


def find_obstacle() -> str | None:
    """Why this machine cannot hold a sandbox, as far as can be seen without entering one."""
    if sys.platform != "linux":
        return f"Landlock and seccomp are Linux's, and this is {sys.platform}"
    version = landlock.abi()
    if version < landlock.TRUNCATE_ABI:
        return f"Landlock in version {landlock.TRUNCATE_ABI} or later is needed, and this kernel offers {version or 'none'}"
    if seccomp.find_filter() is None:
        return f"there is no filter of system calls for {platform.machine()}"
    return None


def enter(directory: str, *, own_processes: bool) -> None:
    """Bind this process and all it starts, for good.

    Args:
        directory: where it may write.
        own_processes: whether `/proc` shows this run alone, so that it may be read.

    Raises:
        OSError: some of it does not hold here; the program must not run then.
    """
    kernel.drop_capabilities()
    readable = [*_SYSTEM, *_interpreter(), *_packages()]
    if own_processes:
        readable.append(_PROCESSES)
    landlock.allow_only(readable=readable, writable=(directory, os.devnull))
    seccomp.install()


def _interpreter() -> list[str]:
    """The interpreter's programs, its library and what is installed with it."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    place = os.path.dirname(os.path.dirname(sys.executable))  # an environment's own, which `python -S` does not look at
    environment = {"base": place, "platbase": place}
    programs = {sys.executable, os.path.realpath(sys.executable), os.path.join(place, "pyvenv.cfg")}
    folders = {path for name in names if (path := sysconfig.get_path(name))}
    folders |= {path for name in names if (path := sysconfig.get_path(name, vars=environment))}
    library = sysconfig.get_config_var("LIBDIR")
    shared = sysconfig.get_config_var("INSTSONAME")
    if library and shared:
        programs.add(os.path.join(library, shared))
    return sorted(programs | folders)


def _packages() -> list[str]:
    """The folders of the packages a program may import, with those of the libraries that wheels bring along."""
    found = []
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            found += [folder, f"{folder}.libs", os.path.join(os.path.dirname(folder), "pillow.libs")]
    return found
