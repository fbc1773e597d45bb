"""Masks as run lengths in COCO's format: column by column, the first run being zeros.

``{"size": [height, width], "counts": ...}`` holds the counts as a list, or as text in COCO's compression: each count
but the first three is written as the difference to the one two before it, in groups of five bits, lowest first, plus
32 where more follow, plus 48; the highest bit of the last group is the sign. Row-by-row data in this format scrambles
every mask that is not square, which is why decoding goes through one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.geometry import Box

Rle = Mapping[str, Any]
Runs = NDArray[np.int64]
_LONGEST_GROUPS = 7
"""Groups of one count: 35 bits, more than any picture needs."""


def runs_of(rle: object, place: str = "rle") -> tuple[Runs, tuple[int, int]]:
    """Run lengths and (height, width) of a mask.

    Raises:
        MalformedResultError: not COCO's format, or runs that do not add up to the size.
    """
    if not isinstance(rle, Mapping):
        raise MalformedResultError(place, f"an object with size and counts, got {type(rle).__name__}")
    height, width = _size(rle.get("size"), f"{place}.size")
    counts = rle.get("counts")
    if isinstance(counts, bytes):
        counts = counts.decode("latin-1")
    if isinstance(counts, str):
        runs = _from_text(counts, f"{place}.counts")
    elif isinstance(counts, list | tuple):
        runs = _from_list(counts, f"{place}.counts")
    else:
        raise MalformedResultError(f"{place}.counts", f"a text or a list of counts, got {type(counts).__name__}")
    total = int(runs.sum())
    if (runs < 0).any() or total != height * width:
        raise MalformedResultError(
            f"{place}.counts", f"counts of at least 0 that add up to {height * width}, got {total}"
        )
    return runs, (height, width)


def _size(size: object, place: str) -> tuple[int, int]:
    if not isinstance(size, list | tuple) or len(size) != 2 or any(type(side) is not int for side in size):
        raise MalformedResultError(place, f"[height, width] in whole numbers, got {size!r:.80}")
    height, width = size
    if height < 1 or width < 1:
        raise MalformedResultError(place, f"[height, width] above 0, got {[height, width]}")
    return height, width


def _from_list(counts: Sequence[object], place: str) -> Runs:
    if any(type(count) is not int or not 0 <= count < 2**40 for count in counts):
        raise MalformedResultError(place, "whole numbers of at least 0")
    return np.array(counts, dtype=np.int64)


def _from_text(text: str, place: str) -> Runs:
    try:
        signs = np.frombuffer(text.encode("ascii"), dtype=np.uint8).astype(np.int64) - 48
    except UnicodeEncodeError:
        raise MalformedResultError(place, "COCO's compression, got other signs") from None
    if signs.size == 0:
        return np.zeros(0, np.int64)
    if (signs < 0).any() or (signs > 63).any() or signs[-1] & 32:
        raise MalformedResultError(place, "COCO's compression, got other signs or a cut text")
    ends = np.flatnonzero((signs & 32) == 0)
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > _LONGEST_GROUPS:
        raise MalformedResultError(place, "COCO's compression, got a count that no picture has")
    shifts = 5 * (np.arange(signs.size) - np.repeat(starts, lengths))
    values = np.add.reduceat((signs & 31) << shifts, starts)
    values -= np.where(signs[ends] & 16, np.int64(1) << (5 * lengths), 0)
    values[1::2] = np.cumsum(values[1::2])
    values[2::2] = np.cumsum(values[2::2])
    return values


def decode_mask(rle: object, place: str = "rle") -> NDArray[np.bool_]:
    """The mask, shape (height, width).

    Raises:
        MalformedResultError: as `runs_of`.
    """
    runs, (height, width) = runs_of(rle, place)
    return _filled(runs).reshape(width, height).T


def _filled(runs: Runs) -> NDArray[np.bool_]:
    values = np.zeros(runs.size, dtype=bool)
    values[1::2] = True
    return np.repeat(values, runs)


def encode_mask(mask: NDArray[Any]) -> dict[str, object]:
    """`{"size": [height, width], "counts": text}` of a mask of shape (height, width); what is not 0 is in it.

    Raises:
        ValueError: another shape.
    """
    if mask.ndim != 2 or mask.size == 0:
        raise ValueError(f"expected a mask of shape (height, width), got {mask.shape}")
    height, width = mask.shape
    flat = np.ascontiguousarray(np.asarray(mask, dtype=bool).T).reshape(-1)
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    edges = np.concatenate(([0], changes, [flat.size]))
    runs = np.diff(edges)
    if flat[0]:
        runs = np.concatenate(([0], runs))
    return {"size": [int(height), int(width)], "counts": _to_text(runs.tolist())}


def _to_text(runs: list[int]) -> str:
    signs = bytearray()
    for position, run in enumerate(runs):
        value = run - runs[position - 2] if position > 2 else run
        while True:
            group = value & 31
            value >>= 5
            more = value != -1 if group & 16 else value != 0
            signs.append((group | 32 if more else group) + 48)
            if not more:
                break
    return signs.decode("ascii")


def area_of(rle: object, place: str = "rle") -> int:
    """Pixels in the mask, without decoding it."""
    return int(runs_of(rle, place)[0][1::2].sum())


def share_outside(rle: object, box_xyxy_px: Box, place: str = "rle") -> float:
    """Which part of the mask lies outside a box, 0 to 1; row-by-row data shows here. 0 for an empty mask."""
    mask = decode_mask(rle, place)
    whole = int(np.count_nonzero(mask))
    if whole == 0:
        return 0.0
    x1, y1, x2, y2 = box_xyxy_px
    rows = slice(max(0, int(np.floor(y1))), max(0, int(np.ceil(y2))))
    columns = slice(max(0, int(np.floor(x1))), max(0, int(np.ceil(x2))))
    return 1.0 - int(np.count_nonzero(mask[rows, columns])) / whole
