"""`openvlharness init`: a configuration of one's own."""

from __future__ import annotations

from pathlib import Path

import click

from openvlharness_app.cli.options import fail


@click.command()
@click.argument("name")
@click.argument("file", required=False)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def command(name: str, file: str | None, force: bool) -> None:
    """Write the preset NAME with its comments to FILE (NAME.yaml if left out)."""
    from openvlharness_app.presets import preset_text
    from openvlharness_core import HarnessError

    try:
        text = preset_text(name)
    except HarnessError as error:
        fail(str(error))
    target = Path(file or f"{name}.yaml")
    try:
        with target.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        fail(f"{target}: expected no file there, found one; --force writes over it")
    except OSError as error:
        fail(f"{target}: cannot be written ({error.strerror})")
    click.echo(str(target))
