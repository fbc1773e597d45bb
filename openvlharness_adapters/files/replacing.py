"""Replacing several files of one directory at once.

The new files are written into a folder of their own inside the directory, and reach the disk. Then that folder takes
the name that says so: from this one rename on it counts, file by file, before what lies beside it. Its files are then
moved to their places and the folder goes. A process that dies on the way leaves either a folder that counts for
nothing, or one whose files the next writer moves; and a reader who looks there first sees the old files or the new
ones at every instant.

Files that somebody else put into the directory are never touched.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from openvlharness_adapters.files.durable import sync_directory, write_new, writing
from openvlharness_core.errors import SavedFileError

STAGED = ".report.new"
COMMITTED = ".report"
_CONTENTS = "contents.json"  # inside the folder: what is to be moved, and what of before has no successor
_PLAIN_NAME = re.compile(r"(?:[A-Za-z0-9_-]+/)?[A-Za-z0-9_-][A-Za-z0-9_.-]*")


def is_plain_name(name: object) -> bool:
    """Whether `name` is a file of the directory or of one folder in it, and of nowhere else."""
    return isinstance(name, str) and _PLAIN_NAME.fullmatch(name) is not None


def replace_files(directory: Path, files: Mapping[str, bytes], removed: Collection[str] = ()) -> None:
    """Put `files` into `directory`, made if it is missing, and take `removed` out of it, all or nothing.

    Args:
        directory: where.
        files: plain name to contents; the last one is moved to its place last.
        removed: plain names that have no successor.

    Raises:
        SavedFileError: it cannot be written, naming the file; a reader still sees what was there before.
    """
    made: list[Path] = []
    with writing(directory):
        made += _make(directory)
    with _alone(directory):
        try:
            finish(directory)
            _stage(directory, files, removed, made)
        except BaseException:
            shutil.rmtree(directory / STAGED, ignore_errors=True)
            for folder in reversed(made):
                with contextlib.suppress(OSError):  # somebody has begun to use it
                    folder.rmdir()
            raise
        finish(directory)


def _make(directory: Path) -> list[Path]:
    """Make a folder and return it, if it was not there."""
    if directory.is_dir():
        return []
    directory.mkdir(parents=True, exist_ok=True)
    return [directory]


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Keep other writers out of a directory, those of other processes too, as far as its file system can."""
    with writing(directory):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: whoever writes there twice at once must know
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def finish(directory: Path) -> None:
    """Move the files of a committed folder to their places, if there is one; doing so twice does no harm.

    Raises:
        SavedFileError: a file cannot be moved; readers see the new files all the same.
    """
    committed = directory / COMMITTED
    if not committed.is_dir():
        return
    names = [name for name in _order(committed) if (committed / name).exists()]
    for name in names:
        with writing(directory / name):
            os.replace(committed / name, directory / name)
    with writing(directory):
        for folder in {(directory / name).parent for name in names} | {directory}:
            sync_directory(folder)
        for name in _removed(committed):
            (directory / name).unlink(missing_ok=True)
        shutil.rmtree(committed)
        sync_directory(directory)


def find_bytes(directory: Path, name: str) -> bytes | None:
    """The newest whole file of that name, or `None` if there is none.

    Raises:
        OSError: there is one that cannot be read.
    """
    for place in (directory / COMMITTED / name, directory / name):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return place.read_bytes()
    return None


def _stage(directory: Path, files: Mapping[str, bytes], removed: Collection[str], made: list[Path]) -> None:
    staged = directory / STAGED
    with writing(staged):
        if staged.exists():  # of somebody who died before it counted
            shutil.rmtree(staged)
        for folder in sorted({Path(name).parent for name in files} | {Path()}):
            (staged / folder).mkdir(exist_ok=True)
            made += _make(directory / folder)
    for name, data in files.items():
        if (directory / name).is_dir():
            raise SavedFileError(str(directory / name), "expected a file or nothing there, found a directory")
        with writing(directory / name):
            write_new(staged / name, data)
    with writing(staged):
        order = {"files": list(files), "removed": sorted(removed)}
        write_new(staged / _CONTENTS, json.dumps(order).encode())
        for folder in {(staged / name).parent for name in files} | {staged}:
            sync_directory(folder)
        os.replace(staged, directory / COMMITTED)
        sync_directory(directory)


def _order(committed: Path) -> list[str]:
    return [name for name in _contents(committed)["files"] if is_plain_name(name)]


def _removed(committed: Path) -> list[str]:
    return [name for name in _contents(committed)["removed"] if is_plain_name(name)]


def _contents(committed: Path) -> dict[str, list[str]]:
    path = committed / _CONTENTS
    try:
        contents = json.loads(path.read_bytes())
        return {"files": list(contents["files"]), "removed": list(contents["removed"])}
    except FileNotFoundError:  # its files have been moved; only the folder was left to be removed
        return {"files": [], "removed": []}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SavedFileError(str(path), f"expected the list of the files to move, got {type(error).__name__}") from None
