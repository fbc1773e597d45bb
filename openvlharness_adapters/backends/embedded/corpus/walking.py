"""Which files a path stands for: each once, in one order, whatever links there are."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import attrs

Kind = Literal["text", "markdown", "html", "pdf", "picture"]

MOST_FILES = 200_000
_KINDS: dict[str, Kind] = {
    **dict.fromkeys((".txt", ".text", ".rst", ".org", ".log", ".csv", ".tsv"), "text"),
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    ".pdf": "pdf",
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"), "picture"),
}
_NAMES_WITHOUT_SUFFIX = ("readme", "license", "licence", "notes", "changelog", "copying", "authors")


@attrs.frozen(kw_only=True)
class FoundFile:
    """One file to index.

    Attributes:
        path: where it lies, links resolved.
        relative: its place under the root with forward slashes; for a root that is a file, the file's name.
        kind: what it is by its name.
        size: in bytes.
        modified_ns: time of its last change.
    """

    path: str
    relative: str
    kind: Kind
    size: int
    modified_ns: int


@attrs.frozen(kw_only=True)
class LeftOut:
    """A file or folder that is not indexed, and why."""

    path: str
    reason: str


def files_under(root: Path) -> Iterator[FoundFile | LeftOut]:
    """Files of a folder, or the file itself, sorted by name; hidden ones, and other kinds of files, are passed over.

    Links are followed. A folder is entered once, so a link that leads back to where it came from ends there; so is a file
    that several links lead to.
    """
    if not root.is_dir():
        yield _looked_at(str(root), storable(root.name))
        return
    entered: set[tuple[int, int]] = set()
    seen: set[str] = set()
    count = 0
    waiting = [(str(root), "")]
    while waiting:
        folder, prefix = waiting.pop()
        try:
            identity = os.stat(folder)
            if (identity.st_dev, identity.st_ino) in entered:
                continue
            entered.add((identity.st_dev, identity.st_ino))
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield LeftOut(path=prefix or folder, reason=f"cannot be read ({error.strerror})")
            continue
        deeper = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            relative = prefix + storable(entry.name)
            try:
                is_folder = entry.is_dir()
            except OSError as error:
                yield LeftOut(path=relative, reason=f"cannot be read ({error.strerror})")
                continue
            if is_folder:
                deeper.append((entry.path, relative + "/"))
                continue
            if kind_of(entry.name) is None:
                continue
            found = _looked_at(entry.path, relative)
            if isinstance(found, FoundFile):
                if found.path in seen:
                    continue
                seen.add(found.path)
                count += 1
                if count > MOST_FILES:
                    yield LeftOut(path=relative, reason=f"and what follows: more than {MOST_FILES} files")
                    return
            yield found
        waiting.extend(reversed(deeper))


def kind_of(name: str) -> Kind | None:
    """What a file is by its name; `None` for kinds that are not indexed."""
    suffix = os.path.splitext(name)[1].lower()
    if not suffix and name.lower() in _NAMES_WITHOUT_SUFFIX:
        return "text"
    return _KINDS.get(suffix)


def _looked_at(path: str, relative: str) -> FoundFile | LeftOut:
    kind = kind_of(path)
    if kind is None:
        return LeftOut(path=relative, reason=f"not a kind of file that is indexed: {', '.join(sorted(_KINDS))}")
    try:
        real = os.path.realpath(path, strict=True)
        status = os.stat(real)
    except OSError as error:
        return LeftOut(path=relative, reason=f"cannot be read ({error.strerror})")
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
        return LeftOut(path=relative, reason="not an ordinary file")
    return FoundFile(path=real, relative=relative, kind=kind, size=status.st_size, modified_ns=status.st_mtime_ns)


def storable(name: str) -> str:
    """A name whose bytes are not UTF-8 comes with lone surrogates, which no index and no URL can hold: spelled out."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
