"""Search by a picture on the web: published for the time of the search, looked up, and compared with what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from openvlharness_adapters.hosting.host import HostingError, ImageHost
from openvlharness_adapters.search.items import items_from_wire
from openvlharness_adapters.search.remaining import Remaining
from openvlharness_adapters.search.serper import SerperClient
from openvlharness_adapters.search.summaries import Summariser
from openvlharness_adapters.search.thumbnails import Thumbnails
from openvlharness_core.errors import BackendError, BackendUnavailableError, MalformedResultError, UnreadableImageError
from openvlharness_core.pictures import EncodedImage, ImageLimits
from openvlharness_core.ports.clock import Clock
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.ports.offload import Offload
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SearchItem, SearchResults
from openvlharness_core.usage import Spent

NAME = "serper_image_search"
QUERY_SIDE = 1024
THUMBNAIL_SIDE = 384
"""Longer side, in pixels, of what the auxiliary model is shown."""
_UNKNOWN = (
    "The picture search knows no picture like it. A crop of the one thing that matters, or a search by words for what "
    "can be seen in it, may do better."
)


def _at_least(least: float) -> Any:
    def check(_: object, field: attrs.Attribute[float], value: float) -> None:
        if not least <= value < float("inf"):
            raise ValueError(f"{field.name}: expected {least:g} or more, got {value!r}")

    return check


@attrs.frozen(kw_only=True)
class EmptyReplies:
    """How patiently an empty reply is asked for again: the search by picture often finds something a moment later.

    Attributes:
        max_attempts: with the first.
        backoff_base_seconds: the first wait; each further one is twice as long.
        backoff_max_seconds: longest wait.
    """

    max_attempts: int = attrs.field(default=4, validator=_at_least(1))
    backoff_base_seconds: float = attrs.field(default=0.5, validator=_at_least(0))
    backoff_max_seconds: float = attrs.field(default=4.0, validator=_at_least(0))

    def wait_after(self, attempt: int) -> float:
        """Seconds after attempt number `attempt`, from 1."""
        return min(self.backoff_max_seconds, self.backoff_base_seconds * 2.0 ** min(attempt - 1, 60))


@attrs.frozen(kw_only=True)
class SerperImageSearch:
    """The `ImageSearchBackend` over Serper's Lens.

    Attributes:
        serper: asks the service.
        host: publishes the picture.
        summariser: compares what was found with it.
        thumbnails: fetches pictures of what was found.
        codec: makes small copies for the auxiliary model.
        offload: where they are made.
        clock: waits, and shares the time of a call out.
        empty_replies: how often an empty reply is asked for again.
    """

    serper: SerperClient
    host: ImageHost
    summariser: Summariser
    thumbnails: Thumbnails
    codec: ImageCodec
    offload: Offload
    clock: Clock
    empty_replies: EmptyReplies = EmptyReplies()

    async def search(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[SearchResults]:
        """See `ImageSearchBackend`.

        Raises:
            BackendTimeoutError: the service did not answer in time.
            BackendUnavailableError: the picture could not be published, or the service gave no usable answer.
            MalformedResultError: an answer of another shape.
            UnreadableImageError: pixels that cannot be decoded.
        """
        left = Remaining.of(self.clock, timeout_seconds)
        shown = await self._small(image.data, QUERY_SIDE)
        spent: list[Spent] = []
        try:
            async with self.host.published(image) as url:
                payload, attempts = await self._asked(url, left, spent)
        except HostingError as error:
            raise BackendUnavailableError(NAME, f"the picture cannot be shown to the search service: {error}") from None
        try:
            items = items_from_wire("lens", payload)
        except MalformedResultError as wrong:
            raise MalformedResultError(wrong.field, wrong.expected, usage=tuple(spent)) from None
        if not items:
            results = SearchResults(items=(), nothing_relevant=_UNKNOWN)
            return Answered(value=results, backend=NAME, sidecars={"attempts": attempts}, usage=tuple(spent))
        items = await self.thumbnails.added(items, timeout_seconds=left.seconds(0.5))
        items, pictures = await self._seen(items)
        summarised = await self.summariser.of_picture(shown, items, pictures, timeout_seconds=left.seconds(0.9))
        sidecars = {
            "attempts": attempts,
            "raw": [{"title": item.title, "url": item.url} for item in items],
            "kept": [position + 1 for position in summarised.kept],
            "summary_problem": summarised.problem or None,
        }
        usage = (*spent, *summarised.usage)
        return Answered(value=summarised.results, backend=NAME, sidecars=sidecars, usage=usage)

    async def _asked(self, url: str, left: Remaining, spent: list[Spent]) -> tuple[Mapping[str, Any], int]:
        """The first reply that is not empty, or the last, and how many there were; credits go to `spent`."""
        for attempt in range(1, self.empty_replies.max_attempts + 1):
            try:
                reply = await self.serper.ask("lens", {"url": url}, backend=NAME, timeout_seconds=left.seconds())
            except BackendError as error:
                raise type(error)(NAME, error.reason, usage=(*spent, *error.usage)) from None
            spent.extend(reply.usage)
            if _rows(reply.payload) or attempt == self.empty_replies.max_attempts:
                return reply.payload, attempt
            wait = self.empty_replies.wait_after(attempt)
            if wait >= left.seconds():  # better an honest nothing than a timeout
                return reply.payload, attempt
            await self.clock.sleep(wait)
        raise AssertionError("the last attempt returns")

    async def _seen(
        self, items: tuple[SearchItem, ...]
    ) -> tuple[tuple[SearchItem, ...], list[tuple[int, EncodedImage]]]:
        """The items, and small copies of their pictures; bytes that are no picture are dropped."""
        kept, pictures = list(items), []
        for position, item in enumerate(items):
            if item.thumbnail is None:
                continue
            try:
                pictures.append((position, await self._small(item.thumbnail, THUMBNAIL_SIDE)))
            except UnreadableImageError:
                kept[position] = attrs.evolve(item, thumbnail=None)
        return tuple(kept), pictures

    async def _small(self, data: bytes, side: int) -> EncodedImage:
        picture = await self.offload.run(lambda: self.codec.take_in(data, ImageLimits(max_side=side)))
        return picture.sent


def _rows(payload: Mapping[str, Any]) -> bool:
    return any(payload.get(name) for name in ("organic", "visual_matches", "visualMatches"))
