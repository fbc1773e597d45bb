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

from openvlharness_adapters.http.errors import FOREIGN_ERRORS, AttemptFailed, Fault, fault_of, status_fault
from openvlharness_adapters.http.redaction import Redactor
from openvlharness_adapters.http.retry import find_retry_after
from openvlharness_adapters.http.unpacking import ASK_FOR_GZIP
from openvlharness_adapters.models.bounded import read_error, read_reply
from openvlharness_adapters.models.provider_errors import body_fault
from openvlharness_adapters.models.service import HttpReply

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
_FAULT_EXTENSION = "openvlharness.fault"
_HEADERS_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})


@attrs.frozen
class BoundedTransport(httpx.AsyncBaseTransport):
    """Answers with responses whose bodies are in memory, unpacked, and no longer than anybody reads.

    The SDK would read and unpack whatever comes. What is no reply for its length or its packing comes back empty, with
    the fault among the extensions, so that the SDK does not take it for a broken connection and pay for it again.

    Attributes:
        client: sends the requests; not closed here.
    """

    client: httpx.AsyncClient

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self.client.send(request, stream=True, follow_redirects=False)
        extensions, body = dict(response.extensions), b""
        try:
            body = await (read_reply(response) if response.is_success else read_error(response))
        except AttemptFailed as failed:
            extensions[_FAULT_EXTENSION] = failed.fault
        except httpx.DecodingError as error:
            extensions[_FAULT_EXTENSION] = fault_of(error)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.raw if _kept(name)]
        return httpx.Response(response.status_code, headers=headers, content=body, extensions=extensions)


def _kept(name: bytes) -> bool:
    return name.decode("latin-1").lower() not in _HEADERS_OF_THE_WIRE


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
        request.headers.update({**ASK_FOR_GZIP, **self._own_headers})


def open_sdk(
    client: httpx.AsyncClient, endpoint: str, *, headers: Mapping[str, str], retry: int, timeout_seconds: float
) -> QuietClient:
    """An SDK client over ours, which whoever opened it closes; there is nothing else to close.

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
        http_client=httpx.AsyncClient(transport=BoundedTransport(client), timeout=None, trust_env=False),  # noqa: S113
        max_retries=retry,
        timeout=openai.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)),
    )


def reply_of(raw: Any) -> HttpReply | Fault:
    """What a raw response of `open_sdk` holds, or why that is no reply."""
    response: httpx.Response = raw.http_response
    fault: Fault | None = response.extensions.get(_FAULT_EXTENSION)
    content_type = response.headers.get("content-type", "")
    return fault or HttpReply(status=response.status_code, content_type=content_type, body=response.content)


def sdk_fault(error: Exception, redactor: Redactor, *, wall_seconds: float) -> Fault:
    """The fault behind what a call of the SDK raises.

    It names the number of attempts where there were several, and the wait that a server asked for where that is too
    long; `wall_seconds` is now, since the epoch.
    """
    match error:
        case openai.APIStatusError():
            response: Any = error.response
            status = response.status_code
            fault = status_fault(response, "")
            # What the SDK tries again may pass: 409 and every 5xx too, unlike for our own client.
            fault = attrs.evolve(fault, transient=status in {408, 409, 429} or status >= 500)
            fault = body_fault(_asking(_counted(fault, error), wall_seconds), response.content, redactor)
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


def _asking(fault: Fault, wall_seconds: float) -> Fault:
    """`fault` with the wait for which the SDK ended the call."""
    asked = find_retry_after(fault.retry_after, wall_seconds)
    if not fault.transient or asked is None or asked <= LONGEST_WAIT_SECONDS:
        return fault
    note = f"it asks to wait {asked:.6g} s, longer than {LONGEST_WAIT_SECONDS:g}"
    return attrs.evolve(fault, sentence=f"{fault.sentence} ({note})")
