"""Removing whatever a program left in its directory."""

from __future__ import annotations

import math
import os
import stat
import time
from itertools import count


def remove_tree(directory: str, until: float = math.inf) -> bool:
    """Remove `directory` with all it holds, and say whether it is gone; never raises, and gives up after `until`.

    A program can nest folders deeper than a path may be long or a function may recurse, and take its own rights away.
    So nothing here descends: folders found inside a folder are moved up beside it, until all of them are flat.
    """
    try:
        os.chmod(directory, stat.S_IRWXU)
        top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return not os.path.lexists(directory)
    try:
        if not _empty(top, until):
            return False
    except OSError:  # a mount, an immutable file, a full or failing disk: what could go is gone
        return False
    finally:
        os.close(top)
    try:
        os.rmdir(directory)
    except OSError:
        return False
    return True


def _empty(top: int, until: float) -> bool:
    numbers = count()
    while names := os.listdir(top):
        for name in names:
            if time.monotonic() > until:
                return False
            if not _is_folder(name, top):
                os.unlink(name, dir_fd=top)
                continue
            os.chmod(name, stat.S_IRWXU, dir_fd=top)
            folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
            try:
                _move_up(folder, top, numbers)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)
    return True


def _move_up(folder: int, top: int, numbers: count[int]) -> None:
    for name in os.listdir(folder):
        if not _is_folder(name, folder):
            os.unlink(name, dir_fd=folder)
            continue
        os.chmod(name, stat.S_IRWXU, dir_fd=folder)  # to move a folder is to write its `..`
        while _exists(moved := f"moved-{next(numbers)}", top):
            pass
        os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=top)


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode)


def _exists(name: str, parent: int) -> bool:
    try:
        os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return False
    return True
