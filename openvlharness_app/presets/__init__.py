"""Ready configurations: commented YAML files that `openvlharness init` copies and the loader takes as they are."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

from openvlharness_app.faults import ConfigurationError, Fault, nearest, shown

if TYPE_CHECKING:
    from openvlharness_app.judge import JudgeSettings
    from openvlharness_app.settings import Settings

DEFAULT_PRESET = "embedded"
JUDGE_PRESET = "judge"
"""The one that is no agent's configuration."""
_PLACEHOLDER = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@functools.cache
def preset_names() -> tuple[str, ...]:
    """The names of all presets, in alphabetical order."""
    return tuple(
        sorted(file.name[: -len(".yaml")] for file in files(__name__).iterdir() if file.name.endswith(".yaml"))
    )


def agent_preset_names() -> tuple[str, ...]:
    """The names of those that configure an agent."""
    return tuple(name for name in preset_names() if name != JUDGE_PRESET)


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
        ConfigurationError: there is no such preset, it configures no agent, or a variable that it needs is not set.
    """
    from openvlharness_app.loading import settings_from_yaml

    text = preset_text(name)
    if name == JUDGE_PRESET:
        expected = f"one that configures an agent ({', '.join(agent_preset_names())})"
        raise ConfigurationError(
            [Fault(key="preset", expected=expected, got=f"{shown(name)}, which is for evaluation")]
        )
    return settings_from_yaml(text, environment, name=name)


def load_judge_preset(environment: Mapping[str, str] | None = None) -> JudgeSettings:
    """The judge that three variables name. Raises ConfigurationError: one of them is not set or does not fit."""
    from openvlharness_app.judge import judge_from_yaml

    return judge_from_yaml(preset_text(JUDGE_PRESET), environment, name=JUDGE_PRESET)


def preset_variables(name: str) -> tuple[str, ...]:
    """The variables that a preset needs, in the order in which it names them; comments do not count."""
    lines = (line.partition("#")[0] for line in preset_text(name).splitlines())
    return tuple(dict.fromkeys(found for line in lines for found in _PLACEHOLDER.findall(line)))


@functools.cache
def preset_gaps(name: str) -> tuple[Fault, ...]:
    """What an agent's preset selects and this version does not bring; such a preset loads and is refused when built."""
    from openvlharness_app.availability import unavailable

    if name == JUDGE_PRESET:
        return ()
    # Which variables hold addresses is known to the preset alone; an address also passes as a key and as a name.
    stand_ins = dict.fromkeys(preset_variables(name), "http://stand.in")
    return unavailable(load_preset(name, stand_ins))
