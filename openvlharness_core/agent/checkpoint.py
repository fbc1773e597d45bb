"""A question in progress as a value that can be saved and continued elsewhere."""

from __future__ import annotations

import attrs

from openvlharness_core.agent.state import Phase, TurnState


@attrs.frozen(kw_only=True)
class Checkpoint:
    """The state after some event. Continuing it sends the very bytes that the first process would have sent.

    Attributes:
        state: where the question stands.
        seconds: how long it had taken by then; a deadline goes on counting from there.
    """

    state: TurnState
    seconds: float = 0.0

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do but to report."""
        return self.state.phase is Phase.DONE
