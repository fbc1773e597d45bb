"""Object stores as image hosts: what S3 and Google Cloud Storage have in common."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import attrs

from openvlharness_adapters.hosting.host import HostingError, fresh_name
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.offload import Offload

FOLDER = "openvlharness/"
"""Names of objects begin with it, so that a rule of the bucket can clear what was left behind."""


class Bucket(Protocol):
    """Blocking calls on one bucket; any of them raises whatever the provider's SDK raises."""

    def put(self, name: str, data: bytes, media_type: str) -> str:
        """Store an object and return a signed address of it."""
        ...

    def delete(self, name: str) -> None:
        """Delete an object."""
        ...


@attrs.define(kw_only=True, eq=False)
class ObjectHost:
    """The `ImageHost` over a bucket.

    Attributes:
        provider: what errors call it.
        open_bucket: makes the provider's client; called once, when the first picture is published.
        offload: where the blocking calls run.
    """

    provider: str
    open_bucket: Callable[[], Bucket]
    offload: Offload
    _bucket: Bucket | None = attrs.field(default=None, init=False)
    _opening: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)

    @asynccontextmanager
    async def published(self, image: EncodedImage) -> AsyncIterator[str]:
        """See `ImageHost`."""
        name = FOLDER + fresh_name(image)
        url = await self._stored(name, image)
        try:
            yield url
        finally:
            await asyncio.shield(self._deleted(name))  # goes on in its thread if the search is cancelled

    async def _stored(self, name: str, image: EncodedImage) -> str:
        failed = ""
        try:
            bucket = await self._opened()
            return await self.offload.run(lambda: bucket.put(name, image.data, image.media_type))
        except HostingError:
            raise
        except Exception as error:  # noqa: BLE001 - an SDK may raise anything
            failed = said_of(error)
        raise HostingError(self.provider, failed)  # outside: the SDK's exceptions may hold requests and keys

    async def _opened(self) -> Bucket:
        async with self._opening:
            if self._bucket is None:
                self._bucket = await self.offload.run(self.open_bucket)
            return self._bucket

    async def _deleted(self, name: str) -> None:
        bucket = self._bucket
        assert bucket is not None, "what was stored was stored in a bucket"
        try:
            await self.offload.run(lambda: bucket.delete(name))
        except Exception:  # noqa: BLE001 - see `ImageHost`: its address expires all the same
            return


def said_of(error: Exception) -> str:
    """What an SDK's exception is about: its kind, and the provider's code where it has one; never its text."""
    response = getattr(error, "response", None)
    details = response.get("Error") if isinstance(response, dict) else None
    code = details.get("Code") if isinstance(details, dict) else getattr(error, "code", None)
    code = getattr(code, "value", code)
    known = isinstance(code, int | str) and len(str(code)) < 60
    return f"the picture could not be stored ({type(error).__name__}{f' {code}' if known else ''})"
