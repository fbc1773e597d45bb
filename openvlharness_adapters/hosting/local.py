"""A directory that a web server of this machine serves: `openvlharness images serve`, or any other."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs

from openvlharness_adapters.hosting.host import HostingError, fresh_name
from openvlharness_adapters.http.endpoints import checked_url
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.offload import Offload

_HOST = "local image host"


@attrs.frozen(kw_only=True)
class LocalImageHost:
    """The `ImageHost` over a directory.

    Attributes:
        directory: made if it is not there; the server must serve this very one.
        public_base_url: where its files can be fetched by the search service.
        offload: where files are written.

    Raises:
        ValueError: a base that is no URL.
    """

    directory: Path
    public_base_url: str = attrs.field()
    offload: Offload

    @public_base_url.validator
    def _callable(self, _: object, base: str) -> None:
        checked_url(base, name="public_base_url")

    @asynccontextmanager
    async def published(self, image: EncodedImage) -> AsyncIterator[str]:
        """See `ImageHost`."""
        name = fresh_name(image)
        path = self.directory / name
        try:
            await self.offload.run(lambda: _write(path, image.data))
        except OSError as error:
            reason = f"{self.directory} cannot be written to: {error.strerror or type(error).__name__}"
            raise HostingError(_HOST, reason) from None
        try:
            yield f"{self.public_base_url.rstrip('/')}/{name}"
        finally:
            _remove(path)  # at once, also when the search is cancelled: nothing may be awaited then


def _write(path: Path, data: bytes) -> None:
    """Under its name only when it is whole: whoever fetches it meanwhile gets all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.part")
    try:
        half.write_bytes(data)
        os.replace(half, path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # nobody can guess its name
