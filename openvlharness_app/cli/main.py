"""The entry points. A command's module is imported when the command is run, not when its name is listed."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import NoReturn

import click

_COMMANDS = {
    "ask": "Answer one question about pictures.",
    "tools": "List the tools that a model is offered.",
    "presets": "List the ready configurations.",
    "init": "Write a commented copy of a preset, to be changed.",
    "check": "Say everything that is wrong with a configuration.",
    "router": "Serve the tools of a configuration to agents elsewhere.",
    "serve": "Serve backends by themselves: the embedded ones, or one model.",
    "images": "Host the query pictures of searches by picture.",
    "corpus": "Index local documents and pictures for the embedded search.",
    "replay": "Feed a recorded report through today's engine and say what differs.",
}


class LazyGroup(click.Group):
    """Commands by name; each lives in `cli/<name>.py` as `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which a newcomer needs them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command now."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"openvlharness_app.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Names and short texts, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name when there is none such."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"openvlharness {version('openvlharness')}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
def cli() -> None:
    """Ask a multimodal model about pictures, with tools that really look.

    \b
    openvlharness ask receipt.jpg "What is the total?"
    openvlharness init openai_compatible        # then: ask --config openai_compatible.yaml ...
    """


def main(args: list[str] | None = None) -> None:
    """`openvlharness`."""
    _run(cli, "openvlharness", args)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def evaluation() -> None:
    """Measure agents on benchmarks. This version answers single questions only."""
    raise click.UsageError("this version brings no evaluation; `openvlharness ask` answers single questions")


def eval_main(args: list[str] | None = None) -> None:
    """`openvlharness-eval`."""
    _run(evaluation, "openvlharness-eval", args)


def _run(command: click.Command, name: str, args: list[str] | None) -> NoReturn:
    """Run a command and end the process with its code, at once: a worker thread that still decodes is not waited for."""
    import os
    import sys

    code: object = 0
    try:
        command.main(args=args, prog_name=name)
    except SystemExit as end:
        code = end.code
    except OSError as error:  # an output that cannot be written; everything else has been said by the command
        sys.stderr.write(f"Error: {error.strerror or error}\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code if isinstance(code, int) else int(code is not None))
