"""Masks as run lengths in COCO's format: column by column, the first run being zeros.

``{"size": [height, width], "counts": ...}`` holds the counts as a list, or as text in COCO's compression, which
`run_lengths` reads and writes. Row-by-row data in this format scrambles every mask that is not square, which is why
decoding goes through one place. Several masks of one picture are read together: that is where the time goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_core.arrays import size_hw as checked_size
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.run_lengths import RunLengthFault, Whole, counts_of_texts, places_in, text_of_counts

Rle = Mapping[str, Any]
_SLICE_COST = 500
"""Pixels that `numpy.repeat` writes while one slice is assigned."""
_MOST_PIXELS = 2**40
"""Of one picture; keeps every sum exact."""


@attrs.frozen(kw_only=True, eq=False)
class MaskRuns:
    """What N masks of one picture cover, as R runs without their gaps; pixels are counted column by column.

    Attributes:
        size_hw: (height, width) of the picture.
        masks: N.
        owners: int64 (R,), position of the mask.
        starts: int64 (R,), first pixel of the run, from 0 within its mask.
        ends: int64 (R,), first pixel behind it; a run may go on from one column to the next.
    """

    size_hw: tuple[int, int]
    masks: int
    owners: Whole
    starts: Whole
    ends: Whole

    def decoded(self) -> NDArray[np.bool_]:
        """All masks, shape (N, height, width); rows of a column lie side by side in memory, as in the format."""
        height, width = self.size_hw
        planes = np.zeros((self.masks, height * width), dtype=np.uint8)  # untouched memory costs nothing
        borders = np.searchsorted(self.owners, np.arange(self.masks + 1)).tolist()
        for plane, first, stop in zip(planes, borders[:-1], borders[1:], strict=True):
            if first < stop:
                _fill(plane, self.starts[first:stop], self.ends[first:stop])
        return planes.view(bool).reshape(self.masks, width, height).transpose(0, 2, 1)

    def areas(self) -> Whole:
        """int64 (N,): pixels of each mask."""
        return self._added_up(self.ends - self.starts)

    def shares_outside(self, boxes_xyxy_px: NDArray[Any]) -> NDArray[np.float64]:
        """float64 (N,): which part of each mask lies outside its box, 0 to 1; 0 for an empty mask.

        Args:
            boxes_xyxy_px: (N, 4), finite; every pixel that a box touches counts as inside.
        """
        height, width = self.size_hw
        boxes = np.asarray(boxes_xyxy_px, dtype=np.float64)
        limits = (width, height, width, height)
        whole = np.clip(np.concatenate([np.floor(boxes[:, :2]), np.ceil(boxes[:, 2:])], axis=1), 0, limits)
        box = whole.astype(np.int64)[self.owners].T
        inside = self._added_up(_before(self.ends, box, height) - _before(self.starts, box, height))
        areas = self.areas()
        share: NDArray[np.float64] = np.divide(inside, areas, out=np.ones(self.masks), where=areas > 0)
        return 1.0 - share

    def _added_up(self, pixels: Whole) -> Whole:
        sums = np.bincount(self.owners, weights=pixels, minlength=self.masks)  # float64, exact below 2**53
        return sums.astype(np.int64)


def _fill(plane: NDArray[np.uint8], starts: Whole, ends: Whole) -> None:
    first, last = int(starts[0]), int(ends[-1])
    if starts.size * _SLICE_COST < last - first:
        view, ones = plane.data, bytes([1]) * int((ends - starts).max())  # half the cost of numpy's own slices
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            view[start:end] = ones[: end - start]
        return
    edges = np.stack([starts, ends], axis=1).reshape(-1)
    values = np.zeros(edges.size - 1, dtype=np.uint8)
    values[::2] = 1
    plane[first:last] = np.repeat(values, np.diff(edges))


def _before(pixels: Whole, box: Whole, height: int) -> Whole:
    """How many pixels of the boxes (4, R) come before these pixels (R,), column by column."""
    x1, y1, x2, y2 = box
    columns, rows = np.divmod(pixels, height)
    heights = np.maximum(y2 - y1, 0)
    full = np.clip(columns - x1, 0, np.maximum(x2 - x1, 0)) * heights
    begun = np.where((columns >= x1) & (columns < x2), np.clip(rows - y1, 0, heights), 0)
    return np.asarray(full + begun, dtype=np.int64)


def runs_of_all(masks: Sequence[object], size_hw: tuple[int, int], place: str = "masks") -> MaskRuns:
    """Read masks of one picture.

    Raises:
        MalformedResultError: not COCO's format, another size, or runs that do not add up to it; it names the mask as
            `place[position]`.
    """
    return _read(masks, size_hw, lambda position: f"{place}[{position}]")


def runs_of(rle: object, place: str = "rle") -> MaskRuns:
    """Read one mask, whatever its size.

    Raises:
        MalformedResultError: as `runs_of_all`.
    """
    return _read([rle], checked_size(_fields(rle, place).get("size"), f"{place}.size"), partial(_fixed, place))


def _read(masks: Sequence[object], size_hw: tuple[int, int], place_of: Callable[[int], str]) -> MaskRuns:
    pixels = size_hw[0] * size_hw[1]
    if pixels > _MOST_PIXELS:
        raise MalformedResultError(f"{place_of(0)}.size", f"at most {_MOST_PIXELS} pixels, got {list(size_hw)!s:.80}")
    given: list[bytes | Whole] = []
    for position, mask in enumerate(masks):
        place = place_of(position)
        fields = _fields(mask, place)
        size = checked_size(fields.get("size"), f"{place}.size")
        if size != size_hw:
            raise MalformedResultError(f"{place}.size", f"{list(size_hw)} like the picture, got {list(size)!s:.80}")
        given.append(_given(fields.get("counts"), f"{place}.counts"))
    counts, lengths = _counts(given, place_of)
    owners = np.repeat(np.arange(len(given)), lengths)
    sums = np.bincount(owners, weights=counts, minlength=len(given))
    faulty = (sums != pixels) | (np.bincount(owners, weights=counts < 0, minlength=len(given)) > 0)
    if faulty.any():
        position = int(np.argmax(faulty))
        expected = f"counts of at least 0 that add up to {pixels}, got {sums[position]:.0f} in all"
        raise MalformedResultError(f"{place_of(position)}.counts", expected)
    covered = (places_in(lengths) % 2 == 1) & (counts > 0)
    owners, ends = owners[covered], np.cumsum(counts)[covered]
    ends -= owners * pixels
    return MaskRuns(size_hw=size_hw, masks=len(given), owners=owners, starts=ends - counts[covered], ends=ends)


def _fields(mask: object, place: str) -> Mapping[str, object]:
    if not isinstance(mask, Mapping):
        raise MalformedResultError(place, f"an object with size and counts, got {type(mask).__name__}")
    return mask


def _given(counts: object, place: str) -> bytes | Whole:
    if isinstance(counts, bytes):
        return counts
    if isinstance(counts, str):
        if not counts.isascii():
            raise MalformedResultError(place, "COCO's compression, got other signs")
        return counts.encode("ascii")
    if not isinstance(counts, list | tuple):
        raise MalformedResultError(place, f"a text or a list of counts, got {type(counts).__name__}")
    if any(type(count) is not int or not 0 <= count <= _MOST_PIXELS for count in counts):
        raise MalformedResultError(place, "whole numbers of at least 0")
    return np.array(counts, dtype=np.int64)


def _counts(given: Sequence[bytes | Whole], place_of: Callable[[int], str]) -> tuple[Whole, Whole]:
    """The counts of all masks end to end, and how many each has."""
    lists = [counts for counts in given if not isinstance(counts, bytes)]
    texts = [counts for counts in given if isinstance(counts, bytes)]
    if lists and texts:  # nobody mixes them; if somebody does, one by one
        read = [_counts([counts], partial(_fixed, place_of(position))) for position, counts in enumerate(given)]
        return np.concatenate([counts for counts, _ in read]), np.concatenate([lengths for _, lengths in read])
    if lists:
        return np.concatenate(lists), np.array([counts.size for counts in lists])
    try:
        return counts_of_texts(texts)
    except RunLengthFault as fault:
        raise MalformedResultError(f"{place_of(fault.position)}.counts", fault.expected) from None


def _fixed(place: str, position: int) -> str:
    return place


def decode_mask(rle: object, place: str = "rle") -> NDArray[np.bool_]:
    """The mask, shape (height, width).

    Raises:
        MalformedResultError: as `runs_of`.
    """
    mask: NDArray[np.bool_] = runs_of(rle, place).decoded()[0]
    return mask


def encode_mask(mask: NDArray[Any]) -> dict[str, object]:
    """`{"size": [height, width], "counts": text}` of a mask of shape (height, width); what is not 0 is in it.

    Raises:
        ValueError: another shape.
    """
    if mask.ndim != 2 or mask.size == 0:
        raise ValueError(f"expected a mask of shape (height, width), got {mask.shape}")
    height, width = mask.shape
    covered = np.asarray(mask, dtype=bool)
    columns = np.flatnonzero(covered.any(axis=0))
    first, stop = (int(columns[0]), int(columns[-1]) + 1) if columns.size else (0, 0)
    flat = np.zeros((stop - first) * height + 2, dtype=bool)  # a zero before and behind: every run has two edges
    flat[1:-1].reshape(stop - first, height)[:] = covered[:, first:stop].T
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + first * height
    counts = np.diff(edges, prepend=0, append=height * width)
    if columns.size and edges[-1] == height * width:
        counts = counts[:-1]  # the last run is one of ones
    return {"size": [int(height), int(width)], "counts": text_of_counts(counts)}
