"""Medians and percentiles of small samples: just what numpy says, without its detours, which cost more than the sorting.

Most samples here hold a few hundred values, and there are a dozen for each thing in a picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def median_of(values: NDArray[Any]) -> NDArray[np.float64]:
    """The median along the first axis of at least one value, shape (n,) or (n, k); shape () or (k,)."""
    half, is_odd = divmod(len(values), 2)
    columns = np.ascontiguousarray(values.T)  # side by side, since numpy partitions along the last axis fastest
    if is_odd:
        return np.asarray(np.partition(columns, half)[..., half], np.float64)
    parted = np.partition(columns, (half - 1, half))
    return (parted[..., half - 1].astype(np.float64) + parted[..., half]) / 2


def percentile_of(values: NDArray[Any], percent: float) -> float:
    """The percentile, 0 to 100, of at least one value, shape (n,), by linear interpolation."""
    return percentiles_of(values, percent)[0]


def percentiles_of(values: NDArray[Any], *percents: float) -> list[float]:
    """Several of them."""
    last = len(values) - 1
    places = [last * (percent / 100) for percent in percents]
    parted = np.partition(values, sorted({min(int(place) + more, last) for place in places for more in (0, 1)}))
    return [
        _between(float(parted[int(place)]), float(parted[min(int(place) + 1, last)]), place % 1) for place in places
    ]


def _between(low: float, high: float, share: float) -> float:
    """Monotonic in `share`, and exact at both ends."""
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)
