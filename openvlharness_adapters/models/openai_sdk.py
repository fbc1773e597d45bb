"""The `openai` SDK as this library lets it talk: our HTTP client, our headers, its own retries.

The SDK picks up keys, organisations and whole headers from the environment. Only the application reads that, so what
leaves here carries the headers of a list, and the key that was configured or none; the SDK never learns it. Importing
this module imports the SDK, of the extra `models`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import httpx
import openai

from openvlharness_adapters.http.errors import FOREIGN_ERRORS, Fault, fault_of, status_fault
from openvlharness_adapters.http.redaction import Redactor
from openvlharness_adapters.models.provider_errors import body_fault

CONNECT_SECONDS = 5.0
LONGEST_WAIT_SECONDS = 120.0
"""The longest Retry-After that the SDK sits through; one that asks for more ends the call."""

_PLACEHOLDER = "none"  # the SDK insists on a key; see `_prepare_request`
_PATH = "/chat/completions"
_OWN_HEADERS = frozenset(
    {"accept", "connection", "content-length", "content-type", "host", "idempotency-key", "user-agent"}
)
_SDK_HEADERS = "x-stainless-"
_RETRY_COUNT = "x-stainless-retry-count"


class QuietClient(openai.AsyncOpenAI):
    """An SDK client that sends nothing of the environment."""

    def __init__(
        self, *, endpoint: httpx.URL, headers: Mapping[str, str], http_client: httpx.AsyncClient, **settings: Any
    ) -> None:
        super().__init__(
            api_key=_PLACEHOLDER,
            organization="",
            project="",
            base_url=str(endpoint.copy_with(query=None, path=endpoint.path.removesuffix(_PATH))),
            http_client=http_client,  # type: ignore[arg-type] # its own is httpx2's; it takes this one too
            **settings,
        )
        self._endpoint = endpoint
        self._own_headers = dict(headers)

    async def _prepare_request(self, request: Any) -> None:
        """Called by the SDK with every request that is about to be sent."""
        await super()._prepare_request(request)
        request.url = self._endpoint  # with its query as it was written
        for name in list(request.headers):
            if name.lower() not in _OWN_HEADERS and not name.lower().startswith(_SDK_HEADERS):
                del request.headers[name]
        request.headers.update({"Accept-Encoding": "identity", **self._own_headers})


def open_sdk(
    client: httpx.AsyncClient, endpoint: str, *, headers: Mapping[str, str], retry: int, timeout_seconds: float
) -> QuietClient:
    """An SDK client over ours, which whoever opened it closes.

    Args:
        client: from `open_client`, so that this machine is never reached through a proxy.
        endpoint: full address, ending in `/chat/completions` before its query.
        headers: added to every request; the key's header among them.
        retry: attempts after the first; the SDK makes them and nobody else.
        timeout_seconds: limit of each attempt between two pieces of the answer; connecting is given five seconds.
    """
    return QuietClient(
        endpoint=httpx.URL(endpoint),
        headers=headers,
        http_client=client,
        max_retries=retry,
        timeout=openai.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)),
    )


def body_of(raw: Any) -> bytes:
    """The bytes of a raw response."""
    content: bytes = raw.http_response.content
    return content


def sdk_fault(error: Exception, redactor: Redactor) -> Fault:
    """The fault behind what a call of the SDK raises, with the number of attempts where there were several."""
    match error:
        case openai.APIStatusError():
            response: Any = error.response
            status = response.status_code
            fault = status_fault(response, "")
            # What the SDK tries again may pass: 409 and every 5xx too, unlike for our own client.
            fault = attrs.evolve(fault, transient=status in {408, 409, 429} or status >= 500)
            fault = body_fault(_counted(fault, error), response.content, redactor)
        case openai.APIConnectionError(__cause__=cause) if isinstance(cause, FOREIGN_ERRORS):
            fault = _counted(fault_of(cause, redactor), error)
        case openai.APIConnectionError():
            sentence = f"the connection failed or broke ({type(error.__cause__ or error).__name__})"
            fault = _counted(Fault(kind="connection", code="connection", sentence=sentence, transient=True), error)
        case openai.OpenAIError():
            fault = Fault(
                kind="request", code="request", sentence=f"the SDK refused the request ({type(error).__name__})"
            )
        case _:
            fault = fault_of(error, redactor)
    return fault


def _counted(fault: Fault, error: openai.APIStatusError | openai.APIConnectionError) -> Fault:
    retries = str(error.request.headers.get(_RETRY_COUNT, "0"))
    if not retries.isdigit() or retries == "0":
        return fault
    return attrs.evolve(fault, sentence=f"{fault.sentence} ({int(retries) + 1} attempts)")
