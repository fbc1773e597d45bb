"""The paired sampling seed: the same question at the same request draws the same numbers in every run."""

from __future__ import annotations

import hashlib

SAMPLE_STRIDE = 1_000_003
_LIMIT = 2**31


def paired_seed(task_id: str, iteration: int, sample_index: int = 0) -> int:
    """A seed from 0 to 2³¹ - 1 for request number `iteration` of `task_id`.

    The first four bytes of SHA-256 over `task_id`, a line feed and the number, without the sign bit; each further
    sample of the same task adds a fixed stride.
    """
    digest = hashlib.sha256(f"{task_id}\n{iteration}".encode("utf-8", "replace")).digest()
    return ((int.from_bytes(digest[:4], "big") & 0x7FFFFFFF) + SAMPLE_STRIDE * sample_index) % _LIMIT
