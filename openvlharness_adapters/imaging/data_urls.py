"""Bytes of `data:` URLs as people and models write them."""

from __future__ import annotations

import binascii
import re
from urllib.parse import unquote_to_bytes

import pybase64

from openvlharness_core.errors import UnreadableImageError
from openvlharness_core.texts import excerpt

_HEAD = re.compile(r"\s*data:([^,]*),", re.IGNORECASE)
_BASE64 = re.compile(r"(?:^|;)\s*base64\s*(?:;|$)", re.IGNORECASE)
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_URL_SAFE = str.maketrans("-_", "+/")


def data_of_url(url: str) -> bytes:
    """The bytes of a `data:` URL; the declared type is ignored.

    Taken: any case of `data:` and `base64`, parameters before and after it, white space and line breaks, the URL-safe
    alphabet, missing padding, percent escapes. Refused: anything else that is not base64, and an empty body.

    Raises:
        UnreadableImageError: says what was expected and what came.
    """
    head = _HEAD.match(url)
    if head is None:
        raise UnreadableImageError(f"expected a URL like data:image/png;base64,…, got {excerpt(ascii(url[:80]), 60)}")
    body = url[head.end() :]
    data = _of_base64(body) if _BASE64.search(head[1]) else _of_escapes(body)
    if not data:
        raise UnreadableImageError("data URL: expected the bytes of a picture after the comma, got none")
    return data


def _of_base64(body: str) -> bytes:
    try:
        return pybase64.b64decode(body, validate=True)  # the ordinary case, without copying megabytes of text
    except (binascii.Error, ValueError):
        pass_on = body
    if "%" in pass_on:
        pass_on = _of_escapes(pass_on).decode("latin-1")
    text = "".join(pass_on.split())
    if ("-" in text or "_" in text) and "+" not in text and "/" not in text:
        text = text.translate(_URL_SAFE)
    stripped = text.rstrip("=")
    if len(text) - len(stripped) > 2:
        raise UnreadableImageError(f"data URL: expected base64, got {len(text) - len(stripped)} signs of padding")
    try:
        return pybase64.b64decode(stripped + "=" * (-len(stripped) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UnreadableImageError(
            f"data URL: expected base64, got {excerpt(ascii(text[:60]), 60)} ({error})"
        ) from error


def _of_escapes(body: str) -> bytes:
    if not body.isascii() or _ESCAPE.search(body):
        raise UnreadableImageError(
            "data URL: expected ASCII with percent escapes, got other characters or half an escape"
        )
    return unquote_to_bytes(body)
