"""From the base that a user wrote to the address that is called."""

from __future__ import annotations

import re

import httpx

_VERSION = re.compile(r"v\d+[a-z0-9]*")
_ENDPOINTS = ("/chat/completions", "/responses", "/embeddings", "/completions")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")


def endpoint_of(base: str, suffix: str, *, name: str = "base") -> str:
    """The full address of an endpoint.

    Args:
        base: service root, a base with a version in its path such as `/v1`, or the full endpoint; a query is kept.
        suffix: the endpoint behind the version, such as `/chat/completions`.
        name: what errors call the setting.

    Raises:
        ValueError: naming the setting; the address is not shown where it may hold credentials.
    """
    url = checked_url(base, name=name)
    path = url.path.rstrip("/")
    if path.endswith(suffix):
        return str(url.copy_with(path=path))
    if (other := next((ending for ending in _ENDPOINTS if path.endswith(ending)), None)) is not None:
        raise ValueError(f"{name}: expected a base or an endpoint ending in {suffix}, got one that ends in {other}")
    version = "" if any(_VERSION.fullmatch(segment) for segment in path.split("/")) else "/v1"
    return str(url.copy_with(path=path + version + suffix))


def checked_url(text: str, *, name: str) -> httpx.URL:
    """An absolute http(s) URL with a host and without credentials.

    Raises:
        ValueError: naming the setting and never showing credentials.
    """
    text = text.strip()
    if _CONTROL.search(text):
        raise ValueError(f"{name}: expected a URL, got one with spaces or control characters in it")
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = None
    if url is None:  # raised here, since the cause would show what was written
        raise ValueError(f"{name}: expected a URL such as http://host:8000/v1, got something that is none")
    if url.userinfo or "@" in text.partition("://")[2].partition("/")[0]:
        raise ValueError(f"{name}: expected a URL without user and password, got one that holds them")
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError(f"{name}: expected a URL that begins with http:// or https:// and names a host")
    if url.fragment:
        raise ValueError(f"{name}: expected a URL without a # part, got one")
    return url


def shown(url: httpx.URL | str) -> str:
    """An address as errors show it: scheme, host, port and path; a query may hold a key."""
    url = httpx.URL(url)
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}{'' if url.port is None else f':{url.port}'}{url.path}"


def bearer_headers(key: str | None, *, name: str = "key") -> dict[str, str]:
    """The Authorization header of a key; none for a blank key or the word `empty`.

    Raises:
        ValueError: the key cannot stand in a header; it is named, not shown.
    """
    if key is None or key.strip().lower() in {"", "empty"}:
        return {}
    if not key.isascii() or not key.isprintable():
        raise ValueError(
            f"{name}: expected printable ASCII characters, got a control character or a letter beyond them"
        )
    return {"Authorization": f"Bearer {key.strip()}"}
