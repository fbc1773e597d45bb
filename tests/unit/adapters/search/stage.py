"""The parts of a search, put together over a service on loopback and a scripted auxiliary model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import httpx

from openvlharness_adapters.files.fetcher import ImageSourceFetcher
from openvlharness_adapters.http.addresses import AddressGuard, open_guarded_client
from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.http.retry import RetryPolicy
from openvlharness_adapters.search.asking import Asker
from openvlharness_adapters.search.serper import SerperClient
from openvlharness_adapters.search.summaries import Summariser
from openvlharness_adapters.search.text_search import SerperTextSearch
from openvlharness_adapters.search.thumbnails import Thumbnails
from openvlharness_core.ports.clock import Clock
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.testing.auxiliary import ScriptedAuxiliary, ScriptedText
from openvlharness_core.testing.prompts import plain_prompts
from openvlharness_core.testing.time import FakeClock, InlineOffload
from tests.support.serper_server import KEY, SerperServer


async def until(condition: Callable[[], bool]) -> None:
    """Return once `condition` holds; sockets of this process are all that is waited for."""
    while not condition():  # noqa: ASYNC110 - what is waited for is no event of ours
        await asyncio.sleep(0)


PROMPTS: PromptBundle = plain_prompts()


def envelope(kept: Sequence[int], summary: str = "", reason: str | None = None, **fields: Any) -> str:
    """A summary as it was asked for; without one, each kept result is cited."""
    said = summary or " ".join(f"Result {number} helps [{number}]." for number in kept)
    return json.dumps({"kept": kept, "summary": said, "nothing_relevant": reason, "suggestions": []} | fields)


@attrs.define
class Stage:
    """A server, an auxiliary model that follows a script, and clients.

    Attributes:
        clock: stands still; nothing here waits for real.
        waits: what retries said.
    """

    server: SerperServer
    auxiliary: ScriptedAuxiliary
    client: httpx.AsyncClient
    guarded: httpx.AsyncClient
    clock: Clock = attrs.field(factory=FakeClock)
    waits: list[str] = attrs.field(factory=list)

    def serper(self, **fields: Any) -> SerperClient:
        settings: dict[str, Any] = {
            "client": self.client,
            "key": KEY,
            "policy": RetryPolicy(retry=2, timeout_seconds=20.0, share=lambda: 0.0),
            "clock": self.clock,
            "on_wait": lambda wait: self.waits.append(str(wait)),
            **self.server.bases,
        }
        return SerperClient(**settings | fields)

    @property
    def asker(self) -> Asker:
        return Asker(model=self.auxiliary, clock=self.clock)

    @property
    def summariser(self) -> Summariser:
        return Summariser(asker=self.asker, prompts=PROMPTS)

    def thumbnails(self, **fields: Any) -> Thumbnails:
        fetcher = ImageSourceFetcher(
            client=self.guarded, offload=InlineOffload(), clock=self.clock, max_bytes=fields.pop("max_bytes", 1 << 20)
        )
        return Thumbnails(fetcher=fetcher, clock=self.clock, **fields)

    def text_search(self, **fields: Any) -> SerperTextSearch:
        parts: dict[str, Any] = {
            "serper": self.serper(),
            "summariser": self.summariser,
            "thumbnails": self.thumbnails(),
            "clock": self.clock,
        }
        return SerperTextSearch(**parts | fields)


@asynccontextmanager
async def staged(texts: Sequence[ScriptedText] = (), *, allow_loopback: bool = True) -> AsyncIterator[Stage]:
    """A stage whose guarded client may reach the server, unless told otherwise."""
    async with SerperServer() as server:
        hosts = frozenset({f"127.0.0.1:{server.port}"} if allow_loopback else ())
        async with open_client() as client, open_guarded_client(AddressGuard(fetch_hosts=hosts)) as guarded:
            yield Stage(server=server, auxiliary=ScriptedAuxiliary(texts), client=client, guarded=guarded)
