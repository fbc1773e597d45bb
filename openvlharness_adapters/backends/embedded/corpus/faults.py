"""What can be wrong with a corpus before anybody searches in it."""

from __future__ import annotations

from openvlharness_core.errors import HarnessError


class CorpusError(HarnessError):
    """A path cannot be added, or an index cannot be read or written.

    Attributes:
        path: which.
        problem: what was expected and what was found.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem
