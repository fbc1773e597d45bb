"""Saving and loading reports from plain code; inside a running loop the agent's report store does the same."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openvlharness_app.settings import Settings
from openvlharness_core import Checkpoint, Report, SavedFileError

SETTINGS_FILE = "settings.json"
"""The settings that a question ran under, without keys, so that a replay needs nothing else."""
PROFILES_FILE = "profiles.json"
"""What every alias in those settings stood for; the report itself has the profile of its own model."""


def save_report(
    report: Report,
    directory: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    raw_trace: Mapping[str, bytes] | None = None,
) -> None:
    """Write `report.json` with its pictures and arrays, and what else is given; all or nothing.

    Args:
        report: what to save.
        directory: where.
        settings: lie beside it without keys, and the profiles that they name.
        raw_trace: the file that `raw_tracing.Recording.export` made; one of an earlier report goes in any case.

    Raises:
        SavedFileError: it cannot be written; what was there stays.
    """
    from openvlharness_adapters.files.raw_trace import RAW_TRACE, RAW_TRACE_ERROR
    from openvlharness_adapters.files.report_store import write_report
    from openvlharness_app.resolved import resolved_profiles
    from openvlharness_app.settings_mapping import settings_to_mapping

    beside = dict(raw_trace or {})
    if settings is not None:
        beside[SETTINGS_FILE] = _json(settings_to_mapping(settings))
        beside[PROFILES_FILE] = _json(resolved_profiles(settings))
    perhaps_left = (SETTINGS_FILE, PROFILES_FILE, RAW_TRACE, RAW_TRACE_ERROR)
    write_report(report, Path(directory), beside=beside, without=perhaps_left)


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
