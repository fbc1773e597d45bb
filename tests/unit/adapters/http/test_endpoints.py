"""Bases, endpoints and keys."""

from __future__ import annotations

import pytest

from openvlharness_adapters.http.endpoints import bearer_headers, endpoint_of, shown

CHAT = "/chat/completions"


@pytest.mark.parametrize(
    ("base", "endpoint"),
    [
        ("http://h", "http://h/v1/chat/completions"),
        ("http://h/", "http://h/v1/chat/completions"),
        (" http://h:8000 ", "http://h:8000/v1/chat/completions"),
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions/", "http://h/v1/chat/completions"),
        ("https://h/proxy/model", "https://h/proxy/model/v1/chat/completions"),
        ("https://h/api/v3", "https://h/api/v3/chat/completions"),
        ("https://h/v1beta/openai/", "https://h/v1beta/openai/chat/completions"),
        ("https://h/custom/chat/completions", "https://h/custom/chat/completions"),
        ("https://h/v1?api-version=2", "https://h/v1/chat/completions?api-version=2"),
        ("http://[::1]:80/v1", "http://[::1]/v1/chat/completions"),
        ("HTTP://LOCALHOST:1/v1", "http://localhost:1/v1/chat/completions"),
    ],
)
def test_a_base_becomes_an_endpoint(base: str, endpoint: str) -> None:
    assert endpoint_of(base, CHAT) == endpoint
    assert endpoint_of(endpoint, CHAT) == endpoint


@pytest.mark.parametrize(
    "base",
    [
        "http://u:CANARY-3@host",
        "http://CANARY-3@host/v1",
        "http://u:CANARY-3/x@host",
        "ftp://host/CANARY-3",
        "CANARY-3",
        "http://",
        "http://[::CANARY-3",
        "http://h/CANARY-3\n",
        "http://h/a b/CANARY-3",
        "http://h/v1#CANARY-3",
        "http://h/v1/responses",
    ],
)
def test_what_is_no_base_is_refused_by_name(base: str) -> None:
    if base.endswith("\n"):
        assert endpoint_of(base, CHAT) == "http://h/CANARY-3/v1/chat/completions"  # the end of a line is no part of it
        return
    with pytest.raises(ValueError, match=r"^models\.base: expected") as refused:
        endpoint_of(base, CHAT, name="models.base")
    assert "CANARY" not in str(refused.value)
    assert refused.value.__context__ is None


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    assert shown("https://u:p@h:9/v1/x?key=CANARY") == "https://h:9/v1/x"
    assert shown("http://[::1]:9/x") == "http://[::1]:9/x"


@pytest.mark.parametrize("key", [None, "", "  ", "\n", "empty", "EMPTY", " Empty "])
def test_no_key_no_header(key: str | None) -> None:
    assert bearer_headers(key) == {}


def test_a_key_is_a_bearer_token() -> None:
    assert bearer_headers(" sk-1 ") == {"Authorization": "Bearer sk-1"}


@pytest.mark.parametrize(
    "key", ["CANARY-2\n", "CANARY\r\nX: y", "CANARY\x00", "CANARY\x7f", "CANARY-é", "CANARY-\ud83d"]
)
def test_a_key_that_no_header_holds_is_refused_by_name(key: str) -> None:
    with pytest.raises(ValueError, match=r"^models\.key: expected") as refused:
        bearer_headers(key, name="models.key")
    assert "CANARY" not in str(refused.value)
    assert refused.value.__context__ is None
