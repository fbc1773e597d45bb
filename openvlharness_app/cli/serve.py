"""`openvlharness serve NAME`: raw servers, each the work behind one or a few tools."""

from __future__ import annotations

import click

from openvlharness_app.cli.model_serving import model_commands
from openvlharness_app.cli.options import chosen_settings, configuration_options, fail
from openvlharness_app.cli.serving import address_options, needs_server_extra, run_server


@click.group()
def command() -> None:
    """Serve backends by themselves, for a router or an agent that names them as server_url."""


@command.command()
@configuration_options
@address_options
@click.option("--corpus", metavar="PATH", help="Documents for the searches: a folder, or an index of `corpus add`.")
def embedded(config: str | None, preset: str | None, host: str | None, port: int | None, corpus: str | None) -> None:
    """Serve the embedded backends under /embedded/CAPABILITY.

    \b
    openvlharness serve embedded --port 8110 --corpus notes/
    """
    needs_server_extra()
    from openvlharness_app.building.serving import embedded_server
    from openvlharness_app.faults import ConfigurationError

    try:
        settings = chosen_settings(config, preset)
    except ConfigurationError as error:
        fail(str(error))
    run_server(settings, lambda: embedded_server(settings, corpus), "embedded backends", host, port)


for _each in model_commands():
    command.add_command(_each)
