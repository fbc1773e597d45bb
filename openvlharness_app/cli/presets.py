"""`openvlharness presets`: the ready configurations."""

from __future__ import annotations

import click

from openvlharness_app.cli.options import print_json


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print names and first lines as JSON.")
def command(as_json: bool) -> None:
    """List the ready configurations and what each is for."""
    from openvlharness_app.presets import preset_names, preset_text

    rows = [{"name": name, "about": _about(preset_text(name))} for name in preset_names()]
    if as_json:
        print_json(rows)
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        click.echo(f"{row['name']:<{width}}  {row['about']}")


def _about(text: str) -> str:
    """The first sentence of the comment that a preset begins with."""
    comment = []
    for line in text.splitlines():
        if not line.startswith("#") or not line.lstrip("# "):
            break
        comment.append(line.lstrip("# "))
    return " ".join(comment)
