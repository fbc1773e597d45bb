"""`openvlharness presets`: the ready configurations."""

from __future__ import annotations

import click

from openvlharness_app.cli.options import print_json


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
def command(as_json: bool) -> None:
    """List the ready configurations: what each is for, the variables it needs, and what this version cannot build yet."""
    from openvlharness_app.presets import preset_gaps, preset_names, preset_text, preset_variables

    rows = [
        {
            "name": name,
            "about": _about(preset_text(name)),
            "variables": list(preset_variables(name)),
            "not_in_this_version": [f"{fault.key}: {fault.got}" for fault in preset_gaps(name)],
        }
        for name in preset_names()
    ]
    if as_json:
        print_json(rows)
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        click.echo(f"{row['name']:<{width}}  {row['about']}")
        for word, said in (("needs", row["variables"]), ("not in this version:", row["not_in_this_version"])):
            if said:
                click.echo(f"{'':<{width}}    {word} {', '.join(item.rpartition(': ')[2] for item in said)}")


def _about(text: str) -> str:
    """The first sentence of the comment that a preset begins with."""
    comment = []
    for line in text.splitlines():
        if not line.startswith("#") or not line.lstrip("# "):
            break
        comment.append(line.lstrip("# "))
    return " ".join(comment)
