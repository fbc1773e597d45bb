"""`openvlharness images serve`: the pictures that a search by picture publishes, for the search service to fetch."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from openvlharness_app.cli.options import fail
from openvlharness_app.cli.serving import address_options, needs_server_extra

DEFAULT_PORT = 8120


@click.group()
def command() -> None:
    """Host the query pictures of searches by picture (IMAGE_UPLOAD_PROVIDER=local)."""


@command.command()
@click.option(
    "--dir", "directory", metavar="FOLDER", help="What is served; IMAGE_UPLOAD_LOCAL_DIR, else a temporary folder."
)
@address_options
def serve(directory: str | None, host: str | None, port: int | None) -> None:
    """Serve single pictures by their unguessable names until SIGTERM; there is no list of them.

    \b
    export IMAGE_UPLOAD_PROVIDER=local IMAGE_UPLOAD_LOCAL_DIR=/srv/query-images
    export IMAGE_UPLOAD_PUBLIC_BASE_URL=https://images.example.com   # which leads here
    openvlharness images serve --port 8120
    """
    needs_server_extra()
    import os

    from openvlharness_app.search_variables import upload_dir
    from openvlharness_core import HarnessError

    folder = Path(directory) if directory else upload_dir(os.environ)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"{folder}: expected a folder, got one that cannot be made ({error.strerror or type(error).__name__})")
    address, number = host or "127.0.0.1", DEFAULT_PORT if port is None else port
    try:
        asyncio.run(_serve(folder, address, number))
    except HarnessError as error:
        fail(str(error))


async def _serve(folder: Path, address: str, port: int) -> None:
    from openvlharness_adapters.hosting.serving import application
    from openvlharness_adapters.router.serving import bound, serve
    from openvlharness_adapters.runtime import ThreadOffload

    offload = ThreadOffload()
    listener = bound(address, port)
    shown = f"[{address}]" if ":" in address else address
    click.echo(f"images of {folder} on http://{shown}:{listener.getsockname()[1]}")
    try:
        await serve(application(folder, offload), listener, _at_once)
    finally:
        offload.close()


async def _at_once() -> None:
    """A picture is sent in one go, so there is nothing to wait for."""
