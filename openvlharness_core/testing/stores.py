"""A report store in memory."""

from __future__ import annotations

import attrs

from openvlharness_core.agent.checkpoint import Checkpoint
from openvlharness_core.agent.report import Report
from openvlharness_core.errors import SavedFileError


@attrs.define
class InMemoryReportStore:
    """Keeps values by location; `history` has every checkpoint that was saved, oldest first."""

    reports: dict[str, Report] = attrs.field(factory=dict, init=False)
    history: dict[str, list[Checkpoint]] = attrs.field(factory=dict, init=False)

    async def save_report(self, report: Report, location: str) -> None:
        """Keep it."""
        self.reports[location] = report

    async def load_report(self, location: str) -> Report:
        """The one kept there."""
        if location not in self.reports:
            raise SavedFileError(location, "expected a report, found none")
        return self.reports[location]

    async def save_checkpoint(self, checkpoint: Checkpoint, location: str) -> None:
        """Keep it as the newest."""
        self.history.setdefault(location, []).append(checkpoint)

    async def load_checkpoint(self, location: str) -> Checkpoint:
        """The newest one kept there."""
        if not self.history.get(location):
            raise SavedFileError(location, "expected a checkpoint, found none")
        return self.history[location][-1]
