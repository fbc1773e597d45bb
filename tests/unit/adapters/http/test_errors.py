"""The map from a client's exceptions to the domain is total, and tells nothing that it should not."""

from __future__ import annotations

import inspect

import httpx
import pytest

from openvlharness_adapters.http.connections import PROXY_EXTENSION
from openvlharness_adapters.http.errors import (
    FOREIGN_ERRORS,
    Fault,
    backend_error,
    detail_of,
    fault_of,
    model_error,
    status_fault,
)
from openvlharness_adapters.http.redaction import Redactor
from openvlharness_core.errors import (
    BackendTimeoutError,
    BackendUnavailableError,
    ContextLengthError,
    ModelRefusedError,
    ModelUnavailableError,
)

CANARY = "CANARY-1"
REQUEST = httpx.Request("POST", "http://h/", headers={"Authorization": f"Bearer {CANARY}"})
CLASSES = sorted(
    {
        kind
        for _, kind in inspect.getmembers(httpx, inspect.isclass)
        if issubclass(kind, Exception) and not issubclass(kind, Warning)
    },
    key=lambda kind: kind.__name__,
)


def _made(kind: type[Exception]) -> Exception:
    text = f"Illegal header value b'Bearer {CANARY}'"
    if kind is httpx.HTTPStatusError:
        return kind(text, request=REQUEST, response=httpx.Response(500, request=REQUEST))
    if kind in {httpx.StreamConsumed, httpx.StreamClosed, httpx.RequestNotRead, httpx.ResponseNotRead}:
        return kind()
    return kind(text)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_exception_of_the_client_has_its_fault(kind: type[Exception]) -> None:
    error = _made(kind)
    assert isinstance(error, FOREIGN_ERRORS)
    fault = fault_of(error, Redactor((CANARY,)))
    assert CANARY not in fault.message
    expected = (
        "timeout"
        if issubclass(kind, httpx.TimeoutException)
        else "connection"
        if issubclass(kind, httpx.NetworkError | httpx.RemoteProtocolError | httpx.ProxyError)
        else "not_a_reply"
        if kind is httpx.DecodingError
        else "request"
    )
    assert fault.kind == expected
    assert fault.transient == (expected in {"timeout", "connection"})


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ConnectionResetError(104, "reset"), "connection"), (TimeoutError(), "timeout"), (OSError(), "connection")],
)
def test_errors_of_the_system_have_theirs(error: Exception, kind: str) -> None:
    assert fault_of(error).kind == kind


def test_anything_else_is_a_bug() -> None:
    with pytest.raises(TypeError, match="KeyError"):
        fault_of(KeyError("x"))


@pytest.mark.parametrize(("text", "transient"), [("502 Bad Gateway", True), ("407 Auth", False), ("no route", True)])
def test_a_proxy_is_named(text: str, *, transient: bool) -> None:
    fault = fault_of(httpx.ProxyError(text))
    assert "the proxy" in fault.message
    assert fault.transient is transient


@pytest.mark.parametrize("status", [*range(300, 600), 999])
def test_which_statuses_pass(status: int) -> None:
    fault = status_fault(httpx.Response(status, headers={"Retry-After": "3"}), "")
    assert fault.code == f"http_{status}"
    assert fault.transient == (status in {408, 429, 500, 502, 503, 504})
    assert fault.retry_after == "3"
    assert str(status) in fault.message


def test_a_status_that_came_through_a_proxy_says_so() -> None:
    response = httpx.Response(502, extensions={PROXY_EXTENSION: "http://proxy:3128"})
    assert "502 Bad Gateway, from or through the proxy http://proxy:3128" in status_fault(response, "").message


def test_faults_become_errors_of_the_domain() -> None:
    fault = Fault(kind="status", code="http_503", sentence="503", transient=True)
    assert type(model_error(fault, "http://h")) is ModelUnavailableError
    assert type(model_error(Fault(kind="status", code="http_401", sentence="401"), "http://h")) is ModelRefusedError
    assert type(model_error(Fault(kind="context", code="c", sentence="long"), "http://h")) is ContextLengthError
    assert type(backend_error(fault, "ocr")) is BackendUnavailableError
    assert type(backend_error(Fault(kind="timeout", code="t", sentence="t"), "ocr")) is BackendTimeoutError
    assert str(model_error(fault, "http://h")) == "http://h: 503"


SECRETS = ["CANARY-1", 'CAN"ARY/2', "CAN+ARY 3", "é-CANARY"]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("spell", ["{}", "Bearer {}", "key={}&x", '{{"k": "{}"}}', "x{}x"])
def test_a_secret_is_hidden_wherever_it_stands(secret: str, spell: str) -> None:
    import json
    from urllib.parse import quote, quote_plus

    redactor = Redactor(tuple(SECRETS))
    for spelling in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), quote_plus(secret)):
        detail = detail_of(spell.format(spelling), redactor)
        assert spelling not in detail
        assert "[hidden]" in detail
    assert secret not in repr(redactor)


def test_a_secret_is_hidden_before_the_text_is_cut() -> None:
    for before in range(380, 410):
        assert "CANA" not in detail_of("x " * (before // 2) + "CANARY-1", Redactor(("CANARY-1",)))


def test_credentials_tokens_and_bulk_are_hidden_unasked() -> None:
    detail = detail_of(f"at http://u:pass-word@h/x with bearer abcdef123456 and {'QUJD' * 100}==", Redactor())
    assert detail == "at http://h/x with bearer [hidden] and […]"
    assert len(detail_of("word " * 1000, Redactor())) <= 400
