"""OpenVLHarness, the application: configuration, wiring, command line.

Names are looked up when they are first used, so importing a part costs that part.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openvlharness_app.agent import SyncAgent, open_agent, open_agent_sync
    from openvlharness_app.container import AgentContainer, build_container
    from openvlharness_app.faults import ConfigurationError
    from openvlharness_app.inputs import image_input
    from openvlharness_app.loading import load_agent_config
    from openvlharness_app.presets import load_preset
    from openvlharness_app.reports import load_checkpoint, load_report, save_report
    from openvlharness_app.settings import Settings

_HOMES = {
    "AgentContainer": "container",
    "ConfigurationError": "faults",
    "Settings": "settings",
    "SyncAgent": "agent",
    "build_container": "container",
    "image_input": "inputs",
    "load_agent_config": "loading",
    "load_checkpoint": "reports",
    "load_preset": "presets",
    "load_report": "reports",
    "open_agent": "agent",
    "open_agent_sync": "agent",
    "save_report": "reports",
}

__all__ = [
    "AgentContainer",
    "ConfigurationError",
    "Settings",
    "SyncAgent",
    "build_container",
    "image_input",
    "load_agent_config",
    "load_checkpoint",
    "load_preset",
    "load_report",
    "open_agent",
    "open_agent_sync",
    "save_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
