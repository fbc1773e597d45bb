"""The time of one call, shared out among its steps."""

from __future__ import annotations

import attrs

from openvlharness_core.ports.clock import Clock


@attrs.frozen(kw_only=True)
class Remaining:
    """What is left of a call's time.

    Attributes:
        clock: whose seconds are counted.
        ends: when the time is over, by `clock.monotonic()`.
    """

    clock: Clock
    ends: float

    @classmethod
    def of(cls, clock: Clock, timeout_seconds: float) -> Remaining:
        """All of it, from now on."""
        return cls(clock=clock, ends=clock.monotonic() + timeout_seconds)

    def seconds(self, share: float = 1.0) -> float:
        """`share` of what is left, 0 or more; a step that may be done without leaves some for the way back."""
        return max(0.0, self.ends - self.clock.monotonic()) * share
