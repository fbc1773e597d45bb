"""Reports and checkpoints that outlive the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from openvlharness_core.agent.checkpoint import Checkpoint
    from openvlharness_core.agent.report import Report


class ReportStore(Protocol):
    """Saves and loads; `location` is a directory for the file store, a name for one in memory."""

    async def save_report(self, report: Report, location: str) -> None:
        """Write the report, its pictures and its arrays; readers see the old one or the new one, never half.

        Raises:
            SavedFileError: it cannot be written; what was there stays.
        """
        ...

    async def load_report(self, location: str) -> Report:
        """Read a saved report back.

        Raises:
            SavedFileError: none there, or not one of ours, naming the file and the place in it.
        """
        ...

    async def save_checkpoint(self, checkpoint: Checkpoint, location: str) -> None:
        """Make `checkpoint` the one that `load_checkpoint` returns, also if the process dies at any instant.

        Called after every event of one question; costs what is new since the last call, and each picture is written
        once.

        Raises:
            SavedFileError: it cannot be written; the one before stays.
        """
        ...

    async def load_checkpoint(self, location: str) -> Checkpoint:
        """Read the newest whole checkpoint back.

        Raises:
            SavedFileError: none there, or not one of ours.
        """
        ...
