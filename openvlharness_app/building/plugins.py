"""Backends of third parties, found through their entry points."""

from __future__ import annotations

from typing import Any

from openvlharness_app.backends import PACKAGED_BACKENDS, PACKAGED_REGISTRIES, load_plugin_registry
from openvlharness_app.faults import ConfigurationError, Fault
from openvlharness_app.settings import Settings


def selected_name(settings: Settings, capability: str, role: str = "backend") -> str | None:
    """The backend that the configuration selects for a capability; `None` if the capability is off."""
    choice = getattr(settings.capabilities.tools, capability)
    return None if choice is None else str(getattr(choice, role))


def find_plugin(settings: Settings, capability: str, role: str = "backend") -> Any:
    """The plug-in that the configuration selects for a capability; `None` if it selects a packaged backend.

    Raises:
        ConfigurationError: none of the listed registries has a backend of that name.
    """
    name = selected_name(settings, capability, role)
    if name is None or name in PACKAGED_BACKENDS:
        return None
    for registry in settings.capabilities.registries:
        backends = {} if registry in PACKAGED_REGISTRIES else load_plugin_registry(registry)
        if name in backends:
            return backends[name].build(settings.services.tools.plugins.get(name, {}))
    fault = Fault(key=f"capabilities.tools.{capability}.{role}", expected="an installed backend", got=name)
    raise ConfigurationError([fault])
