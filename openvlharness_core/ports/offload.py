"""Heavy plain calls off the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Offload(Protocol):
    """Runs decoding, encoding, drawing and tokenising; threads in the app, inline in tests."""

    async def run(self, call: Callable[[], T]) -> T:
        """Return `call()`, or raise what it raises; the loop goes on meanwhile."""
        ...
