"""`openvlharness replay`: does today's engine do what it did then?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import click

from openvlharness_app.cli.options import chosen_settings, configuration_options, fail, print_json

if TYPE_CHECKING:
    from openvlharness_app.settings import Settings


@click.command()
@click.argument("report")
@configuration_options
@click.option("--json", "as_json", is_flag=True, help="Print the differences as JSON.")
def command(report: str, config: str | None, preset: str | None, as_json: bool) -> None:
    """Feed the recorded trajectory of REPORT (a directory or a report.json) through today's engine.

    Nothing is asked and no tool runs: replies and findings are those of the record; what the engine makes of them is
    compared with it. The settings are those saved beside the report, unless --config or --preset says otherwise.
    Exit code 0: no difference. 1: differences. 2: no report, or a bad configuration.
    """
    from openvlharness_app.replaying import differences
    from openvlharness_app.reports import load_report
    from openvlharness_core import HarnessError

    try:
        recorded = load_report(report)
        found = differences(recorded, _settings(report, config, preset))
    except HarnessError as error:
        fail(str(error))
    if as_json:
        print_json([attrs.asdict(difference) for difference in found])
    else:
        for difference in found:
            click.echo(str(difference))
        if not found:
            click.echo("no difference")
    if found:
        raise SystemExit(1)


def _settings(report: str, config: str | None, preset: str | None) -> Settings:
    from openvlharness_app.loading import load_agent_config
    from openvlharness_app.reports import find_settings

    if config is None and preset is None and (saved := find_settings(report)) is not None:
        return load_agent_config(saved)
    return chosen_settings(config, preset)
