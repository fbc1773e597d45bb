"""Whether the backends can be reached, and why not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import httpx

from openvlharness_adapters.http.endpoints import shown
from openvlharness_adapters.http.errors import FOREIGN_ERRORS, fault_of, status_line
from openvlharness_core.ports.clock import Clock
from openvlharness_core.waiting import within

Check = Callable[[], Awaitable[str | None]]
"""Why a backend cannot be used; `None` when it can."""

PATIENCE_SECONDS = 5.0


async def always_ready() -> str | None:
    """A backend of this process."""
    return None


def server_check(client: httpx.AsyncClient, base_url: str, clock: Clock) -> Check:
    """Whether a server answers under its `/health`."""
    url = f"{base_url.rstrip('/')}/health"

    async def check() -> str | None:
        try:
            response = await within(clock, PATIENCE_SECONDS, client.get(url))
        except TimeoutError:
            return f"{shown(url)}: no answer within {PATIENCE_SECONDS:g} s"
        except FOREIGN_ERRORS as error:
            return f"{shown(url)}: {fault_of(error).message}"
        return None if response.is_success else f"{shown(url)}: {status_line(response.status_code)}"

    return check


def any_server(client: httpx.AsyncClient, base_urls: Sequence[str], clock: Clock) -> Check:
    """Whether at least one of several replicas answers; if none does, why not each."""
    checks = [server_check(client, url, clock) for url in base_urls]

    async def check() -> str | None:
        reasons = await asyncio.gather(*(check() for check in checks))
        return None if None in reasons else "; ".join(reason for reason in reasons if reason is not None)

    return check


async def readiness(checks: Mapping[str, Check]) -> dict[str, str | None]:
    """Name to why not, all asked at once."""
    reasons = await asyncio.gather(*(check() for check in checks.values()))
    return dict(zip(checks, reasons, strict=True))
