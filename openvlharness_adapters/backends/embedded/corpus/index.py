"""The corpus that backends search: an index file, or a folder that is indexed in memory when it is first asked for."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import attrs

from openvlharness_adapters.backends.embedded.corpus import store
from openvlharness_adapters.backends.embedded.corpus.building import Decoder, Thumbnailer, fill, readable_name
from openvlharness_adapters.backends.embedded.corpus.faults import CorpusError
from openvlharness_core.errors import BackendUnavailableError, CapabilityUnavailableError

HOW_TO = "`openvlharness corpus add PATH` makes an index of documents; name it under `corpus` of this backend"


@attrs.frozen(kw_only=True)
class Document:
    """One document of the corpus.

    Attributes:
        number: its number in the index.
        url: its address inside the corpus.
        title: what it is called, or its file's name as words.
        source: the root it belongs to, and its place there.
        kind: what it is.
        note: what has to be said with it.
    """

    number: int
    url: str
    title: str
    source: str
    kind: str
    note: str


@attrs.define(kw_only=True, eq=False)
class Corpus:
    """Where the backends look; any thread may use it.

    Attributes:
        path: an index file or a folder of documents; `None` where none is configured.
        decode: gives the pixels of a picture.
        thumbnail: makes the small picture of one.
    """

    path: Path | None
    decode: Decoder
    thumbnail: Thumbnailer
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _in_memory: sqlite3.Connection | None = attrs.field(default=None, init=False)

    @contextlib.contextmanager
    def connected(self, backend: str) -> Iterator[sqlite3.Connection]:
        """A connection to search with, in the name of `backend`.

        Raises:
            CapabilityUnavailableError: no corpus is configured.
            BackendUnavailableError: the index cannot be read.
        """
        if self.path is None:
            raise CapabilityUnavailableError(backend, f"there is no corpus to search: {HOW_TO}")
        try:
            if self.path.is_dir():
                with self._lock:
                    yield self._of_folder(self.path)
            else:
                with store.reading(self.path) as connection:
                    yield connection
        except CorpusError as error:
            raise BackendUnavailableError(backend, f"the corpus cannot be searched: {error.problem}") from error

    def close(self) -> None:
        """Forget a folder's index."""
        with self._lock:
            if self._in_memory is not None:
                self._in_memory.close()
                self._in_memory = None

    def _of_folder(self, folder: Path) -> sqlite3.Connection:
        if self._in_memory is None:
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            try:
                store.new_schema(connection)
                root = Path(os.path.realpath(folder))
                fill(connection, [root], decode=self.decode, thumbnail=self.thumbnail)
            except BaseException:
                connection.close()
                raise
            self._in_memory = connection
        return self._in_memory


_COLUMNS = "documents.id, roots.name, relative, title, kind, note"


def document_of(connection: sqlite3.Connection, number: int) -> Document:
    """The document of that number, which must be there."""
    return _document(
        connection.execute(
            f"SELECT {_COLUMNS} FROM documents JOIN roots ON roots.id = root_id WHERE documents.id = ?",  # noqa: S608
            (number,),
        ).fetchone()
    )


def all_documents(connection: sqlite3.Connection) -> Iterator[tuple[Document, int]]:
    """Every document with the number of the one that holds its content, in the order they came in."""
    rows = connection.execute(
        f"SELECT {_COLUMNS}, coalesce(same_as, documents.id) FROM documents "  # noqa: S608
        "JOIN roots ON roots.id = root_id ORDER BY documents.id"
    )
    for *row, content in rows:
        yield _document(row), content


def _document(row: sqlite3.Row | list[object] | tuple[object, ...]) -> Document:
    number, root, relative, title, kind, note = row
    assert isinstance(number, int)
    root, relative = str(root), str(relative)
    return Document(
        number=number,
        url=store.url_of(root, relative),
        title=str(title) or readable_name(relative) or relative,
        source=root if root == relative else f"{root}/{relative}",
        kind=str(kind),
        note=str(note),
    )
