"""Bytes behind a path or an address."""

from __future__ import annotations

from typing import Protocol


class ImageFetcher(Protocol):
    """Reads local files and downloads remote ones; called by intake and for lazy remote pictures."""

    async def fetch(self, source: str) -> bytes:
        """Return the bytes behind a path or an http(s) URL, bounded in size and time.

        Raises:
            FetchError: missing, unreadable, not a file, refused address, failed download, or too large.
        """
        ...
