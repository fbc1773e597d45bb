"""Settings back to plain values, as a report folder keeps them: no secrets, and loading them again works."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from openvlharness_app.backend_settings import NOT_IN_FILE, ToolSettings
from openvlharness_app.placeholders import escape
from openvlharness_app.secret import Secret, SecretUrl
from openvlharness_app.settings import Settings

_HIDDEN_WORDS = ("key", "token", "secret", "password", "credential", "auth")


def settings_to_mapping(settings: Settings) -> dict[str, object]:
    """What `load_agent_config` takes again. Keys are empty, a gate has no password, defaults are written out."""
    return _section(settings)


def _section(section: attrs.AttrsInstance) -> dict[str, object]:
    written: dict[str, object] = {}
    for field in attrs.fields(type(section)):
        value = getattr(section, field.name)
        if not field.metadata.get(NOT_IN_FILE) and not (value is None and field.default is None):
            written[field.name] = _plain(value)
    if isinstance(section, ToolSettings):
        written |= {name: _without_secrets(entry) for name, entry in section.plugins.items()}
    return written


def _plain(value: Any) -> object:
    if attrs.has(type(value)):
        return _section(value)
    if isinstance(value, SecretUrl):
        return escape(value.public)
    if isinstance(value, Secret):
        return ""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return escape(value) if isinstance(value, str) else value


def _without_secrets(value: object) -> object:
    """An entry of a plug-in, whose keys nobody here knows: what is named like a secret is taken for one."""
    if isinstance(value, Mapping):
        return {
            name: ""
            if any(word in name.lower() for word in _HIDDEN_WORDS) and isinstance(item, str)
            else _without_secrets(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    return escape(value) if isinstance(value, str) else value
