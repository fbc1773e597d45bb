"""Search by a picture in the local corpus."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import attrs
import numpy as np

from openvlharness_adapters.backends.embedded.corpus.fingerprints import (
    Fingerprint,
    bits_apart,
    common_points,
    fingerprint_of,
    likeness,
    looks_same,
)
from openvlharness_adapters.backends.embedded.corpus.index import Corpus, document_of
from openvlharness_adapters.backends.embedded.features import Pixels, opencv
from openvlharness_core.errors import CapabilityUnavailableError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.offload import Offload
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SearchItem, SearchResults

NAME = "embedded_image_search"
MOST_ITEMS = 10
MOST_COMPARED = 2000
"""Pictures that parts are looked for in. Where there are more, those come first that share most features with the query,
wherever these lie, so that the order they were added in does not matter; to find them takes a millisecond or two each."""
SNIPPET_CHARACTERS = 600
_WITHOUT_PARTS = (
    "Only whole pictures were compared: finding parts of pictures needs pip install 'openvlharness[embedded]'."
)


@attrs.frozen(kw_only=True, eq=False)
class EmbeddedImageSearch:
    """The `ImageSearchBackend` over local pictures: copies, mirrored ones, and parts of each other.

    Attributes:
        corpus: where it looks.
        pixels: decodes: uint8 (height, width, 3) RGB of the picture's size.
        offload: where it is decoded and compared.
    """

    corpus: Corpus
    pixels: Callable[[EncodedImage], Pixels]
    offload: Offload

    async def search(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[SearchResults]:
        """See `ImageSearchBackend`. The work cannot be interrupted, so `timeout_seconds` is left to whoever waits.

        Raises:
            CapabilityUnavailableError: no corpus is configured.
            BackendUnavailableError: its index cannot be read.
            UnreadableImageError: pixels that cannot be decoded.
        """
        return await self.offload.run(lambda: self._search(image))

    def _search(self, image: EncodedImage) -> Answered[SearchResults]:
        pixels = self.pixels(image)
        cv2: Any | None = None
        with suppress(CapabilityUnavailableError):
            cv2 = opencv(NAME, "finding parts of pictures")
        queries = (fingerprint_of(pixels, cv2), fingerprint_of(pixels[:, ::-1], cv2))
        with self.corpus.connected(NAME) as connection:
            matches = _matches(connection, image.digest, queries, cv2)
            items = tuple(_item(connection, match) for match in matches[:MOST_ITEMS])
            (known,) = connection.execute("SELECT count(*) FROM pictures").fetchone()
        note = _WITHOUT_PARTS if cv2 is None else ""
        if cv2 is not None and known > MOST_COMPARED:
            note = f"Parts were looked for in the {MOST_COMPARED} of {known} pictures that share most features with it."
        sidecars = {"compared": known, "matches": [[match.kind, match.strength] for match in matches[:MOST_ITEMS]]}
        if items:
            results = SearchResults(items=items, summary=_summary(items), note=note)
        else:
            results = SearchResults(items=(), nothing_relevant=_nothing(known), note=note)
        return Answered(value=results, backend=NAME, sidecars=sidecars)


@attrs.frozen(kw_only=True)
class _Match:
    document: int
    kind: str
    strength: int
    order: tuple[int, int]


def _matches(
    connection: sqlite3.Connection, digest: str, queries: tuple[Fingerprint, Fingerprint], cv2: Any | None
) -> list[_Match]:
    """Pictures that match the query or its mirror image, best first."""
    (count,) = connection.execute("SELECT count(*) FROM pictures").fetchone()
    chosen: frozenset[int] | None = None
    if cv2 is not None and count > MOST_COMPARED:
        order = sorted(
            (-max(likeness(query, known) for query in queries), number) for number, _, known in _known(connection)
        )
        chosen = frozenset(number for _, number in order[:MOST_COMPARED])
    found = []
    for number, known_digest, known in _known(connection):
        parts = cv2 if chosen is None or number in chosen else None
        match = _compared(number, known_digest == digest, queries, known, parts)
        if match is not None:
            found.append(match)
    return sorted(found, key=lambda match: match.order)


def _known(connection: sqlite3.Connection) -> Iterator[tuple[int, str, Fingerprint]]:
    """Every picture: its number, the digest of its file, what is kept of it."""
    rows = connection.execute(
        "SELECT document_id, height, width, hash, small, points, descriptors, digest "
        "FROM pictures JOIN documents ON documents.id = document_id ORDER BY document_id"
    )
    for row in rows:
        known = Fingerprint(
            size_hw=(row[1], row[2]),
            hash=row[3],
            small=np.frombuffer(row[4], np.uint8).reshape(16, 16),
            points=np.frombuffer(row[5], np.float32).reshape(-1, 2),
            descriptors=np.frombuffer(row[6], np.uint8).reshape(-1, 128),
        )
        yield row[0], row[7], known


def _compared(
    document: int, identical: bool, queries: tuple[Fingerprint, Fingerprint], known: Fingerprint, cv2: Any | None
) -> _Match | None:
    if identical:
        return _Match(document=document, kind="the very same file", strength=64, order=(0, 0))
    for mirrored, query in enumerate(queries):
        if looks_same(query, known):
            assert query.hash is not None
            assert known.hash is not None
            apart = bits_apart(query.hash, known.hash)
            kind = "a mirrored copy" if mirrored else "the same picture"
            return _Match(document=document, kind=kind, strength=64 - apart, order=(1 + mirrored, apart))
    if cv2 is None:
        return None
    counts = [common_points(query, known, cv2) for query in queries]
    mirrored = int(counts[1] > counts[0])
    if not counts[mirrored]:
        return None
    kind = "parts in common, mirrored" if mirrored else "parts in common"
    return _Match(document=document, kind=kind, strength=counts[mirrored], order=(3, -counts[mirrored]))


def _item(connection: sqlite3.Connection, match: _Match) -> SearchItem:
    document = document_of(connection, match.document)
    height, width, thumbnail = connection.execute(
        "SELECT height, width, thumbnail FROM pictures WHERE document_id = ?", (match.document,)
    ).fetchone()
    captions = " ".join(
        text for (text,) in connection.execute("SELECT text FROM passages WHERE document_id = ?", (match.document,))
    )
    strength = f"{match.kind} ({match.strength} points)" if match.order[0] == 3 else match.kind
    return SearchItem(
        title=document.title,
        url=document.url,
        source=document.source,
        snippet=" ".join(captions.split())[:SNIPPET_CHARACTERS],
        thumbnail=thumbnail,
        details=(("match", strength), ("size", f"{width}x{height}")),
    )


def _summary(items: tuple[SearchItem, ...]) -> str:
    lines = []
    for number, item in enumerate(items[:5], 1):
        said = f", described as: {item.snippet[:200]}" if item.snippet else ""
        lines.append(f"{item.title} ({dict(item.details)['match']}){said} [{number}]")
    return "\n".join(lines)


def _nothing(known: int) -> str:
    if not known:
        return "The local corpus holds no pictures. Search it by words instead."
    return (
        f"None of the {known} local pictures is this one, a copy of it, or shares a part with it. Only this collection is "
        "searched, not the web. Better: crop to the thing that may be known, or search by words for what the picture shows."
    )
