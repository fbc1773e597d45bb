"""From what an HTTP client can meet to the errors of the domain: one total map.

Every failure first becomes a `Fault`, a plain value, and only that travels: an exception of httpx holds the request with
its headers, and its text may quote a header, so none of them is ever a cause or a context of what is raised here.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Literal

import attrs
import httpx

from openvlharness_adapters.http.connections import PROXY_EXTENSION
from openvlharness_adapters.http.redaction import NOTHING_SECRET, Redactor
from openvlharness_core.errors import (
    BackendError,
    BackendTimeoutError,
    BackendUnavailableError,
    ContextLengthError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from openvlharness_core.texts import clean_text, excerpt
from openvlharness_core.usage import Spent

RETRYABLE_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
FOREIGN_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, httpx.CookieConflict, OSError)
"""What a call of an httpx client may raise besides being cancelled; `fault_of` maps each."""

_DETAIL_LETTERS = 400

FaultKind = Literal["timeout", "connection", "status", "request", "not_a_reply", "context"]


@attrs.frozen(kw_only=True)
class Fault:
    """Why an attempt failed.

    Attributes:
        kind: `request` could not be sent as it is; `context` is longer than the model takes.
        code: short and stable, such as `http_429`.
        sentence: what happened, in our words.
        detail: what the other side said, already without secrets and cut.
        transient: whether another attempt may help.
        retry_after: the Retry-After header as it came.
    """

    kind: FaultKind
    code: str
    sentence: str
    detail: str = ""
    transient: bool = False
    retry_after: str | None = None

    @property
    def message(self) -> str:
        """Sentence and detail."""
        return f"{self.sentence}: {self.detail}" if self.detail else self.sentence


class AttemptFailed(Exception):
    """Carries a fault from an attempt to whoever decides about the next; never leaves the adapters."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def detail_of(text: str, redactor: Redactor) -> str:
    """Foreign text as an error may show it: without secrets, on one line, of bounded length."""
    return excerpt(clean_text(redactor.clean(text)), _DETAIL_LETTERS)


def fault_of(error: Exception, redactor: Redactor = NOTHING_SECRET) -> Fault:
    """The fault behind any of `FOREIGN_ERRORS`."""
    name = type(error).__name__
    match error:
        case httpx.TimeoutException():
            return Fault(kind="timeout", code="timeout", sentence=f"no answer in time ({name})", transient=True)
        case httpx.ProxyError():
            return _proxy_fault(str(error), redactor)
        case httpx.NetworkError() | httpx.RemoteProtocolError():
            return _connection_fault(name, detail_of(str(error), redactor))
        case httpx.DecodingError():
            return Fault(kind="not_a_reply", code="not_a_reply", sentence="the body breaks its Content-Encoding")
        case httpx.UnsupportedProtocol():
            return _request_fault("the address cannot be called", detail_of(str(error), redactor))
        case httpx.HTTPError() | httpx.InvalidURL() | httpx.StreamError() | httpx.CookieConflict():
            # The text of a LocalProtocolError quotes the header it objects to, so no text is shown here.
            return _request_fault(f"the request could not be sent ({name})", "")
        case TimeoutError():
            return Fault(kind="timeout", code="timeout", sentence=f"no answer in time ({name})", transient=True)
        case OSError():
            return _connection_fault(name, detail_of(error.strerror or "", redactor))
    raise TypeError(f"error: expected one that an HTTP client raises, got {name}")


def status_fault(response: httpx.Response, detail: str) -> Fault:
    """The fault behind a response that is no success.

    Args:
        response: status and headers are looked at, not the body.
        detail: what its body says, from `detail_of`.
    """
    status = response.status_code
    sentence = status_line(status)
    if (proxy := response.extensions.get(PROXY_EXTENSION)) is not None:
        sentence += f", from or through the proxy {proxy}"
    if 300 <= status < 400:
        sentence += ", a redirect, which is not followed"
    return Fault(
        kind="status",
        code=f"http_{status}",
        sentence=sentence,
        detail=detail,
        transient=status in RETRYABLE_STATUSES,
        retry_after=response.headers.get("retry-after"),
    )


def status_line(status: int) -> str:
    """Number and phrase of a status; the phrase is ours, since a server may write anything there."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"status {status}"


def model_error(fault: Fault, where: str) -> ModelError:
    """The domain's error for a model that gave no usable reply; `where` is the address that errors show."""
    message = f"{where}: {fault.message}"
    if fault.kind == "context":
        return ContextLengthError(fault.code, message)
    if fault.transient:
        return ModelUnavailableError(fault.code, message)
    return ModelRefusedError(fault.code, message)


def backend_error(fault: Fault, backend: str, *, usage: tuple[Spent, ...] = ()) -> BackendError:
    """The domain's error for a backend that gave no usable answer."""
    kind = BackendTimeoutError if fault.kind == "timeout" else BackendUnavailableError
    return kind(backend, fault.message, usage=usage)


def _proxy_fault(text: str, redactor: Redactor) -> Fault:
    if (status := re.match(r"(\d{3})\b", text)) is None:
        return _connection_fault("ProxyError", f"the proxy failed: {detail_of(text, redactor)}")
    number = int(status[1])
    return Fault(
        kind="connection",
        code="proxy",
        sentence=f"the proxy answered {status_line(number)} and opened no connection",
        transient=number in RETRYABLE_STATUSES,
    )


def _connection_fault(name: str, detail: str) -> Fault:
    sentence = f"the connection failed or broke ({name})"
    return Fault(kind="connection", code="connection", sentence=sentence, detail=detail, transient=True)


def _request_fault(sentence: str, detail: str) -> Fault:
    return Fault(kind="request", code="request", sentence=sentence, detail=detail)
