"""Finding and ending the processes that a run started.

On Linux the init of a run is a subreaper: a process that detaches itself, in a session of its own and with its parent
gone, becomes a child of the init instead of the machine's. So everything a program starts stays below the init, and is
gone when the init has no child left. Elsewhere only the program's own process group can be reached.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from openvlharness_adapters.executor import kernel

_PAUSE_SECONDS = 0.002


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent ends."""
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Be killed when `parent`, the process that forked this one, ends; also if it has ended already."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def tasks_on_machine() -> int:
    """Processes and threads that exist now, or 0 where the machine does not say."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def descendants(root: int) -> dict[int, int]:
    """Process id of every process below `root` to its number of threads, as far as can be seen at this moment."""
    found: dict[int, int] = {}
    listed = _children_are_listed()
    parents = {} if listed else _children_by_parent()
    waiting = [root]
    while waiting:
        process = waiting.pop()
        threads, below = _threads_and_children(process, listed)
        found[process] = threads
        waiting += [child for child in (below if listed else parents.get(process, [])) if child not in found]
    del found[root]
    return found


def _children_are_listed() -> bool:
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def _threads_and_children(process: int, listed: bool) -> tuple[int, list[int]]:
    children: list[int] = []
    try:
        threads = os.listdir(f"/proc/{process}/task")
    except OSError:  # it has ended
        return 0, children
    for thread in threads if listed else ():
        with suppress(OSError), open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
            children += map(int, file.read().split())
    return len(threads), children


def _children_by_parent() -> dict[int, list[int]]:
    """For kernels that list no children: every process of the machine, by its parent."""
    by_parent: dict[int, list[int]] = {}
    for process in _processes():
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{process}/stat", "rb") as file:
            # the name in brackets may hold anything, so the fields are counted from its end
            by_parent.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(process)
    return by_parent


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def kill(process: int) -> None:
    """End one process; one that is gone already is fine, and so is one that this user may not end."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)


def kill_group(group: int) -> None:
    """End every process of a group at once, a forking one without a gap."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def end_below(group: int, until: float) -> bool:
    """For the init: end everything below this process and collect it; say whether nothing is left by `until`.

    Args:
        group: the program's process group.
        until: when to give up, on the monotonic clock; a process stuck inside the kernel cannot be ended by anyone.
    """
    kill_group(group)
    while True:
        for process in descendants(os.getpid()):
            kill(process)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass  # one more collected
        except ChildProcessError:
            return True
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE_SECONDS)


def end_namespace(until: float) -> bool:
    """For an init that is the first process of a namespace: end all others in it; say whether nothing is left by `until`."""
    while True:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass  # one more collected
        except ChildProcessError:
            return True
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE_SECONDS / 4)


def end_run(init: int, mark: str, until: float) -> bool:
    """For the caller, when the init itself hangs or was killed: end it and all that carries `mark` in its environment.

    Say whether nothing is left by `until`. The init goes last, so that what is below it can be seen until then.
    """
    for _ in range(3):
        for process in [*descendants(init), *_marked(mark, init)]:
            kill(process)
    kill(init)
    while left := _marked(mark, init):
        for process in left:
            kill(process)
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True


def _marked(mark: str, init: int) -> list[int]:
    found = []
    for process in _processes():
        with suppress(OSError), open(f"/proc/{process}/environ", "rb") as file:
            if process != init and mark.encode() in file.read():
                found.append(process)
    return found
