"""`openvlharness router`: the tools of a configuration as a service."""

from __future__ import annotations

import click

from openvlharness_app.cli.options import chosen_settings, configuration_options, fail
from openvlharness_app.cli.serving import address_options, needs_server_extra, run_server


@click.command()
@configuration_options
@address_options
def command(config: str | None, preset: str | None, host: str | None, port: int | None) -> None:
    """Serve the backends that a configuration selects, to agents whose services.client.base_url names this address.

    Capacity, queue and token are those of services.server. SIGTERM lets running calls end first.
    """
    needs_server_extra()
    from openvlharness_app.building.serving import router_server
    from openvlharness_app.faults import ConfigurationError

    try:
        settings = chosen_settings(config, preset)
    except ConfigurationError as error:
        fail(str(error))
    run_server(settings, lambda: router_server(settings), "tool router", host, port)
