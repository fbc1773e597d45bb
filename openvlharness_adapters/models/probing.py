"""Asking a service whether it is there, cheaply and once: no retries, a short limit, nothing secret in what is said."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs
import httpx

from openvlharness_adapters.http.endpoints import bearer_headers, shown
from openvlharness_adapters.http.errors import FOREIGN_ERRORS, Fault, fault_of, status_fault
from openvlharness_adapters.http.redaction import Redactor
from openvlharness_adapters.http.unpacking import ASK_FOR_GZIP, beginning_of, can_be_unpacked, packing_of
from openvlharness_adapters.models.provider_errors import body_fault
from openvlharness_adapters.models.wire_json import read_json
from openvlharness_core.ports.clock import Clock
from openvlharness_core.waiting import within

_LONGEST_BODY = 4 * 1024 * 1024
_PAGE = re.compile(rb"\s*<(!doctype|html|head|\?xml)", re.IGNORECASE)
_MODEL_ENDPOINT = re.compile(r"(/v\d+[a-z0-9]*)?(/chat/completions|/responses)?/?$")


@attrs.frozen(kw_only=True)
class Probe:
    """What came of one GET.

    Attributes:
        address: what was asked, as errors may show it.
        status: of the response; `None` where none came.
        problem: why it is no success, the address not named; `None` for a success.
        body: of a success, cut at 4 MiB.
    """

    address: str
    status: int | None = None
    problem: str | None = None
    body: bytes = attrs.field(default=b"", repr=False)

    @property
    def is_page(self) -> bool:
        """Whether the body is a web page, as proxies, log-in walls and wrong ports give."""
        return _PAGE.match(self.body) is not None

    def json(self) -> object:
        """The JSON value that the body is; `None` when it is none."""
        try:
            return read_json(self.body)
        except ValueError:
            return None


async def probe(
    client: httpx.AsyncClient, url: str, *, key: str | None = None, clock: Clock, timeout_seconds: float
) -> Probe:
    """GET `url` once, with a bearer key or without; the limit holds for the whole exchange."""
    redactor = Redactor((key.strip(),)) if key and bearer_headers(key) else Redactor()
    try:
        return await within(clock, timeout_seconds, _get(client, url, bearer_headers(key), redactor))
    except TimeoutError:
        return Probe(address=shown(url), problem=f"no answer within {timeout_seconds:g} s")


async def _get(client: httpx.AsyncClient, url: str, headers: Mapping[str, str], redactor: Redactor) -> Probe:
    address, status = shown(url), None
    try:
        async with client.stream("GET", url, headers={**ASK_FOR_GZIP, **headers}) as response:
            status = response.status_code
            body = await beginning_of(response, _LONGEST_BODY) if can_be_unpacked(packing_of(response)) else b""
            if response.is_success:
                return Probe(address=address, status=status, body=body)
            fault: Fault = body_fault(status_fault(response, ""), body, redactor)
    except FOREIGN_ERRORS as error:
        fault = fault_of(error, redactor)
    return Probe(address=address, status=status, problem=fault.message)


def models_url(endpoint: str, suffix: str) -> str:
    """Where a service lists its models, from the full endpoint of a protocol and what that adds to a base."""
    url = httpx.URL(endpoint)
    return str(url.copy_with(path=f"{url.path.removesuffix(suffix)}/models"))


def listed_models(payload: object) -> frozenset[str] | None:
    """Ids of the models that a list names; `None` when it is no such list."""
    match payload:
        case {"data": [*models]} | [*models]:
            return frozenset(
                model["id"] for model in models if isinstance(model, Mapping) and isinstance(model.get("id"), str)
            )
    return None


def health_url(base_url: str) -> str:
    """Where a server says that it lives: beside its version, for one that speaks a model protocol."""
    url = httpx.URL(base_url)
    return str(url.copy_with(path=_MODEL_ENDPOINT.sub("", url.path) + "/health", query=None))
