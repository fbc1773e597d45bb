"""Where the runs of many masks lie, read all at once.

Reading one mask takes a dozen small array operations whatever its size; here a hundred masks are read in the same dozen.
They come out of `Detections`, which has checked them, so nothing is checked again. The format is told in
`openvlharness_core.masks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]


@attrs.frozen(kw_only=True, eq=False)
class Runs:
    """R runs of pixels inside masks, each within one column, in the order of the masks.

    Attributes:
        owners: int64 (R,), position of the mask.
        columns: int64 (R,), x.
        rows: int64 (R,), y of the first pixel.
        lengths: int64 (R,), pixels, at least 1.
    """

    owners: Whole
    columns: Whole
    rows: Whole
    lengths: Whole


def runs_of_all(masks: Sequence[Mapping[str, Any]], size_hw: tuple[int, int]) -> Runs:
    """The runs of N masks in COCO's format, all of one size."""
    height, width = size_hw
    counts, lengths = _counts(masks)
    owners = np.repeat(np.arange(len(masks)), lengths)
    places = np.arange(counts.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    ends = np.cumsum(counts) - owners * (height * width)  # the counts of every mask add up to the whole picture
    inside = (places % 2 == 1) & (counts > 0)
    return _within_columns(owners[inside], (ends - counts)[inside], ends[inside], height)


def _within_columns(owners: Whole, starts: Whole, ends: Whole, height: int) -> Runs:
    """Runs cut where they go on in the next column."""
    firsts, lasts = starts // height, (ends - 1) // height
    pieces = lasts - firsts + 1
    if (pieces > 1).any():
        nth = np.arange(int(pieces.sum())) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        columns = np.repeat(firsts, pieces) + nth
        owners = np.repeat(owners, pieces)
        starts = np.maximum(np.repeat(starts, pieces), columns * height)
        ends = np.minimum(np.repeat(ends, pieces), (columns + 1) * height)
        firsts = columns
    return Runs(owners=owners, columns=firsts, rows=starts - firsts * height, lengths=ends - starts)


def _counts(masks: Sequence[Mapping[str, Any]]) -> tuple[Whole, Whole]:
    """The counts of all masks, end to end, and how many each has."""
    given = [mask["counts"] for mask in masks]
    if all(isinstance(counts, str) for counts in given):
        return _from_texts([counts.encode("ascii") for counts in given])
    if all(isinstance(counts, bytes) for counts in given):
        return _from_texts(given)
    if len(given) == 1:
        return np.array(given[0], dtype=np.int64), np.array([len(given[0])])
    read = [_counts([mask]) for mask in masks]  # lists, or a mixture
    return np.concatenate([counts for counts, _ in read]), np.concatenate([lengths for _, lengths in read])


def _from_texts(texts: list[bytes]) -> tuple[Whole, Whole]:
    """The same from COCO's compression."""
    signs = np.frombuffer(b"".join(texts), dtype=np.uint8).astype(np.int64) - 48
    lasts = np.flatnonzero((signs & 32) == 0)  # of the groups of each count
    firsts = np.concatenate(([0], lasts[:-1] + 1))
    groups = lasts - firsts + 1
    shifts = 5 * (np.arange(signs.size) - np.repeat(firsts, groups))
    values = np.add.reduceat((signs & 31) << shifts, firsts)
    values -= np.where(signs[lasts] & 16, np.int64(1) << (5 * groups), 0)
    borders = np.searchsorted(lasts, np.cumsum([len(text) for text in texts]))
    lengths = np.diff(borders, prepend=0)
    places = np.arange(values.size) - np.repeat(borders - lengths, lengths)
    # From the fourth count on the text holds differences to the count two before: two chains in each text.
    for first in (1, 2):
        chain = np.flatnonzero((places >= first) & ((places - first) % 2 == 0))
        if chain.size:
            steps = values[chain]
            sums = np.cumsum(steps)
            opens = np.flatnonzero(places[chain] == first)
            before = (sums - steps)[opens]
            values[chain] = sums - np.repeat(before, np.diff(np.append(opens, chain.size)))
    return values, lengths
