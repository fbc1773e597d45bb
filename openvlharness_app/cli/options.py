"""What several commands share: choosing a configuration, and saying what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

if TYPE_CHECKING:
    from openvlharness_app.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


def configuration_options(command: F) -> F:
    """`--config FILE` and `--preset NAME`."""
    command = click.option("--preset", metavar="NAME", help="A ready configuration; see `openvlharness presets`.")(
        command
    )
    return click.option("--config", metavar="FILE", help="A configuration file of yours.")(command)


def chosen_settings(config: str | None, preset: str | None) -> Settings:
    """The settings that the two options choose; the embedded preset by default.

    Raises:
        ConfigurationError: every fault.
        click.UsageError: both were given.
    """
    from openvlharness_app.loading import load_agent_config
    from openvlharness_app.presets import DEFAULT_PRESET, load_preset

    if config is not None and preset is not None:
        raise click.UsageError("--config and --preset exclude each other")
    return load_agent_config(config) if config is not None else load_preset(preset or DEFAULT_PRESET)


def fail(message: str, code: int = 2) -> NoReturn:
    """Say what is wrong on stderr and end with `code`."""
    for line in message.splitlines():
        click.echo(f"Error: {line}", err=True)
    raise SystemExit(code)


def print_json(value: object) -> None:
    """One JSON document on stdout, readable; never a byte that is not UTF-8."""
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
