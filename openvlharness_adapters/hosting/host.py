"""Showing a picture to a service that takes nothing but addresses: published for as long as it is needed."""

from __future__ import annotations

import secrets
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from openvlharness_core.errors import HarnessError
from openvlharness_core.pictures import EncodedImage

SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}
"""What is published; pictures inside this library are of no other type."""
SIGNED_SECONDS = 900
"""How long a signed address works, should its picture ever outlive its search."""


class HostingError(HarnessError):
    """A picture cannot be published.

    Attributes:
        host: which provider.
        reason: what happened, with no key, credential or signed address in it.
    """

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"{host}: {reason}")
        self.host = host
        self.reason = reason


class ImageHost(Protocol):
    """Publishes pictures; several at once."""

    def published(self, image: EncodedImage) -> AbstractAsyncContextManager[str]:
        """Inside, `image` can be fetched by anybody who has the address; behind, it is deleted where that is possible.

        A deletion that fails is not raised: the address cannot be guessed, and where the provider signs, it expires.

        Raises:
            HostingError: on entering.
        """
        ...


def fresh_name(image: EncodedImage) -> str:
    """A name that nobody can guess, with the suffix of the picture's type.

    Raises:
        HostingError: a type that is not published.
    """
    suffix = SUFFIXES.get(image.media_type)
    if suffix is None:
        expected = ", ".join(SUFFIXES)
        raise HostingError("image host", f"expected a picture of type {expected}, got {image.media_type!r:.60}")
    return secrets.token_urlsafe(24) + suffix
