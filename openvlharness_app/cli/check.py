"""`openvlharness check`: everything that is wrong with a configuration, at once."""

from __future__ import annotations

import attrs
import click

from openvlharness_app.cli.options import print_json


@click.command()
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print the faults as JSON.")
def command(file: str, as_json: bool) -> None:
    """Check FILE: its keys, values and variables, and that what it selects can be built. Exit code 2 if not.

    A judge's file is checked as such.
    """
    from openvlharness_app.container import build_container
    from openvlharness_app.faults import ConfigurationError
    from openvlharness_app.judge import is_judge_file, load_judge_config

    try:
        if is_judge_file(file):
            load_judge_config(file)
        else:
            build_container(file)
    except ConfigurationError as error:
        faults = error.faults
    else:
        faults = ()
    if as_json:
        print_json([attrs.asdict(fault) for fault in faults])
    elif faults:
        for fault in faults:
            click.echo(str(fault), err=True)
    else:
        click.echo("ok")
    if faults:
        raise SystemExit(2)
