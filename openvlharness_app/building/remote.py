"""Which backends are reached over a wire, and how: all that travel once there is a router, else those with an address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from openvlharness_app.building.plugins import selected_name
from openvlharness_app.building.services import HttpClient
from openvlharness_app.lifetime import Lifetime
from openvlharness_app.settings import Settings
from openvlharness_core import Clock, CodeGenerator, Tracer

if TYPE_CHECKING:
    from openvlharness_adapters.http.retry import Wait
    from openvlharness_adapters.router_client.caller import Caller
    from openvlharness_adapters.router_client.posting import Poster, Read

LONGEST_WAIT_SECONDS = 30.0
"""Between two attempts; see `http.retry`."""


@attrs.frozen(kw_only=True)
class Remotes:
    """Finds who is asked over a wire.

    Attributes:
        settings: of this process; a router's own have no `services.client.base_url`.
        client: opens the client for configured services.
        clock: waits and limits.
        tracer: told of waits.
        lifetime: closes what is opened here.
    """

    settings: Settings
    client: Callable[[], HttpClient]
    clock: Clock
    tracer: Tracer | None
    lifetime: Lifetime

    def find(self, capability: str, role: str = "backend") -> Caller | None:
        """How to reach the selected backend; `None` for one that runs in this process."""
        name = selected_name(self.settings, capability, role)
        if name is None:
            return None
        router = self.settings.services.client
        if router.base_url is not None:
            from openvlharness_adapters.router_client.router import RouterCaller

            token = router.auth_token.reveal() if router.auth_token else ""
            poster = self._poster(self.client(), router.timeout_seconds, token)
            return RouterCaller(poster=poster, base_url=router.base_url, tool=name)
        return self.server(name, _embedded(capability)) if name.startswith("embedded_") else None

    def server(self, name: str, address: Callable[[str], str], read: Read[Any] | None = None) -> Caller | None:
        """How to reach the raw servers of a backend; `None` where its entry names none.

        Args:
            name: of the backend.
            address: from the base that the entry names to the full address.
            read: see `RawCaller`; `None` for the wire of our own servers.
        """
        entry = getattr(self.settings.services.tools, name, None)
        bases: Sequence[str] = getattr(entry, "server_url", None) or ()
        if entry is None or not bases:
            return None
        from openvlharness_adapters.router_client.raw import RawCaller, raw_result

        client = self.client()
        if len(bases) > 1:
            from openvlharness_adapters.http.replicas import open_replicated

            client = open_replicated(client, bases, clock=self.clock)
            self.lifetime.on_close(client.aclose)
        poster = self._poster(client, entry.timeout_seconds, "")
        return RawCaller(poster=poster, url=address(bases[0]), tool=name, read=read or raw_result)

    def _poster(self, client: HttpClient, timeout_seconds: float, token: str) -> Poster:
        from openvlharness_adapters.router_client.posting import Poster

        return Poster(
            client=client,
            clock=self.clock,
            token=token,
            retry=self.settings.services.client.retry,
            timeout_seconds=timeout_seconds,
            on_wait=self._tell,
        )

    def _tell(self, wait: Wait) -> None:
        if self.tracer is not None:
            self.tracer.note("", "retry_wait", str(wait))


def _embedded(capability: str) -> Callable[[str], str]:
    return lambda base: f"{base.rstrip('/')}/embedded/{capability}"


def code_generator(remotes: Remotes, local: Callable[[], CodeGenerator]) -> CodeGenerator:
    """Who writes programs: behind the router if there is one, else in this process."""
    caller = remotes.find("coding", "generator")
    if caller is None:
        return local()
    from openvlharness_adapters.router_client.backends import RemoteCodeGenerator

    return RemoteCodeGenerator(caller)


def find_router_seconds(settings: Settings) -> float | None:
    """How long a call through the router may take, all attempts and waits together; `None` without a router.

    A backend's own deadline runs over there, from the moment it has a seat; how long it waits for one, nobody knows.
    """
    client = settings.services.client
    if client.base_url is None:
        return None
    return client.timeout_seconds * (1 + client.retry) + LONGEST_WAIT_SECONDS * client.retry
