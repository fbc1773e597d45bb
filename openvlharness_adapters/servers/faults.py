"""Errors of tensor libraries, told by class name and words: nothing here needs the library."""

from __future__ import annotations

import re

_FULL = re.compile(
    r"out of memory|can't allocate memory|not enough memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED",
    re.IGNORECASE,
)
_LOST = re.compile(
    r"device-side assert|illegal memory access|unspecified launch failure|CUDA error|HIP error", re.IGNORECASE
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a call failed because it did not fit, on a graphics card or in main memory.

    Cards have a class of their own; the allocator of the CPU raises a plain RuntimeError, and numpy a MemoryError.
    """
    if isinstance(error, MemoryError) or any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__):
        return True
    return isinstance(error, RuntimeError) and _FULL.search(str(error)) is not None


def device_is_lost(error: BaseException) -> bool:
    """Whether every later call of this process would fail too, as after an assertion inside a kernel."""
    return isinstance(error, RuntimeError) and not is_out_of_memory(error) and _LOST.search(str(error)) is not None
