"""What a capability works with: memory to look up, pictures to take in, and calls that end in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

import attrs

from openvlharness_core.errors import BackendTimeoutError
from openvlharness_core.memory.images import ImageRecord
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.pictures import ImageLimits, Picture
from openvlharness_core.ports.clock import Clock
from openvlharness_core.ports.fetcher import ImageFetcher
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.ports.offload import Offload
from openvlharness_core.waiting import within

T = TypeVar("T")


@attrs.define(kw_only=True)
class Hands:
    """Made by the runner for one call.

    Attributes:
        workspace: memory as it stands; only downloads of remote pictures change it during a call.
        limits: what the model takes, for pictures that will be sent to it.
        codec, fetcher, offload, clock: the ports behind the methods.
        note: (kind, text) for the trace.
    """

    workspace: Workspace
    limits: ImageLimits
    codec: ImageCodec
    fetcher: ImageFetcher
    offload: Offload
    clock: Clock
    note: Callable[[str, str], None]
    _downloads: dict[str, asyncio.Lock] = attrs.field(factory=dict, init=False, repr=False)

    async def image(self, alias: str) -> tuple[ImageRecord, Picture]:
        """The picture that `alias` names, downloaded now if nothing has needed it yet.

        Raises:
            ToolFailure: `unknown_reference`.
            FetchError: the download failed.
            UnreadableImageError: what was downloaded is no picture.
        """
        record = self.workspace.images.resolve(alias)
        async with self._downloads.setdefault(record.handle, asyncio.Lock()):  # once, however many ask at a time
            return await self._held(record.handle)

    async def _held(self, handle: str) -> tuple[ImageRecord, Picture]:
        record = self.workspace.images.resolve(handle)
        if record.picture is None:
            picture = await self.take_in(await self.fetcher.fetch(record.url or ""))
            self.workspace = self.workspace.with_download(handle, picture)
            record = self.workspace.images.resolve(handle)
        assert record.picture is not None
        return record, record.picture

    async def take_in(self, data: bytes) -> Picture:
        """A picture from a tool's bytes, in full and as it would be sent.

        Raises:
            UnreadableImageError: the bytes are no picture we can show.
        """
        return await self.offload.run(lambda: self.codec.take_in(data, self.limits))

    async def take_in_all(self, many: Iterable[bytes]) -> list[Picture]:
        """`take_in` for several at once, in order."""
        return list(await asyncio.gather(*(self.take_in(data) for data in many)))

    async def within(self, seconds: float, backend: str, call: Coroutine[Any, Any, T]) -> T:
        """Await a backend's call and cancel it when `seconds` have passed.

        Raises:
            BackendTimeoutError: the time passed.
        """
        try:
            return await within(self.clock, seconds, call)
        except TimeoutError:  # ours or the backend's own: the model is told the same
            raise BackendTimeoutError(backend, f"no answer within {seconds:g} s") from None
