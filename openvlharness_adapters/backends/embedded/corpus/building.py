"""Builds the index, and brings it up to date: what is new or changed is read, what is gone leaves, the rest stays."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import attrs

from openvlharness_adapters.backends.embedded.corpus import store
from openvlharness_adapters.backends.embedded.corpus.faults import CorpusError
from openvlharness_adapters.backends.embedded.corpus.fingerprints import fingerprint_of
from openvlharness_adapters.backends.embedded.corpus.reading import (
    MOST_BYTES,
    MOST_PDF_BYTES,
    UnreadableDocumentError,
    passages_of,
    read_document,
)
from openvlharness_adapters.backends.embedded.corpus.terms import laid_out
from openvlharness_adapters.backends.embedded.corpus.walking import FoundFile, LeftOut, files_under, kind_of, storable
from openvlharness_adapters.backends.embedded.features import Pixels, opencv
from openvlharness_core.errors import CapabilityUnavailableError, UnreadableImageError
from openvlharness_core.pictures import digest_of

MOST_PICTURE_BYTES = 64 << 20
_SIDECAR_CHARACTERS = 500
_PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif")

Decoder = Callable[[bytes], Pixels]
"""Upright uint8 pixels (height, width, 3) RGB of an encoded picture; raises UnreadableImageError."""
Thumbnailer = Callable[[Pixels], bytes]
"""A small encoded picture of pixels."""


@attrs.frozen(kw_only=True)
class IndexSummary:
    """What a build did, and what is in the index now.

    Attributes:
        added, changed, unchanged, removed: files under the paths that were given.
        duplicates: of the added and changed ones, files whose content was there already.
        left_out: files that could not be indexed, each with its reason.
        notes: files that were indexed with something to be said.
        documents: documents of text in the index, copies included.
        pictures: pictures in the index, copies included.
    """

    added: int
    changed: int
    unchanged: int
    removed: int
    duplicates: int
    left_out: tuple[LeftOut, ...]
    notes: tuple[LeftOut, ...]
    documents: int
    pictures: int


def build_index(
    paths: Iterable[str | os.PathLike[str]],
    index_path: str | os.PathLike[str],
    *,
    decode: Decoder,
    thumbnail: Thumbnailer,
) -> IndexSummary:
    """Add files and folders to an index, which is made if it is not there.

    Paths that were added before are brought up to date, or leave the index if they are gone; what else it holds stays.

    Args:
        paths: at least one.
        index_path: the index.
        decode: gives the pixels of a picture.
        thumbnail: makes the small picture that a search shows.

    Raises:
        CorpusError: a path that is not there, an index that cannot be read or written.
    """
    roots = [Path(os.path.realpath(path)) for path in paths]
    if not roots:
        raise CorpusError("paths", "expected at least one file or folder, got none")
    with store.replacing(Path(index_path)) as connection:
        return fill(connection, roots, decode=decode, thumbnail=thumbnail, but_not=os.path.realpath(index_path))


def fill(
    connection: sqlite3.Connection,
    roots: Iterable[Path],
    *,
    decode: Decoder,
    thumbnail: Thumbnailer,
    but_not: str = "",
) -> IndexSummary:
    """Bring the index behind `connection` up to date with `roots`, which are absolute and without links.

    What was added before and is gone now, also as a whole, leaves the index.

    Raises:
        CorpusError: a path that is neither there nor in the index.
    """
    writer = _Writer(connection=connection, decode=decode, thumbnail=thumbnail, cv2=_opencv_if_there())
    for root in roots:
        writer.add_root(root, but_not)
    writer.caption_pictures()
    connection.commit()
    return writer.summary()


def _opencv_if_there() -> Any | None:
    with contextlib.suppress(CapabilityUnavailableError):
        return opencv("corpus", "finding parts of pictures")
    return None


@attrs.define(kw_only=True)
class _Writer:
    connection: sqlite3.Connection
    decode: Decoder
    thumbnail: Thumbnailer
    cv2: Any | None
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    duplicates: int = 0
    left_out: list[LeftOut] = attrs.field(factory=list)
    notes: list[LeftOut] = attrs.field(factory=list)

    def add_root(self, root: Path, but_not: str) -> None:
        root_id, inside, known = self._known_under(root)
        prefix = f"{inside}/" if inside else ""
        if not root.is_dir():
            prefix = prefix.rstrip("/")
        if not os.path.lexists(root) and not known:
            raise CorpusError(str(root), "expected a file or folder, found nothing there")
        for found in files_under(root) if os.path.lexists(root) else ():
            if isinstance(found, LeftOut):
                self.left_out.append(found)
            elif found.path != but_not:
                relative = prefix + found.relative if root.is_dir() or not prefix else prefix
                self._add(root_id, attrs.evolve(found, relative=relative), known)
        for document in known.values():
            self._remove(document)
            self.removed += 1

    def _known_under(self, root: Path) -> tuple[int, str, dict[str, int]]:
        """The root that holds this path, made if there is none; the path's place there; its documents under the path."""
        root = Path(storable(str(root)))
        rows = self.connection.execute("SELECT id, path FROM roots").fetchall()
        holders = [(Path(path), number) for number, path in rows if root.is_relative_to(path)]
        if not holders:
            name = self._free_name(storable(root.name) or "corpus")
            number = self.connection.execute(
                "INSERT INTO roots (name, path) VALUES (?, ?)", (name, str(root))
            ).lastrowid
            assert number is not None
            return number, "", {}
        root_path, number = max(holders, key=lambda holder: len(holder[0].parts))
        inside = "" if root == root_path else root.relative_to(root_path).as_posix()
        documents = self.connection.execute(
            "SELECT relative, id FROM documents WHERE root_id = ?", (number,)
        ).fetchall()
        known = {
            relative: document
            for relative, document in documents
            if not inside or relative == inside or relative.startswith(f"{inside}/")
        }
        return number, inside, known

    def _free_name(self, wanted: str) -> str:
        taken = {name for (name,) in self.connection.execute("SELECT name FROM roots")}
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}-{number}"
        return name

    def _add(self, root_id: int, found: FoundFile, known: dict[str, int]) -> None:
        before = known.pop(found.relative, None)
        if before is not None:
            size, modified = self.connection.execute(
                "SELECT size, modified_ns FROM documents WHERE id = ?", (before,)
            ).fetchone()
            if (size, modified) == (found.size, found.modified_ns):
                self.unchanged += 1
                return
            self._remove(before)
        elif self.connection.execute("SELECT 1 FROM documents WHERE path = ?", (storable(found.path),)).fetchone():
            self.unchanged += 1  # another root, or a link, brought it already
            return
        try:
            self._read(root_id, found)
        except (UnreadableDocumentError, UnreadableImageError) as error:
            self.left_out.append(LeftOut(path=found.relative, reason=str(error)))
        except OSError as error:
            self.left_out.append(LeftOut(path=found.relative, reason=f"cannot be read ({error.strerror})"))
        else:
            self.added += before is None
            self.changed += before is not None

    def _read(self, root_id: int, found: FoundFile) -> None:
        bound = {"picture": MOST_PICTURE_BYTES, "pdf": MOST_PDF_BYTES}.get(found.kind)
        if bound is not None and found.size > bound:
            raise UnreadableDocumentError(f"larger than {bound >> 20} MB")
        with open(found.path, "rb") as stream:
            data = stream.read((bound or MOST_BYTES) + 1)
        digest = digest_of(data if len(data) == found.size else data + str(found.size).encode())
        original = self.connection.execute(
            "SELECT id, title, note FROM documents WHERE digest = ? AND kind = ? AND same_as IS NULL",
            (digest, found.kind),
        ).fetchone()
        if original is not None:
            self._insert(root_id, found, original[1], digest, same_as=original[0], note=original[2])
            self.duplicates += 1
            return
        if found.kind == "picture":
            self._read_picture(root_id, found, data, digest)
            return
        document = read_document(data, found.kind)
        title = " ".join(document.title.split())[:300]
        number = self._insert(root_id, found, title, digest, note=document.note)
        for ordinal, text in enumerate(passages_of(document.text)):
            self._insert_passage(number, ordinal, title, found.relative, text)
        captions = [(number, target, words) for target, words in _captions(found, document.captions, document.text)]
        self.connection.executemany("INSERT INTO captions VALUES (?, ?, ?)", captions)
        if document.note:
            self.notes.append(LeftOut(path=found.relative, reason=document.note))

    def _read_picture(self, root_id: int, found: FoundFile, data: bytes, digest: str) -> None:
        pixels = self.decode(data)
        kept = fingerprint_of(pixels, self.cv2)
        small = self.thumbnail(pixels)
        number = self._insert(root_id, found, "", digest)
        self._insert_passage(number, 0, "", found.relative, "")
        self.connection.execute(
            "INSERT INTO pictures VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                *kept.size_hw,
                kept.hash,
                kept.small.tobytes(),
                kept.points.tobytes(),
                kept.descriptors.tobytes(),
                small,
            ),
        )

    def _insert(
        self, root_id: int, found: FoundFile, title: str, digest: str, *, same_as: int | None = None, note: str = ""
    ) -> int:
        row = (
            root_id,
            found.relative,
            found.path,
            found.kind,
            title,
            found.size,
            found.modified_ns,
            digest,
            same_as,
            note,
        )
        number = self.connection.execute(
            "INSERT INTO documents (root_id, relative, path, kind, title, size, modified_ns, digest, same_as, note) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (row[0], row[1], storable(row[2]), *row[3:]),
        ).lastrowid
        assert number is not None
        return number

    def _insert_passage(self, document: int, ordinal: int, title: str, relative: str, text: str) -> None:
        number = self.connection.execute(
            "INSERT INTO passages (document_id, ordinal, text) VALUES (?, ?, ?)", (document, ordinal, text)
        ).lastrowid
        self.connection.execute(
            "INSERT INTO passage_terms (rowid, title, body) VALUES (?, ?, ?)",
            (number, laid_out(f"{title} {readable_name(relative)}"), laid_out(text)),
        )

    def _remove(self, document: int) -> None:
        """Take a document out; a copy of it, if there is one, inherits what was kept of its content."""
        heir = self.connection.execute(
            "SELECT id FROM documents WHERE same_as = ? ORDER BY id LIMIT 1", (document,)
        ).fetchone()
        if heir is not None:
            for table in ("passages", "pictures", "captions"):
                self.connection.execute(f"UPDATE {table} SET document_id = ? WHERE document_id = ?", (*heir, document))  # noqa: S608
            self.connection.execute("UPDATE documents SET same_as = NULL WHERE id = ?", heir)
            self.connection.execute("UPDATE documents SET same_as = ? WHERE same_as = ?", (*heir, document))
        else:
            self.connection.execute(
                "DELETE FROM passage_terms WHERE rowid IN (SELECT id FROM passages WHERE document_id = ?)", (document,)
            )
            for table in ("passages", "pictures", "captions"):
                self.connection.execute(f"DELETE FROM {table} WHERE document_id = ?", (document,))  # noqa: S608
        self.connection.execute("DELETE FROM documents WHERE id = ?", (document,))

    def caption_pictures(self) -> None:
        """Give every picture the words that documents of the corpus have for it, or for a copy of it."""
        pictures = self.connection.execute(
            "SELECT documents.id, relative, passages.id, passages.text FROM documents JOIN passages "
            "ON passages.document_id = documents.id WHERE kind = 'picture' AND same_as IS NULL"
        ).fetchall()
        for document, relative, passage, before in pictures:
            words = [
                words
                for (words,) in self.connection.execute(
                    "SELECT DISTINCT words FROM captions WHERE target IN "
                    "(SELECT path FROM documents WHERE id = ? OR same_as = ?) ORDER BY rowid",
                    (document, document),
                )
            ]
            text = "\n\n".join(words)
            if text == before:
                continue
            self.connection.execute("UPDATE passages SET text = ? WHERE id = ?", (text, passage))
            self.connection.execute(
                "UPDATE passage_terms SET title = ?, body = ? WHERE rowid = ?",
                (laid_out(readable_name(relative)), laid_out(text), passage),
            )

    def summary(self) -> IndexSummary:
        (pictures,) = self.connection.execute("SELECT count(*) FROM documents WHERE kind = 'picture'").fetchone()
        (everything,) = self.connection.execute("SELECT count(*) FROM documents").fetchone()
        return IndexSummary(
            added=self.added,
            changed=self.changed,
            unchanged=self.unchanged,
            removed=self.removed,
            duplicates=self.duplicates,
            left_out=tuple(self.left_out),
            notes=tuple(self.notes),
            documents=everything - pictures,
            pictures=pictures,
        )


def readable_name(relative: str) -> str:
    """A file's name as words: `harbour/old_pier-2.jpg` is `old pier 2`."""
    stem = os.path.splitext(relative.rsplit("/", 1)[-1])[0]
    return " ".join(re.split(r"[\s_\-.]+", stem)).strip()


def _captions(found: FoundFile, shown: Iterable[tuple[str, str]], text: str) -> Iterator[tuple[str, str]]:
    """(path of a picture, words for it): pictures that the document shows, and those beside it that it is named after."""
    folder = os.path.dirname(found.path)
    for reference, words in shown:
        parts = urlsplit(reference)
        if parts.scheme or parts.netloc or not parts.path:
            continue
        target = os.path.normpath(os.path.join(folder, unquote(parts.path)))
        if "\0" not in target and kind_of(target) == "picture":
            yield storable(target), " ".join(words.split())
    if found.kind == "text":
        stem = os.path.splitext(found.path)[0]
        words = " ".join(text.split())[:_SIDECAR_CHARACTERS]
        named = [stem] if kind_of(stem) == "picture" else [stem + suffix for suffix in _PICTURE_SUFFIXES]
        if words:
            yield from ((storable(target), words) for target in named)
