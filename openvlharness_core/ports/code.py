"""From an objective to a program, and from a program to what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from openvlharness_core.results import Answered, Attempt, Outcome


class CodeGenerator(Protocol):
    """Writes programs; called by the coding capability."""

    async def write(
        self,
        objective: str,
        descriptors: Mapping[str, Mapping[str, object]],
        attempts: Sequence[Attempt] = (),
        *,
        timeout_seconds: float,
    ) -> Answered[str]:
        """Return the source of a Python program for `objective`.

        `descriptors` maps each binding's name to what a code writer must know of it (type, shape, axis order, unit,
        format, picture); values are never seen here. `attempts` are earlier programs of the same call that failed.

        Raises:
            BackendError: no program, the adapter's own retries included.
            MalformedResultError: an answer without a program.
        """
        ...


class CodeExecutor(Protocol):
    """Runs programs in a disposable process; called by the coding capability, several at once."""

    async def run(self, program: str, values: Mapping[str, object], deadline_seconds: float | None = None) -> Outcome:
        """Run `program` with the entries of `values` as global variables and say what came of it.

        Values are ndarrays, numbers, strings, booleans, None, lists and dicts of those; the program gets copies it may
        write to. The deadline, by default the executor's own, covers start, execution, previews and collected
        pictures; when it passes, the whole process tree is gone before this returns. A program that fails is an
        outcome with an error, not an exception. Cancelling the task ends the program.

        Raises:
            BackendUnavailableError: no process could be started.
        """
        ...
