"""What the servers' commands share: an address to listen on, and running until a signal comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from openvlharness_app.cli.options import fail

if TYPE_CHECKING:
    from openvlharness_app.building.serving import Server
    from openvlharness_app.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


def address_options(command: F) -> F:
    """`--host` and `--port`."""
    command = click.option(
        "--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one and prints it."
    )(command)
    return click.option("--host", metavar="ADDRESS", help="Address to listen on.")(command)


def needs_server_extra() -> None:
    """End with a word on the missing extra, if it is missing."""
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        fail(f"{' and '.join(missing)} not installed; servers need the extra: pip install 'openvlharness[server]'")


def run_server(settings: Settings, build: Callable[[], Server], name: str, host: str | None, port: int | None) -> None:
    """Serve until SIGTERM or SIGINT, and let running calls end; the address is printed once it can be called."""
    from openvlharness_adapters.router.serving import bound, serve
    from openvlharness_core import HarnessError

    async def run() -> None:
        server = build()
        address = host or settings.services.server.host
        listener = bound(address, settings.services.server.port if port is None else port)
        number = listener.getsockname()[1]
        shown = f"[{address}]" if ":" in address else address
        click.echo(f"{name} on http://{shown}:{number}")  # once it listens: whoever calls now is answered
        try:
            await serve(server.app, listener, server.drain)
        finally:
            await server.container.lifetime().close()

    try:
        asyncio.run(run())
    except HarnessError as error:
        fail(str(error))
