"""What a run may have left on this machine."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def tag() -> str:
    """A word that no other process has on its command line."""
    return f"canary-{secrets.token_hex(8)}"


def processes_named(word: str) -> list[int]:
    """Processes with `word` on their command line, this one and ended ones left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def children() -> set[int]:
    """Processes whose parent is this one."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            found |= {int(number) for number in (thread / "children").read_text().split()}
    return found


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def folder_holds(directory: str) -> list[str]:
    return sorted(os.listdir(directory))
