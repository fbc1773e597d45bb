"""The suite of ImageFetcher, bound to files, to a server on loopback and to the fake."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.ports.image_fetcher import FetcherSources, ImageFetcherContract
from openvlharness_adapters.files.fetcher import ImageSourceFetcher
from openvlharness_adapters.http.addresses import AddressGuard, open_guarded_client
from openvlharness_adapters.runtime import SystemClock
from openvlharness_core.testing.images import FakeFetcher
from openvlharness_core.testing.time import InlineOffload
from tests.unit.adapters.files.web import serving


class TestImageSourceFetcher(ImageFetcherContract):
    @pytest.fixture
    async def sources(self, tmp_path: Path) -> AsyncIterator[FetcherSources]:
        file = tmp_path / "a picture.png"
        file.write_bytes(b"bytes of a file")
        async with serving({"/a.png": b"bytes of a URL"}) as web:
            guard = AddressGuard(fetch_hosts=[web.host_and_port])
            async with open_guarded_client(guard) as client:
                yield FetcherSources(
                    fetcher=ImageSourceFetcher(client=client, offload=InlineOffload(), clock=SystemClock()),
                    readable={str(file): b"bytes of a file", f"{web.base}/a.png": b"bytes of a URL"},
                    unreadable=[
                        str(tmp_path / "missing"),
                        str(tmp_path),
                        f"{web.base}/missing",
                        "ftp://localhost/a",
                        "",
                    ],
                )


class TestFakeFetcher(ImageFetcherContract):
    @pytest.fixture
    def sources(self) -> FetcherSources:
        return FetcherSources(fetcher=FakeFetcher({"a.png": b"a"}), readable={"a.png": b"a"}, unreadable=["b.png"])
