"""`openvlharness tools`: what a model is offered."""

from __future__ import annotations

import click

from openvlharness_app.cli.options import chosen_settings, configuration_options, fail, print_json


@click.command()
@configuration_options
@click.option("--json", "as_json", is_flag=True, help="Print names, descriptions and parameters as JSON.")
def command(config: str | None, preset: str | None, as_json: bool) -> None:
    """List the tools; with a configuration, those that it selects."""
    from openvlharness_app.catalogue import all_tools, selected_tools
    from openvlharness_core import HarnessError

    try:
        tools = all_tools() if config is None and preset is None else selected_tools(chosen_settings(config, preset))
    except HarnessError as error:
        fail(str(error))
    if as_json:
        print_json(tools)
        return
    for tool in tools:
        click.echo(f"{tool['name']} ({tool['capability']})")
        click.echo(click.wrap_text(str(tool["description"]), initial_indent="  ", subsequent_indent="  "))
