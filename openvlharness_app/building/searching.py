"""The backends that search the web; what they need of the environment is read when the first of them is made."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from openvlharness_app import search_variables
from openvlharness_app.backend_settings import SerperSettings
from openvlharness_app.building.auxiliary import auxiliary_model
from openvlharness_app.building.services import HttpClient
from openvlharness_app.lifetime import Lifetime
from openvlharness_app.settings import Settings
from openvlharness_core import (
    Clock,
    ImageSearchBackend,
    Offload,
    PageBackend,
    PromptBundle,
    TextSearchBackend,
    Tracer,
)

if TYPE_CHECKING:
    from openvlharness_adapters.hosting.host import ImageHost
    from openvlharness_adapters.http.retry import Wait
    from openvlharness_adapters.imaging.codec import PillowCodec
    from openvlharness_adapters.search.asking import Asker
    from openvlharness_adapters.search.serper import SerperClient
    from openvlharness_adapters.search.summaries import Summariser
    from openvlharness_adapters.search.thumbnails import Thumbnails

RETRY = 3
ATTEMPT_SECONDS = 60.0
THUMBNAIL_SECONDS = 10.0


@attrs.define(kw_only=True, eq=False)
class Searching:
    """Makes the backends of one container, which share a client for addresses that pages chose.

    Attributes:
        settings: of this process.
        prompts: texts for the auxiliary model.
        client: opens the client for configured services.
        codec, offload, clock: ports that the backends need.
        tracer: told of waits.
        lifetime: closes what is opened here.
        environment: holds the key of the search service and where query pictures are published.
        bases: addresses of the search service, if not its own; for tests.
    """

    settings: Settings
    prompts: Callable[[], PromptBundle]
    client: Callable[[], HttpClient]
    codec: PillowCodec
    offload: Offload
    clock: Clock
    tracer: Tracer | None
    lifetime: Lifetime
    environment: Mapping[str, str] = attrs.field(factory=lambda: os.environ, repr=False)
    bases: Mapping[str, str] = attrs.field(factory=dict)
    _guarded: Any = attrs.field(default=None, init=False)

    def text_search(self) -> TextSearchBackend:
        """Search by words. Raises ConfigurationError: no key."""
        from openvlharness_adapters.search.text_search import SerperTextSearch

        entry = self.settings.services.tools.serper_text_search
        return SerperTextSearch(
            serper=self._serper(), summariser=self._summariser(entry), thumbnails=self._thumbnails(), clock=self.clock
        )

    def image_search(self) -> ImageSearchBackend:
        """Search by a picture. Raises ConfigurationError: no key, or nowhere to publish a picture."""
        from openvlharness_adapters.search.image_search import EmptyReplies, SerperImageSearch

        patience = search_variables.empty_replies(self.environment)
        return SerperImageSearch(
            serper=self._serper(),
            host=self._host(),
            summariser=self._summariser(self.settings.services.tools.serper_image_search),
            thumbnails=self._thumbnails(),
            codec=self.codec,
            offload=self.offload,
            clock=self.clock,
            empty_replies=EmptyReplies(**attrs.asdict(patience)),
        )

    def pages(self) -> PageBackend:
        """Page visits. Raises ConfigurationError: no key."""
        from openvlharness_adapters.search.extraction import Extractor
        from openvlharness_adapters.search.page_reading import PageReader
        from openvlharness_adapters.search.pages import SerperPages

        asker = self._asker(self.settings.services.tools.serper_webpage_visit)
        reader = PageReader(
            serper=self._serper(), client=self._guarded_client(), offload=self.offload, clock=self.clock
        )
        return SerperPages(reader=reader, extractor=Extractor(asker=asker, prompts=self.prompts()), clock=self.clock)

    def _serper(self) -> SerperClient:
        from openvlharness_adapters.http.retry import RetryPolicy
        from openvlharness_adapters.search.serper import SerperClient

        return SerperClient(
            client=self.client(),
            key=search_variables.search_key(self.environment).reveal(),
            policy=RetryPolicy(retry=RETRY, timeout_seconds=ATTEMPT_SECONDS, share=random.random),
            clock=self.clock,
            on_wait=self._tell,
            **self.bases,
        )

    def _asker(self, entry: SerperSettings | None) -> Asker:
        from openvlharness_adapters.search.asking import Asker

        service = (entry or SerperSettings()).model_service
        return Asker(model=auxiliary_model(self.settings, service, self.client, self.clock), clock=self.clock)

    def _summariser(self, entry: SerperSettings | None) -> Summariser:
        from openvlharness_adapters.search.summaries import Summariser

        return Summariser(asker=self._asker(entry), prompts=self.prompts())

    def _thumbnails(self) -> Thumbnails:
        from openvlharness_adapters.files.fetcher import ImageSourceFetcher
        from openvlharness_adapters.search.thumbnails import MOST_BYTES, Thumbnails

        fetcher = ImageSourceFetcher(
            client=self._guarded_client(),
            offload=self.offload,
            clock=self.clock,
            max_bytes=MOST_BYTES,
            timeout_seconds=THUMBNAIL_SECONDS,
        )
        return Thumbnails(fetcher=fetcher, clock=self.clock)

    def _guarded_client(self) -> HttpClient:
        if self._guarded is None:
            from openvlharness_adapters.http.addresses import AddressGuard, open_guarded_client

            security = self.settings.security
            self._guarded = open_guarded_client(
                AddressGuard(allow_private_addresses=security.allow_private_addresses, fetch_hosts=security.fetch_hosts)
            )
            self.lifetime.on_close(self._guarded.aclose)
        return self._guarded

    def _host(self) -> ImageHost:
        variables = search_variables.image_host(self.environment)
        if variables.provider == "local":
            from openvlharness_adapters.hosting.local import LocalImageHost

            return LocalImageHost(
                directory=variables.local_dir, public_base_url=variables.public_base_url, offload=self.offload
            )
        from openvlharness_adapters.hosting.objects import ObjectHost

        if variables.provider == "s3":
            from openvlharness_adapters.hosting.s3 import s3_bucket

            keyed = bool(variables.s3_access_key)
            open_bucket = s3_bucket(
                variables.s3_bucket,
                region=variables.s3_region,
                access_key=variables.s3_access_key.reveal() if keyed else None,
                secret_key=variables.s3_secret_key.reveal() if keyed else None,
            )
        else:
            from openvlharness_adapters.hosting.gcs import gcs_bucket

            open_bucket = gcs_bucket(
                variables.gcs_bucket,
                credentials_file=variables.gcs_credentials_file,
                project=variables.gcs_project,
            )
        return ObjectHost(provider=variables.provider, open_bucket=open_bucket, offload=self.offload)

    def _tell(self, wait: Wait) -> None:
        if self.tracer is not None:
            self.tracer.note("", "retry_wait", str(wait))
