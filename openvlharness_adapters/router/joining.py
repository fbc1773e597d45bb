"""Repeats of a call across routers: whoever claims its key first runs it, and the others answer with what came of it."""

from __future__ import annotations

import hashlib
from typing import Protocol

from openvlharness_adapters.router.answers import Answer


class Elsewhere(Protocol):
    """What the other routers do; one event loop uses it."""

    async def claim(self, key: str, digest: bytes) -> Answer | None:
        """Wait until it is certain who runs the call of `key`.

        Cancelling the task gives the claim up.

        Args:
            key: idempotency key; this router has at most one call of it at a time.
            digest: `digest_of` the request's body.

        Returns:
            The answer that another router gave; `None` when the call is this router's to run, until `end`.

        Raises:
            OtherBodyError: the digest was another one before.
            GateUnavailableError: nobody can be asked.
        """
        ...

    def end(self, key: str, answer: Answer | None) -> None:
        """A call has ended here; without an answer, and with a 503, its key is anybody's again."""
        ...


def digest_of(body: bytes) -> bytes:
    """The same in every process."""
    return hashlib.blake2b(body, digest_size=16).digest()
