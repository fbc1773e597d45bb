"""Watching a question while it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from openvlharness_core.agent.protocol import Effect, Event


class Tracer(Protocol):
    """Sees every event and effect of every question as it happens; quick, and it never raises."""

    def event(self, question_id: str, event: Event) -> None:
        """An event is about to be given to the engine."""
        ...

    def effect(self, question_id: str, effect: Effect) -> None:
        """An effect is about to be performed."""
        ...

    def note(self, question_id: str, kind: str, text: str) -> None:
        """Something worth telling beside events: a wait before a retry, a corrected type, a traceback of a tool."""
        ...
