"""Asking every service that a configuration names whether it is there, in seconds and for next to nothing.

A model service is asked for its list of models. That costs nothing and every server of note has it, but it may not tell
enough: some servers have none, some show it to anybody, whatever the key, and some serve models that they do not list.
In these cases alone a real request for a few tokens follows, made by the adapter that questions go through, so that what
a strict server would refuse later is refused now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import attrs

from openvlharness_app.building.auxiliary import auxiliary_model, auxiliary_services
from openvlharness_app.building.models import chat_model, coding_service, profile_of, protocol_of
from openvlharness_app.building.services import HttpClient
from openvlharness_app.faults import ConfigurationError
from openvlharness_app.search_variables import KEY, KEY_FILE, search_key
from openvlharness_app.settings import Settings
from openvlharness_core import Clock, ModelError, ModelProfile, ModelRequest, UserMessage

if TYPE_CHECKING:
    from openvlharness_adapters.models.probing import Probe

PATIENCE_SECONDS = 20.0
"""How long a service may take to answer, unless told otherwise."""

_SHORT_TOKENS = 16  # the least that the Responses protocol takes
_NO_LIST = frozenset({400, 404, 405, 410, 501})
_REFUSED_KEY = frozenset({401, 403})
_OPENAI_BACKENDS = frozenset({"ocr", "deepseek_ocr"})


@attrs.frozen(kw_only=True)
class ServiceState:
    """What became of asking one service.

    Attributes:
        service: dotted key of its entry, or the variable that is meant.
        roles: what it is for, such as `orchestrator`, `coding`, `auxiliary`, `router`, `backend` or `search key`.
        address: the base that was asked, without user, password and query; `None` where there is none.
        ok: whether it can be used.
        detail: what showed it, or why not, with nothing secret in it.
    """

    service: str
    roles: tuple[str, ...]
    address: str | None
    ok: bool
    detail: str

    def __str__(self) -> str:
        where = "" if self.address is None else f" at {self.address}"
        return f"{'ok' if self.ok else 'FAILED'}  {self.service} ({', '.join(self.roles)}){where}: {self.detail}"


@attrs.frozen(kw_only=True)
class Asker:
    """Asks the services of one configuration.

    Attributes:
        settings: what is configured.
        client: the client for configured services, with the proxies of the environment.
        clock: keeps the limit.
        environment: holds the search key.
        timeout_seconds: how long a single answer may take.
    """

    settings: Settings
    client: HttpClient = attrs.field(repr=False)
    clock: Clock = attrs.field(repr=False)
    environment: Mapping[str, str] = attrs.field(repr=False)
    timeout_seconds: float = PATIENCE_SECONDS

    async def ask_all(self) -> tuple[ServiceState, ...]:
        """Every configured service at once: models, the router or else the servers of backends, the search key."""
        return tuple(await asyncio.gather(*(asking() for asking in self._askings())))

    def _askings(self) -> Iterator[Callable[[], Awaitable[ServiceState]]]:
        for service in self.settings.services.models:
            if profile_of(self.settings, service).adapter != "embedded":
                yield partial(self._model, service)
        if self.settings.services.client.base_url is not None:
            yield self._router  # which tells of its own backends and has the search key
            return
        for name, url in self._servers():
            yield partial(self._backend, name, url)
        if any(True for _ in auxiliary_services(self.settings)):
            yield self._search_key

    def _servers(self) -> Iterator[tuple[str, str]]:
        tools = self.settings.services.tools
        for field in attrs.fields(type(tools)):
            for url in getattr(getattr(tools, field.name), "server_url", None) or ():
                yield field.name, url

    # --- models ------------------------------------------------------------------------------------------------------

    async def _model(self, service: str) -> ServiceState:
        from openvlharness_adapters.http.endpoints import shown

        entry = self.settings.services.models[service]
        ok, detail = await self._asked_model(service)
        return ServiceState(
            service=f"services.models.{service}",
            roles=self._roles(service),
            address=shown(str(entry.base)),
            ok=ok,
            detail=detail,
        )

    def _roles(self, service: str) -> tuple[str, ...]:
        users = {
            "orchestrator": {self.settings.agent.model_service},
            "coding": {coding_service(self.settings)} if self.settings.capabilities.tools.coding else set(),
            "auxiliary": set(auxiliary_services(self.settings)),
        }
        return tuple(role for role, services in users.items() if service in services) or ("unused",)

    async def _asked_model(self, service: str) -> tuple[bool, str]:
        from openvlharness_adapters.http.endpoints import endpoint_of
        from openvlharness_adapters.models.probing import listed_models, models_url

        entry, profile = self.settings.services.models[service], profile_of(self.settings, service)
        if (missing := self._auxiliary_problem(service)) is not None:
            return False, missing
        _, suffix = protocol_of(profile)
        url = models_url(endpoint_of(str(entry.base), suffix), suffix)
        listed = await self._probe(url, entry.key.reveal())
        if listed.problem is not None and listed.status not in _NO_LIST:
            return False, f"{listed.address}: {listed.problem}"
        if profile.model_id in (listed_models(listed.json()) or ()):
            if not entry.key:
                return True, f"lists {profile.model_id}"
            if (await self._probe(url, None)).status in _REFUSED_KEY:
                return True, f"takes the key and lists {profile.model_id}"
        return await self._short_request(service, profile)

    def _auxiliary_problem(self, service: str) -> str | None:
        """Why auxiliary calls could not be made at all, where this service is for them."""
        if service not in set(auxiliary_services(self.settings)):
            return None
        try:
            auxiliary_model(self.settings, service, lambda: self.client, self.clock)
        except (ConfigurationError, ModuleNotFoundError) as problem:
            return str(problem)
        return None

    async def _short_request(self, service: str, profile: ModelProfile) -> tuple[bool, str]:
        entry = attrs.evolve(
            self.settings.services.models[service],
            max_tokens=_SHORT_TOKENS,
            retry=0,
            timeout=self.timeout_seconds,
            stream=False,
            return_token_ids=False,
        )
        services = attrs.evolve(self.settings.services, models={**self.settings.services.models, service: entry})
        agent = attrs.evolve(self.settings.agent, model_service=service)
        settings = attrs.evolve(self.settings, services=services, agent=agent)
        model = chat_model(settings, profile, lambda: self.client, self.clock, None)
        try:
            reply = await model.complete(ModelRequest(messages=(UserMessage.of_text("Reply with the word ok."),)))
        except ModelError as error:
            return False, error.message
        return True, f"answered a request for {_SHORT_TOKENS} tokens as {reply.model or profile.model_id}"

    # --- router, backends, search ------------------------------------------------------------------------------------

    async def _router(self) -> ServiceState:
        client = self.settings.services.client
        base = str(client.base_url).rstrip("/")
        seen = await self._probe(f"{base}/ready", client.auth_token.reveal())
        address = seen.address.removesuffix("/ready")
        ok, detail = seen.problem is None, "is ready, and so are its backends"
        if seen.status == 404:  # no router of this kind, or an older one
            seen = await self._probe(f"{base}/health", client.auth_token.reveal())
            ok, detail = seen.problem is None, "answers, but does not say whether its backends are ready"
        if seen.problem is not None:
            detail = f"{seen.address}: {seen.problem}"
        elif seen.is_page:
            ok, detail = False, f"{seen.address}: an HTML page, expected the answer of a router"
        return ServiceState(service="services.client", roles=("router",), address=address, ok=ok, detail=detail)

    async def _backend(self, name: str, url: str) -> ServiceState:
        from openvlharness_adapters.http.endpoints import shown
        from openvlharness_adapters.models.probing import health_url

        seen = await self._probe(health_url(url), None)
        if seen.status == 404 and name in _OPENAI_BACKENDS:
            seen = await self._probe(health_url(url).removesuffix("/health") + "/v1/models", None)
        problem = "an HTML page, expected the answer of a server" if seen.is_page else seen.problem
        detail = f"answers {seen.address}" if problem is None else f"{seen.address}: {problem}"
        return ServiceState(
            service=f"services.tools.{name}", roles=("backend",), address=shown(url), ok=problem is None, detail=detail
        )

    async def _search_key(self) -> ServiceState:
        ok, detail = _key_state(self.environment)
        return ServiceState(service=KEY, roles=("search key",), address=None, ok=ok, detail=detail)

    async def _probe(self, url: str, key: str | None) -> Probe:
        from openvlharness_adapters.models.probing import probe

        return await probe(self.client, url, key=key, clock=self.clock, timeout_seconds=self.timeout_seconds)


def _key_state(environment: Mapping[str, str]) -> tuple[bool, str]:
    """Whether building would find a key that it can send; only the search service itself could judge the key."""
    try:
        search_key(environment)
    except ConfigurationError as error:
        return False, str(error)
    return True, "is set" if environment.get(KEY, "").strip() else f"{KEY_FILE} names a file that holds one"
