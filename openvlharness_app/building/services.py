"""What every agent needs of the machine: clients, threads, clock, pictures in and out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from openvlharness_app.lifetime import Lifetime
from openvlharness_app.settings import Settings
from openvlharness_core import Clock, EvidenceRenderer, ImageFetcher, Offload, ReportStore

if TYPE_CHECKING:
    from openvlharness_adapters.imaging.codec import PillowCodec
    from openvlharness_adapters.runtime import ThreadOffload

HttpClient = Any
"""An open client of the adapters; the application hands it on and closes it."""


def service_client(lifetime: Lifetime) -> HttpClient:
    """The client for configured services; proxies are those of the environment."""
    from openvlharness_adapters.http.connections import open_client
    from openvlharness_adapters.http.proxies import ProxySettings

    client = open_client(proxies=ProxySettings.from_variables(os.environ))
    lifetime.on_close(client.aclose)
    return client


def offload_threads(lifetime: Lifetime) -> ThreadOffload:
    """Worker threads for decoding, encoding and reading."""
    from openvlharness_adapters.runtime import ThreadOffload

    offload = ThreadOffload()
    lifetime.on_close(offload.close)
    return offload


def system_clock() -> Clock:
    """The machine's clock."""
    from openvlharness_adapters.runtime import SystemClock

    return SystemClock()


def pillow_codec(settings: Settings) -> PillowCodec:
    """Pictures through Pillow."""
    from openvlharness_adapters.imaging.codec import PillowCodec

    return PillowCodec(max_pixels=settings.images.max_pixels)


def image_fetcher(settings: Settings, offload: Offload, clock: Clock, lifetime: Lifetime) -> ImageFetcher:
    """Files of this machine, and addresses that the security settings allow."""
    from openvlharness_adapters.files.fetcher import ImageSourceFetcher
    from openvlharness_adapters.http.addresses import AddressGuard, open_guarded_client

    guard = AddressGuard(
        allow_private_addresses=settings.security.allow_private_addresses, fetch_hosts=settings.security.fetch_hosts
    )
    client = open_guarded_client(guard)
    lifetime.on_close(client.aclose)
    return ImageSourceFetcher(client=client, offload=offload, clock=clock)


def evidence_renderer(codec: PillowCodec) -> EvidenceRenderer:
    """Drawings through Pillow."""
    from openvlharness_adapters.imaging.renderer import PillowRenderer

    return PillowRenderer(codec=codec)


def report_store(offload: Offload) -> ReportStore:
    """A directory a question."""
    from openvlharness_adapters.files.report_store import DirectoryReportStore

    return DirectoryReportStore(offload=offload)
