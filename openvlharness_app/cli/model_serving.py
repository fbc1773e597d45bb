"""`openvlharness serve sam3` and its kin: one command a kind, all with the same options and variables of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from openvlharness_app.building.model_servers import KINDS, Kind, ServerKind, model_server
from openvlharness_app.cli.options import fail
from openvlharness_app.cli.serving import needs_server_extra

if TYPE_CHECKING:
    from openvlharness_adapters.servers.applications import ModelServer

_TITLES = {
    "sam3": "Serve SAM 3: objects named by words, with masks.",
    "grounding-dino": "Serve Grounding DINO: objects named by words, as boxes.",
    "paddle-ocr": "Serve PaddleOCR-VL behind the chat endpoint; vLLM serves it faster.",
    "deepseek-ocr": "Serve DeepSeek-OCR 2 behind the chat endpoint; vLLM serves it faster.",
    "depth-anything": "Serve Depth Anything 3: depth and camera poses.",
    "vggt": "Serve VGGT: depth and camera poses.",
}
_SHOWN: dict[str, Any] = {"show_default": True, "show_envvar": True}
_SECONDS = click.FloatRange(0, min_open=True)
_WHOLE = click.IntRange(min=1)


def model_commands() -> list[click.Command]:
    """One command a kind of raw model server."""
    return [_command(name, kind) for name, kind in KINDS.items()]


def _command(name: Kind, kind: ServerKind) -> click.Command:
    options: list[click.Parameter] = [
        click.Option(
            ["--weights"],
            metavar="PLACE",
            default=kind.weights,
            envvar=kind.weights_variable,
            help="A folder, or a name on the hub.",
            **_SHOWN,
        ),
        click.Option(["--revision"], metavar="NAME", help="Revision of a name on the hub."),
        click.Option(
            ["--offline"], is_flag=True, help="Take what the hub's cache holds; HF_HUB_OFFLINE=1 does the same."
        ),
        click.Option(
            ["--host"], default="127.0.0.1", envvar=f"{kind.prefix}_HOST", help="Address to listen on.", **_SHOWN
        ),
        click.Option(
            ["--port"],
            type=click.IntRange(0, 65535),
            default=kind.port,
            envvar=f"{kind.prefix}_PORT",
            help="Port; 0 takes a free one and prints it.",
            **_SHOWN,
        ),
        click.Option(["--device"], metavar="NAME", help="cuda, cuda:1, cpu, …; a graphics card if there is one."),
        click.Option(
            ["--memory-fraction"],
            type=click.FloatRange(0, 1, min_open=True),
            envvar="GPU_MEM_FRACTION",
            show_envvar=True,
            help="Share of the card's memory that this server may take.",
        ),
        click.Option(
            ["--max-side"],
            type=click.IntRange(min=64),
            default=2048,
            show_default=True,
            help="Larger pictures are shrunk to this side, in pixels.",
        ),
        click.Option(
            ["--max-queue"], type=click.IntRange(min=0), default=256, show_default=True, help="Calls that may wait."
        ),
        click.Option(
            ["--timeout-seconds"], type=_SECONDS, default=300.0, show_default=True, help="Deadline of one call."
        ),
        click.Option(
            ["--drain-seconds"],
            type=_SECONDS,
            default=30.0,
            show_default=True,
            help="How long calls go on after SIGTERM.",
        ),
    ]
    if kind.served_variable is not None:
        options += [
            click.Option(
                ["--model-id"],
                default=kind.served_as,
                envvar=kind.served_variable,
                help="The model that requests name.",
                **_SHOWN,
            ),
            click.Option(["--max-tokens"], type=_WHOLE, default=4096, show_default=True, help="Tokens of one answer."),
        ]
    if name in {"depth-anything", "vggt"}:
        options.append(
            click.Option(
                ["--max-images"],
                type=click.IntRange(min=2),
                default=32,
                show_default=True,
                help="Pictures of one call of /poses.",
            )
        )
    text = f"{_TITLES[name]}\n\nIt answers {kind.endpoints}, /health, /ready and /metrics, and ends at SIGTERM when its calls have."
    return click.Command(name, params=options, callback=_callback(name, kind), help=text, short_help=_TITLES[name])


def _callback(name: Kind, kind: ServerKind) -> Callable[..., None]:
    def run(**chosen: Any) -> None:
        needs_server_extra()
        _needs(name, kind)
        from openvlharness_adapters.servers.applications import ServerLimits
        from openvlharness_adapters.servers.sources import Weights
        from openvlharness_core import HarnessError

        host, port = chosen.pop("host"), chosen.pop("port")
        weights = Weights(place=chosen.pop("weights"), revision=chosen.pop("revision"), offline=chosen.pop("offline"))
        served_as, device = chosen.pop("model_id", None), chosen.pop("device")
        fraction = chosen.pop("memory_fraction")
        try:
            server = model_server(
                name,
                weights,
                served_as=served_as,
                device=device,
                memory_fraction=fraction,
                limits=ServerLimits(**chosen),
            )
            asyncio.run(_serve(server, name, host, port))
        except HarnessError as error:
            fail(str(error))

    return run


async def _serve(server: ModelServer, name: str, host: str, port: int) -> None:
    from openvlharness_adapters.router.serving import bound, serve

    listener = bound(host, port)
    number = listener.getsockname()[1]
    click.echo(f"{name} on http://{f'[{host}]' if ':' in host else host}:{number}")  # loaded, and listening
    try:
        await serve(server.app, listener, server.drain)
    finally:
        server.close()


def _needs(name: Kind, kind: ServerKind) -> None:
    missing = [module for module in kind.modules if find_spec(module) is None]
    if not missing:
        return
    if set(missing) & {"depth_anything_3", "vggt"}:
        fail(f"{' and '.join(missing)} not installed; docs/deployment.md says how serve {name} is set up")
    fail(
        f"{' and '.join(missing)} not installed; serve {name} needs the extra: pip install 'openvlharness[{kind.extra}]'"
    )
