"""Fakes of the code ports: one writes what it was told to, the other pretends to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from openvlharness_core.results import Answered, Attempt, Outcome
from openvlharness_core.usage import Spent


@attrs.define
class FakeCodeGenerator:
    """Writes the same program whatever the objective, and remembers what it was asked."""

    program: str = "print(1)"
    asked: list[tuple[str, Mapping[str, Mapping[str, object]]]] = attrs.field(factory=list, init=False)

    async def write(
        self,
        objective: str,
        descriptors: Mapping[str, Mapping[str, object]],
        attempts: Sequence[Attempt] = (),
        *,
        timeout_seconds: float,
    ) -> Answered[str]:
        """The program it was made with."""
        self.asked.append((objective, descriptors))
        usage = (Spent(role="coding", model="fake", usage={"completion_tokens": 5.0}),)
        return Answered(value=self.program, backend="fake_generator", usage=usage)


@attrs.define
class FakeCodeExecutor:
    """Runs nothing: returns the same outcome and remembers what it was given."""

    outcome: Outcome = attrs.field(factory=Outcome)
    ran: list[tuple[str, Mapping[str, object]]] = attrs.field(factory=list, init=False)

    async def run(self, program: str, values: Mapping[str, object], deadline_seconds: float | None = None) -> Outcome:
        """The outcome it was made with."""
        self.ran.append((program, values))
        return self.outcome
