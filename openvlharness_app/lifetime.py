"""What has to be closed when an agent is no longer needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import attrs


@attrs.define(eq=False)
class Lifetime:
    """Collects how to close things while they are made, and closes them in reverse order."""

    _closers: list[Callable[[], Awaitable[None] | None]] = attrs.field(factory=list, init=False)

    def on_close(self, closer: Callable[[], Awaitable[None] | None]) -> None:
        """Have `closer` called at the end; it may be a coroutine function."""
        self._closers.append(closer)

    async def close(self) -> None:
        """Close everything once.

        Raises:
            ExceptionGroup: closers that failed; the others were called all the same.
        """
        failures = []
        while self._closers:
            try:
                waiting = self._closers.pop()()
                if waiting is not None:
                    await waiting
            except Exception as error:  # noqa: BLE001 - one that fails must not keep the others open
                failures.append(error)
        if failures:
            raise ExceptionGroup("closing an agent", failures)
