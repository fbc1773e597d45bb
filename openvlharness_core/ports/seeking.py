"""Looking things up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SearchResults, SearchType, VisitedPage


class TextSearchBackend(Protocol):
    """Searches by words; called by the text search capability, several at once."""

    async def search(self, query: str, search_type: SearchType, *, timeout_seconds: float) -> Answered[SearchResults]:
        """Return what is relevant, best first; nothing relevant is a result of its own, not a failure.

        Raises:
            UnsupportedQueryError: this backend has no such search type; the reason names those it has.
            BackendError: no usable answer, the adapter's own retries included.
            MalformedResultError: an answer that breaks the rules of `SearchResults`.
        """
        ...


class ImageSearchBackend(Protocol):
    """Searches by a picture; called by the image search capability, several at once."""

    async def search(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[SearchResults]:
        """Return where the picture, or one that looks like it, is known from.

        Raises:
            BackendError: no usable answer, the adapter's own retries included.
            MalformedResultError: an answer that breaks the rules of `SearchResults`.
            UnreadableImageError: pixels that cannot be decoded.
        """
        ...


class PageBackend(Protocol):
    """Visits pages; called by the web visit capability, several at once."""

    async def visit(
        self, urls: Sequence[str], goal: str, *, timeout_seconds: float
    ) -> Answered[tuple[VisitedPage, ...]]:
        """Return one `VisitedPage` a URL, in order; a page that cannot be read is one with a reason, not a failure.

        A URL is http(s), as a model or a search wrote it, or that of a page which a search of this question brought;
        any other that a model writes, such as `file:///…`, is refused before it comes here.

        Raises:
            BackendError: no page at all could be tried.
            MalformedResultError: an answer that breaks the rules of `VisitedPage`, or not one a URL.
        """
        ...
