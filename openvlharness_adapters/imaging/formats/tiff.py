"""TIFF: a directory of tags for each page, anywhere in the file.

The decoder gets the file with one new directory at its end that lists only the tags that shape pixels: it warns about
tags that break rules, follows directories of metadata, and turns the picture by a tag that we apply ourselves.
"""

from __future__ import annotations

import struct

import attrs

from openvlharness_adapters.imaging.formats.exif import ORIENTATION
from openvlharness_adapters.imaging.formats.layout import Layout, damaged, truncated
from openvlharness_core.errors import UnreadableImageError

_MAX_PAGES = 10_000
_MAX_VALUES = 1 << 20  # of one tag; the smallest tiles there are, in three planes, make as many of 90 million pixels
_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_AS_BYTES = {1, 2, 7}  # of which a decoder makes no list of numbers: a colour profile may be as long as it likes
_WIDTH, _HEIGHT = 256, 257
_STRIPS, _STRIP_BYTES, _TILES, _TILE_BYTES = 273, 279, 324, 325
_SINGLE = {_WIDTH, _HEIGHT, 259, 262, 266, 277, 278, 284, 317, 322, 323}
_LISTS = {258, _STRIPS, _STRIP_BYTES, 292, 293, 320, _TILES, _TILE_BYTES, 332, 338, 339, 347, 529, 530, 531, 532, 34675}


@attrs.frozen(kw_only=True)
class _Shape:
    """Byte order and field widths of the file: the ordinary kind or the one with 64-bit offsets."""

    order: str
    is_big: bool

    @property
    def count(self) -> struct.Struct:
        return struct.Struct(self.order + ("Q" if self.is_big else "H"))

    @property
    def entry(self) -> struct.Struct:
        return struct.Struct(self.order + ("HHQ8s" if self.is_big else "HHI4s"))

    @property
    def offset(self) -> struct.Struct:
        return struct.Struct(self.order + ("Q" if self.is_big else "I"))


@attrs.frozen(kw_only=True)
class _Entry:
    tag: int
    kind: int
    count: int
    raw: bytes


def read(data: bytes) -> Layout:
    """See `Layout`. Raises UnreadableImageError."""
    order = "<" if data[:2] == b"II" else ">"
    shape = _Shape(order=order, is_big=struct.unpack_from(f"{order}H", data, 2)[0] == 43)
    if len(data) < 16:
        raise truncated("TIFF", "a header of 16 bytes", data)
    first = shape.offset.unpack_from(data, 8 if shape.is_big else 4)[0]
    entries, following = _directory(data, shape, first)
    tags = {entry.tag: entry for entry in entries}
    for tag in _SINGLE & tags.keys():
        if tags[tag].count != 1:
            raise damaged("TIFF", f"one value of tag {tag}", tags[tag].count)
    size = []
    for tag in (_HEIGHT, _WIDTH):
        values = _values(data, shape, tags[tag]) if tag in tags else ()
        if len(values) != 1:
            raise damaged("TIFF", f"tag {tag}, a side of the picture", "none")
        size.append(values[0])
    _check_parts(data, shape, tags)
    turn = _values(data, shape, tags[ORIENTATION]) if ORIENTATION in tags else ()
    kept = [entry for entry in sorted(tags.values(), key=lambda e: e.tag) if entry.tag in _SINGLE | _LISTS]
    return Layout(
        media_type="image/tiff",
        size_hw=(size[0], size[1]),
        still=lambda: _with_directory(data, shape, kept),
        decoder="TIFF",
        orientation=turn[0] if len(turn) == 1 and 1 <= turn[0] <= 8 else 1,
        frames=1 + _pages_after(data, shape, first, following),
        frames_are="pages",
        has_alpha=True,
    )


def _directory(data: bytes, shape: _Shape, at: int) -> tuple[list[_Entry], int]:
    """The tags of the directory at `at`, and where the next one is (0: none)."""
    if at + shape.count.size > len(data):
        raise truncated("TIFF", f"a directory at byte {at}", data)
    (count,) = shape.count.unpack_from(data, at)
    start = at + shape.count.size
    end = start + count * shape.entry.size
    if count > 4096:
        raise damaged("TIFF", "a directory of at most 4096 tags", count)
    if end + shape.offset.size > len(data):
        raise truncated("TIFF", f"a directory of {count} tags at byte {at}", data)
    entries = []
    for position in range(start, end, shape.entry.size):
        tag, kind, values, raw = shape.entry.unpack_from(data, position)
        entries.append(_Entry(tag=tag, kind=kind, count=values, raw=raw))
    return entries, shape.offset.unpack_from(data, end)[0]


def _values(data: bytes, shape: _Shape, entry: _Entry) -> tuple[int, ...]:
    """Whole-number values of a tag; empty if it is of another type."""
    letter = {1: "B", 3: "H", 4: "I", 13: "I", 16: "Q", 18: "Q"}.get(entry.kind)
    if letter is None:
        return ()
    if entry.count > _MAX_VALUES:
        raise _too_many(entry)
    return struct.unpack(f"{shape.order}{entry.count}{letter}", _raw(data, shape, entry))


def _too_many(entry: _Entry) -> UnreadableImageError:
    return damaged("TIFF", f"at most {_MAX_VALUES} values of tag {entry.tag}", entry.count)


def _raw(data: bytes, shape: _Shape, entry: _Entry) -> memoryview:
    """The bytes of a tag's values, not copied: many tags may claim the same."""
    length = _BYTES.get(entry.kind, 1) * entry.count
    if length <= len(entry.raw):
        return memoryview(entry.raw)[:length]
    (at,) = shape.offset.unpack(entry.raw)
    if at + length > len(data):
        raise truncated("TIFF", f"{length} bytes of tag {entry.tag}", data)
    return memoryview(data)[at : at + length]


def _check_parts(data: bytes, shape: _Shape, tags: dict[int, _Entry]) -> None:
    """Strips or tiles must lie inside the file, and every kept tag's values with them."""
    for entry in tags.values():
        if entry.tag in _SINGLE | _LISTS:
            _raw(data, shape, entry)
            if entry.count > _MAX_VALUES and entry.kind not in _AS_BYTES:
                raise _too_many(entry)
    places, sizes = (_STRIPS, _STRIP_BYTES) if _STRIPS in tags else (_TILES, _TILE_BYTES)
    if places not in tags:
        raise damaged("TIFF", "strips or tiles", "neither")
    starts = _values(data, shape, tags[places])
    lengths = _values(data, shape, tags[sizes]) if sizes in tags else (0,) * len(starts)
    for start, length in zip(starts, lengths, strict=False):
        if start + length > len(data):
            raise truncated("TIFF", f"{start + length} bytes", data)


def _pages_after(data: bytes, shape: _Shape, first: int, following: int) -> int:
    """How many directories follow; a chain that breaks or turns back ends there, the first page is all we show."""
    seen = {first}
    pages = 0
    while following and following not in seen and pages < _MAX_PAGES:
        seen.add(following)
        if following + shape.count.size > len(data):
            break
        (count,) = shape.count.unpack_from(data, following)
        end = following + shape.count.size + count * shape.entry.size
        if end + shape.offset.size > len(data):
            break
        pages += 1
        (following,) = shape.offset.unpack_from(data, end)
    return pages


def _with_directory(data: bytes, shape: _Shape, entries: list[_Entry]) -> bytes:
    """The file with `entries` as its only directory, put at its end; offsets of values stay right."""
    padding = bytes(-len(data) % 8)
    head = data[: 8 if shape.is_big else 4] + shape.offset.pack(len(data) + len(padding))
    packed = [shape.entry.pack(entry.tag, entry.kind, entry.count, entry.raw) for entry in entries]
    directory = shape.count.pack(len(entries)) + b"".join(packed) + shape.offset.pack(0)
    return head + data[len(head) :] + padding + directory
