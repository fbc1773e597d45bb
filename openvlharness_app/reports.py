"""Saving and loading reports from plain code; inside a running loop the agent's report store does the same."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from openvlharness_app.settings import Settings
from openvlharness_core import Checkpoint, Report, SavedFileError

SETTINGS_FILE = "settings.json"
"""The settings that a question ran under, without keys, so that a replay needs nothing else."""
PROFILES_FILE = "profiles.json"
"""What the aliases in those settings stood for, so that a report says under which rules its model was asked."""


def save_report(report: Report, directory: str | os.PathLike[str], *, settings: Settings | None = None) -> None:
    """Write `report.json` with its pictures and arrays, and the settings and resolved profiles if given; all or nothing.

    Raises:
        SavedFileError: it cannot be written; what was there stays.
    """
    from openvlharness_adapters.files.report_store import write_report
    from openvlharness_app.resolved import resolved_profiles
    from openvlharness_app.settings_mapping import settings_to_mapping

    beside = {}
    if settings is not None:
        beside[SETTINGS_FILE] = _json(settings_to_mapping(settings))
        beside[PROFILES_FILE] = _json(resolved_profiles(settings))
    write_report(report, Path(directory), beside=beside, without=(SETTINGS_FILE, PROFILES_FILE))


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def load_report(location: str | os.PathLike[str]) -> Report:
    """Read a report back, from its directory or from its `report.json`.

    Raises:
        SavedFileError: none there, or not one of ours, naming file and place.
    """
    from openvlharness_adapters.files.report_store import read_report

    return read_report(Path(location))


def load_checkpoint(directory: str | os.PathLike[str]) -> Checkpoint:
    """Read the newest whole checkpoint of a directory back.

    Raises:
        SavedFileError: none there, or not one of ours.
    """
    from openvlharness_adapters.files.checkpoint_log import CheckpointLog

    return CheckpointLog(Path(directory)).load()


def find_settings(location: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The settings beside a report, if it was saved with them.

    Raises:
        SavedFileError: a file that is no JSON object.
    """
    place = Path(location)
    path = (place if place.is_dir() else place.parent) / SETTINGS_FILE
    try:
        mapping = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SavedFileError(str(path), f"expected a JSON object, got {type(error).__name__}") from None
    if not isinstance(mapping, dict):
        raise SavedFileError(str(path), f"expected a JSON object, got {type(mapping).__name__}")
    return mapping
