"""A folder of files named by what is in them: each is written once, and never changes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from pathlib import Path

import attrs

from openvlharness_adapters.files.durable import reading, sync_directory, write_new, writing
from openvlharness_core.errors import SavedFileError

_NAME = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{1,8}")


@attrs.define
class ContentFolder:
    """Files by the SHA-256 of their contents; whatever is there under such a name is whole.

    Attributes:
        folder: where; made when the first file comes.
    """

    folder: Path
    _there: set[str] = attrs.field(factory=set, init=False)
    _unsynced: bool = attrs.field(default=False, init=False)

    def keep(self, digest: str, suffix: str, data: bytes) -> str:
        """Write `data` unless it is there, and return its name; `digest` is its SHA-256 in hex.

        Raises:
            SavedFileError: it cannot be written.
        """
        name = f"{digest}.{suffix}"
        if name in self._there:
            return name
        path = self.folder / name
        with writing(path):
            if not path.exists():
                if not self.folder.is_dir():
                    self.folder.mkdir(parents=True, exist_ok=True)
                    sync_directory(self.folder.parent)
                partial = self.folder / f".{name}.partial"
                try:
                    write_new(partial, data)
                    os.replace(partial, path)
                except BaseException:
                    with contextlib.suppress(OSError):  # the first failure is the one to be told
                        partial.unlink()
                    raise
            self._unsynced = True  # even if it was there: whoever wrote it may have died before its name was safe
        self._there.add(name)
        return name

    def sync(self) -> None:
        """Wait until all names are on the disk.

        Raises:
            SavedFileError: the disk refuses.
        """
        if self._unsynced:
            with writing(self.folder):
                sync_directory(self.folder)
            self._unsynced = False

    def read(self, name: str) -> bytes:
        """Contents of a file.

        Raises:
            SavedFileError: it is not there, or not what it was.
        """
        path = self.folder / name
        if not _NAME.fullmatch(name):
            raise SavedFileError(str(path), "expected a file that is named by its contents")
        with reading(path):
            data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != name.partition(".")[0]:
            raise SavedFileError(str(path), "expected the bytes that the name says, got others")
        self._there.add(name)
        return data

    def drop_others(self) -> None:
        """Remove files that nothing here has kept or read, such as those of an earlier question.

        Raises:
            SavedFileError: the disk refuses.
        """
        if not self.folder.is_dir():
            return
        with writing(self.folder):
            for entry in list(self.folder.iterdir()):
                plain = entry.name.removeprefix(".").removesuffix(".partial")
                if _NAME.fullmatch(plain) and entry.name not in self._there:
                    entry.unlink(missing_ok=True)
