"""Ready configurations: commented YAML files that `openvlharness init` copies and the loader takes as they are."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

from openvlharness_app.faults import ConfigurationError, Fault, nearest, shown

if TYPE_CHECKING:
    from openvlharness_app.settings import Settings

DEFAULT_PRESET = "embedded"


@functools.cache
def preset_names() -> tuple[str, ...]:
    """The names of all presets, in alphabetical order."""
    return tuple(
        sorted(file.name[: -len(".yaml")] for file in files(__name__).iterdir() if file.name.endswith(".yaml"))
    )


def preset_text(name: str) -> str:
    """The commented YAML of a preset.

    Raises:
        ConfigurationError: there is no such preset; the nearest name is said.
    """
    if name not in preset_names():
        expected = f"one of {', '.join(preset_names())}"
        hint = nearest(name, preset_names())
        raise ConfigurationError([Fault(key="preset", expected=expected, got=shown(name), suggestion=hint)])
    return (files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")


def load_preset(name: str, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of a preset, its placeholders filled from `environment` or else from the process.

    Raises:
        ConfigurationError: there is no such preset, or a variable that it needs is not set.
    """
    from openvlharness_app.loading import settings_from_yaml

    return settings_from_yaml(preset_text(name), environment, name=name)
