"""`openvlharness check`: everything that is wrong with a configuration, at once; and whether its services are there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import attrs
import click

from openvlharness_app.cli.options import print_json

if TYPE_CHECKING:
    from openvlharness_app.container import AgentContainer
    from openvlharness_app.live import ServiceState


@click.command()
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print the faults, and with --live the services, as JSON.")
@click.option("--live", is_flag=True, help="Also ask every service that is configured.")
@click.option(
    "--timeout",
    "timeout_seconds",
    type=click.FloatRange(min=0, min_open=True, max=3600),
    metavar="SECONDS",
    help="How long a service may take to answer, with --live; 20 by default.",
)
def command(file: str, as_json: bool, live: bool, timeout_seconds: float | None) -> None:
    """Check FILE: its keys, values and variables, and that what it selects can be built.

    With --live every model service, the tool router or the backends' servers are asked as well. A model service is asked
    for its list of models; where that does not tell, for an answer of a few tokens.

    A judge's file is checked as such. Exit code 0: all is well. 1: a service cannot be used. 2: the configuration is wrong, and nobody was asked.
    """
    from openvlharness_app.container import build_container
    from openvlharness_app.faults import ConfigurationError
    from openvlharness_app.judge import is_judge_file, load_judge_config

    judges = is_judge_file(file)
    if judges and live:
        raise click.UsageError("--live asks the services of an agent, and this file is a judge's")
    states: tuple[ServiceState, ...] = ()
    container = None
    try:
        if judges:
            load_judge_config(file)
        else:
            container = build_container(file)
    except ConfigurationError as error:
        faults = error.faults
    else:
        faults = ()
        if live and container is not None:
            states = asyncio.run(_asked(container, timeout_seconds))
    if as_json:
        listed = [attrs.asdict(fault) for fault in faults]
        print_json({"faults": listed, "services": [attrs.asdict(state) for state in states]} if live else listed)
    else:
        for fault in faults:
            click.echo(str(fault), err=True)
        for state in states:
            click.echo(str(state))
        if not faults and not states:
            click.echo("ok, and there is no service to ask" if live else "ok")
    if faults:
        raise SystemExit(2)
    if not all(state.ok for state in states):
        raise SystemExit(1)


async def _asked(container: AgentContainer, timeout_seconds: float | None) -> tuple[ServiceState, ...]:
    import os

    from openvlharness_app.live import PATIENCE_SECONDS, Asker

    try:
        asker = Asker(
            settings=container.settings(),
            client=container.service_client(),
            clock=container.clock(),
            environment=os.environ,
            timeout_seconds=timeout_seconds or PATIENCE_SECONDS,
        )
        return await asker.ask_all()
    finally:
        await container.lifetime().close()
