"""Running an application on a socket until it is told to stop, and then draining it on the open listener."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

import uvicorn

from openvlharness_core.errors import HarnessError

KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep an idle connection, so that it is they who close it, and never in the middle of a request."""
_LAST_WRITES_SECONDS = 5


class CannotListenError(HarnessError):
    """The address cannot be listened on."""


class _DrainingServer(uvicorn.Server):
    """Drains at the first signal and ends at the second."""

    def __init__(self, config: uvicorn.Config, drain: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config)
        self._drain = drain
        self._loop = asyncio.get_running_loop()
        self._draining: asyncio.Task[None] | None = None
        self._asked = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called in the middle of anything. The signal is not raised again afterwards: this is an orderly end."""
        if self._asked:
            self.should_exit = self.force_exit = True
        self._asked = True
        self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        if self._draining is None:
            self._draining = self._loop.create_task(self._end())

    async def _end(self) -> None:
        try:
            await self._drain()
        finally:
            self.should_exit = True


def bound(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 is any free one.

    Raises:
        CannotListenError: the address is taken or not of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotListenError(f"cannot listen on {host} port {port}: {reason}") from None
    # Connections inherit it. asyncio sets it only on sockets that say they are TCP, which these do not; and without it the
    # second piece of an answer waits until the first was acknowledged, which is 40 ms on an idle connection.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def serve(app: Any, listener: socket.socket, drain: Callable[[], Awaitable[None]]) -> None:
    """Serve on `listener` until SIGTERM or SIGINT; then `drain` is awaited, still serving, and all connections end."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_LAST_WRITES_SECONDS,
    )
    await _DrainingServer(config, drain).serve(sockets=[listener])
