"""The index file: one SQLite database with its schema, how it is opened, and how it is put in place.

A build never touches the index that others read: it writes a copy beside it and renames that when it is complete. A build
that dies leaves the old index as it was and, at worst, a file that ends in `.building`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from openvlharness_adapters.backends.embedded.corpus.faults import CorpusError

APPLICATION_ID = 0x4F564843
VERSION = 1
URL_START = "file://corpus/"
_BUSY_SECONDS = 5.0

_SCHEMA = """
CREATE TABLE roots (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, path TEXT UNIQUE NOT NULL);
CREATE TABLE documents (
  id INTEGER PRIMARY KEY,
  root_id INTEGER NOT NULL REFERENCES roots(id),
  relative TEXT NOT NULL,
  path TEXT UNIQUE NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  size INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  digest TEXT NOT NULL,
  same_as INTEGER,
  note TEXT NOT NULL DEFAULT '',
  UNIQUE (root_id, relative)
);
CREATE INDEX documents_by_digest ON documents (digest, kind);
CREATE TABLE passages (
  id INTEGER PRIMARY KEY, document_id INTEGER NOT NULL, ordinal INTEGER NOT NULL, text TEXT NOT NULL
);
CREATE INDEX passages_by_document ON passages (document_id, ordinal);
CREATE VIRTUAL TABLE passage_terms USING fts5 (title, body, tokenize = "porter unicode61 remove_diacritics 2");
CREATE TABLE captions (document_id INTEGER NOT NULL, target TEXT NOT NULL, words TEXT NOT NULL);
CREATE INDEX captions_by_target ON captions (target);
CREATE INDEX captions_by_document ON captions (document_id);
CREATE TABLE pictures (
  document_id INTEGER PRIMARY KEY,
  height INTEGER NOT NULL,
  width INTEGER NOT NULL,
  hash BLOB,
  small BLOB NOT NULL,
  points BLOB NOT NULL,
  descriptors BLOB NOT NULL,
  thumbnail BLOB NOT NULL
);
"""


def new_schema(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty database."""
    connection.executescript(_SCHEMA)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def url_of(root: str, relative: str) -> str:
    """The address of a document: the corpus, its root's name, its place under the root; no path of this machine."""
    place = root if root == relative else f"{root}/{relative}"
    return URL_START + quote(place, safe="/")


def place_of(url: str) -> str | None:
    """Root and place that an address names, `None` for an address of something else."""
    if not url.lower().startswith(URL_START):
        return None
    return unquote(url[len(URL_START) :].split("#", 1)[0].split("?", 1)[0])


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The index for reading; it cannot be changed through this connection.

    Raises:
        CorpusError: there is none, or it is no index of this version.
    """
    if not path.is_file():
        raise CorpusError(
            str(path), "expected an index of documents, found no file; `openvlharness corpus add` makes one"
        )
    with _faults(path), contextlib.closing(_connected(path, "ro")) as connection:
        check(connection, path)
        yield connection


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[sqlite3.Connection]:
    """A copy of the index, or an empty one, that takes its place when the block ends well.

    Raises:
        CorpusError: what is there is no index, or the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.building")
        beside.touch(exist_ok=False)
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o777)
    except OSError as error:
        raise CorpusError(str(path), f"cannot be written ({error.strerror})") from error
    try:
        with _faults(path), contextlib.closing(_connected(beside, "rw")) as connection:
            connection.execute(
                "PRAGMA synchronous = OFF"
            )  # nobody reads it before it is whole; it is synced at the end
            connection.execute("PRAGMA journal_mode = MEMORY")
            if path.exists():
                with reading(path) as old:
                    old.backup(connection)
            else:
                new_schema(connection)
            yield connection
            connection.commit()
            connection.execute("PRAGMA optimize")
        _put_in_place(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise CorpusError unless the database is an index of this version."""
    (kind,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if kind != APPLICATION_ID:
        raise CorpusError(str(path), "expected an index of documents, found a database of another program")
    if version != VERSION:
        raise CorpusError(
            str(path), f"expected an index of version {VERSION}, got {version}; delete it and add its paths again"
        )


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_BUSY_SECONDS)


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if "no such module: fts5" in str(error):
            raise CorpusError(str(path), "this Python's SQLite has no full-text search (FTS5)") from error
        raise CorpusError(str(path), f"expected an index of documents, but SQLite says: {error}") from error


def _put_in_place(beside: Path, path: Path) -> None:
    with beside.open("rb") as stream:
        os.fsync(stream.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
