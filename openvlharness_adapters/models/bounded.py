"""Bodies of model services as far as anybody reads them: neither endless text nor a few packed bytes fill the memory."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from openvlharness_adapters.http.errors import AttemptFailed
from openvlharness_adapters.http.unpacking import beginning_of, can_be_unpacked, packing_of
from openvlharness_adapters.models.provider_errors import no_reply_fault
from openvlharness_core.texts import clean_text, excerpt

LONGEST_REPLY_BYTES = 64 * 1024 * 1024
LONGEST_ERROR_BYTES = 64 * 1024


async def read_reply(response: httpx.Response, *, complete: Callable[[bytearray], bool] | None = None) -> bytes:
    """The unpacked body of a successful response that is open for streaming; for `complete` see `beginning_of`.

    Raises:
        AttemptFailed: it is too long, or packed otherwise than was asked for.
        httpx.HTTPError: it is not packed as it says, or the connection failed.
    """
    packing = packing_of(response)
    if not can_be_unpacked(packing):
        problem = f"a body packed as {excerpt(clean_text(packing), 40)}, expected gzip or nothing"
        raise AttemptFailed(no_reply_fault(problem, response.status_code))
    body = await beginning_of(response, LONGEST_REPLY_BYTES + 1, complete=complete)
    if len(body) > LONGEST_REPLY_BYTES:
        raise AttemptFailed(no_reply_fault(f"more than {LONGEST_REPLY_BYTES} bytes", response.status_code))
    return body


async def read_error(response: httpx.Response) -> bytes:
    """The beginning of an error's body; nothing of one that is packed otherwise than was asked for.

    Raises:
        httpx.HTTPError: it is not packed as it says, or the connection failed.
    """
    return await beginning_of(response, LONGEST_ERROR_BYTES) if can_be_unpacked(packing_of(response)) else b""
