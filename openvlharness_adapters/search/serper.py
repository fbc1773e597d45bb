"""The one client of the Serper service: every search, the search by picture, and the reading of pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs
import httpx
import orjson

from openvlharness_adapters.http.endpoints import checked_url
from openvlharness_adapters.http.errors import (
    FOREIGN_ERRORS,
    AttemptFailed,
    Fault,
    backend_error,
    detail_of,
    fault_of,
    status_fault,
)
from openvlharness_adapters.http.redaction import Redactor
from openvlharness_adapters.http.retry import RetryPolicy, Wait, with_retries
from openvlharness_adapters.http.unpacking import ASK_FOR_GZIP, beginning_of, can_be_unpacked, packing_of
from openvlharness_core.errors import BackendError, BackendTimeoutError
from openvlharness_core.ports.clock import Clock
from openvlharness_core.texts import clean_text
from openvlharness_core.usage import Spent, search_credits
from openvlharness_core.waiting import within

Endpoint = Literal["search", "images", "news", "scholar", "maps", "places", "shopping", "patents", "lens", "scrape"]
SEARCH_BASE = "https://google.serper.dev"
SCRAPE_BASE = "https://scrape.serper.dev"
MOST_BYTES = 32 << 20
"""Of one unpacked reply; a page of some megabytes comes as one JSON text."""


@attrs.frozen(kw_only=True)
class SerperReply:
    """One reply.

    Attributes:
        payload: the object that came.
        usage: its credits, those of attempts that were of no use included.
    """

    payload: Mapping[str, Any]
    usage: tuple[Spent, ...] = ()


def _printable(_: object, __: object, key: str) -> None:
    if not key or not key.isascii() or not key.isprintable() or key != key.strip():
        raise ValueError("key: expected printable ASCII characters and no blank around them, got something else")


@attrs.frozen(kw_only=True)
class SerperClient:
    """Asks one endpoint at a time; several calls may run side by side on one event loop.

    Attributes:
        client: from `http.connections.open_client`; whoever opened it closes it.
        key: sent as X-API-KEY, and shown nowhere.
        policy: attempts, and the limit of each.
        clock: waits and limits.
        on_wait: told of every wait between two attempts.
        search_base: where the searches are.
        scrape_base: where pages are read.

    Raises:
        ValueError: a key that cannot stand in a header, or a base that is no URL; the key is not shown.
    """

    client: httpx.AsyncClient = attrs.field(repr=False)
    key: str = attrs.field(repr=False, validator=_printable)
    policy: RetryPolicy = attrs.field(repr=False)
    clock: Clock = attrs.field(repr=False)
    on_wait: Callable[[Wait], None] = attrs.field(repr=False, default=lambda wait: None)
    search_base: str = SEARCH_BASE
    scrape_base: str = SCRAPE_BASE
    _redactor: Redactor = attrs.field(init=False, repr=False)

    @_redactor.default
    def _of_key(self) -> Redactor:
        return Redactor((self.key,))

    def __attrs_post_init__(self) -> None:
        for name in ("search_base", "scrape_base"):
            checked_url(getattr(self, name), name=name)

    async def ask(
        self,
        endpoint: Endpoint,
        question: Mapping[str, object],
        *,
        backend: str,
        timeout_seconds: float,
        retry: int | None = None,
        usable: Callable[[Mapping[str, Any]], bool] = lambda payload: True,
    ) -> SerperReply:
        """Return what the service says.

        Args:
            endpoint: which.
            question: the fields of the request.
            backend: who asks, for errors.
            timeout_seconds: limit of all attempts and waits together.
            retry: attempts after the first, if not those of the policy.
            usable: whether a reply is worth having; one that is not counts as a failed attempt that may pass.

        Raises:
            BackendTimeoutError: no answer in time.
            BackendUnavailableError: no usable answer after all attempts; its usage holds the credits spent all the same.
        """
        spent: list[Spent] = []
        outcome = await self._asked(endpoint, question, timeout_seconds, retry, usable, spent)
        if isinstance(outcome, Fault):  # raised here, where no exception that holds the request is its context
            raise self._error(outcome, endpoint, backend, tuple(spent))
        return SerperReply(payload=outcome, usage=tuple(spent))

    async def _asked(
        self,
        endpoint: Endpoint,
        question: Mapping[str, object],
        timeout_seconds: float,
        retry: int | None,
        usable: Callable[[Mapping[str, Any]], bool],
        spent: list[Spent],
    ) -> Mapping[str, Any] | Fault:
        url = self.scrape_base if endpoint == "scrape" else f"{self.search_base.rstrip('/')}/{endpoint}"
        body = orjson.dumps({name: clean_text(v) if isinstance(v, str) else v for name, v in question.items()})

        async def attempt() -> Mapping[str, Any]:
            payload = await self._post(url, body)
            spent.extend(_credits(payload))
            if not usable(payload):
                sentence = "the reply holds nothing that can be used"
                raise AttemptFailed(Fault(kind="not_a_reply", code="not_a_reply", sentence=sentence, transient=True))
            return payload

        policy = self.policy if retry is None else attrs.evolve(self.policy, retry=retry)
        call = with_retries(attempt, policy=policy, clock=self.clock, on_wait=self.on_wait)
        try:
            return await within(self.clock, timeout_seconds, call)
        except AttemptFailed as failed:
            return failed.fault
        except TimeoutError:
            sentence = f"no answer within {timeout_seconds:g} s, all attempts included"
            return Fault(kind="timeout", code="timeout", sentence=sentence)

    async def _post(self, url: str, body: bytes) -> Mapping[str, Any]:
        headers = {"X-API-KEY": self.key, "Content-Type": "application/json", **ASK_FOR_GZIP}
        try:
            async with self.client.stream("POST", url, content=body, headers=headers) as response:
                if not can_be_unpacked(packing_of(response)):
                    raise _garbage("a body packed otherwise than asked for")
                data = await beginning_of(response, MOST_BYTES + 1)
        except FOREIGN_ERRORS as error:
            fault = fault_of(error, self._redactor)
        else:
            if response.status_code != 200:
                fault = status_fault(response, self._detail(data))
            elif len(data) > MOST_BYTES:
                raise _garbage(f"a reply of more than {MOST_BYTES >> 20} MB")
            else:
                return _object(data)
        raise AttemptFailed(fault)

    def _detail(self, data: bytes) -> str:
        """What a refusal says, without what it may quote of the request."""
        try:
            payload = orjson.loads(data)
        except ValueError:
            return ""
        message = payload.get("message") or payload.get("error") if isinstance(payload, dict) else None
        return detail_of(message, self._redactor) if isinstance(message, str) else ""

    def _error(self, fault: Fault, endpoint: str, backend: str, usage: tuple[Spent, ...]) -> BackendError:
        if fault.kind == "timeout":
            return BackendTimeoutError(backend, f"serper {endpoint}: {fault.message}", usage=usage)
        hint = {
            "http_401": "; SERPER_API_KEY is not accepted",
            "http_403": "; SERPER_API_KEY is not accepted",
        }.get(fault.code, "")
        sentence = f"serper {endpoint}: {fault.sentence}"
        return backend_error(attrs.evolve(fault, sentence=sentence + hint), backend, usage=usage)


def _garbage(what: str) -> AttemptFailed:
    return AttemptFailed(Fault(kind="not_a_reply", code="not_a_reply", sentence=f"expected a JSON object, got {what}"))


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        payload = orjson.loads(data)
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        what = "nothing" if not data.strip() else "something else"
        raise _garbage(what)
    return payload


def _credits(payload: Mapping[str, Any]) -> list[Spent]:
    number = payload.get("credits")
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < 1e9:
        return []
    return [search_credits(number)]
