"""COCO's compression of run lengths, for many masks at once.

Each count but the first three is written as the difference to the one two before it, in groups of five bits, lowest
first, plus 32 where more follow, plus 48; the highest bit of the last group is the sign. Reading one text takes two
dozen small array operations however short it is, so texts are read end to end, in the same two dozen for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
_MOST_GROUPS = 7
"""Groups of one count: 35 bits, more than any picture needs."""


class RunLengthFault(Exception):
    """What is wrong with one of the texts.

    Attributes:
        position: which one, from 0.
        expected: what was expected and what came.
    """

    def __init__(self, position: int, expected: str) -> None:
        super().__init__(position, expected)
        self.position = position
        self.expected = expected


def counts_of_texts(texts: Sequence[bytes]) -> tuple[Whole, Whole]:
    """The counts of all texts end to end, and how many each has; they may be negative, nobody has added them up.

    Raises:
        RunLengthFault: a sign that the compression does not have, a text that ends inside a count, or a count that no
            picture has.
    """
    sizes = np.array([len(text) for text in texts], dtype=np.int64)
    stops = np.cumsum(sizes)
    signs = np.frombuffer(b"".join(texts), dtype=np.uint8).astype(np.int64) - 48
    if signs.size == 0:
        return np.zeros(0, np.int64), sizes
    goes_on = (signs & 32) != 0
    wrong = (signs < 0) | (signs > 63)
    closing = stops[sizes > 0] - 1
    wrong[closing] |= goes_on[closing]
    if wrong.any():
        raise RunLengthFault(_owner(wrong, stops), "COCO's compression, got other signs or a cut text")
    lasts = np.flatnonzero(~goes_on)  # sign of each count that closes it
    firsts = np.concatenate(([0], lasts[:-1] + 1))
    groups = lasts - firsts + 1
    if groups.max() > _MOST_GROUPS:
        at_fault = np.zeros(signs.size, dtype=bool)
        at_fault[lasts[groups > _MOST_GROUPS]] = True
        raise RunLengthFault(_owner(at_fault, stops), "COCO's compression, got a count that no picture has")
    shifts = 5 * (np.arange(signs.size) - np.repeat(firsts, groups))
    values = np.add.reduceat((signs & 31) << shifts, firsts)
    values -= np.where(signs[lasts] & 16, np.int64(1) << (5 * groups), 0)
    lengths = np.diff(np.searchsorted(lasts, stops), prepend=0)
    return _summed(values, lengths), lengths


def _owner(at_fault: NDArray[np.bool_], stops: Whole) -> int:
    return int(np.searchsorted(stops, np.argmax(at_fault), side="right"))


def _summed(values: Whole, lengths: Whole) -> Whole:
    """Counts from differences: in each text two chains, of its 2nd, 4th, … and of its 3rd, 5th, … value."""
    places = places_in(lengths)
    for first in (1, 2):
        chain = np.flatnonzero((places >= first) & ((places - first) % 2 == 0))
        sums = np.cumsum(values[chain])
        opens = np.flatnonzero(places[chain] == first)
        before = sums[opens] - values[chain[opens]]  # what earlier texts had added up to
        values[chain] = sums - np.repeat(before, np.diff(np.append(opens, chain.size)))
    return values


def places_in(lengths: Whole) -> Whole:
    """0, 1, 2, … anew for each of the lengths."""
    places: Whole = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return places


def text_of_counts(counts: Whole) -> str:
    """One mask's counts, compressed."""
    left = counts.copy()
    left[3:] -= counts[1:-2]
    signs = np.zeros((counts.size, _MOST_GROUPS), dtype=np.uint8)
    used = np.zeros(signs.shape, dtype=bool)
    more = np.ones(counts.size, dtype=bool)
    for group in range(_MOST_GROUPS):
        used[:, group] = more
        bits = left & 31
        left >>= 5
        more = more & (left != np.where(bits & 16, -1, 0))  # the sign of the bits so far is not that of the rest
        signs[:, group] = bits + 48 + 32 * more
        if not more.any():
            break
    return signs[used].tobytes().decode("ascii")
