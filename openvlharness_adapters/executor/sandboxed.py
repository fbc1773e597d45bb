"""Running programs that are trusted with nothing but their values."""

from __future__ import annotations

import attrs

from openvlharness_adapters.executor.local import LocalExecutor
from openvlharness_adapters.executor.starting import Starting


@attrs.frozen(kw_only=True)
class SandboxedExecutor(LocalExecutor):
    """As `LocalExecutor`, but a program has no network, reads only what Python, numpy and Pillow need, and writes only its folder.

    Changing the permissions or times of a file does nothing and reports success, since libraries do so in passing.
    `run` raises `BackendUnavailableError` with the reason on a machine that cannot hold all of this.
    """

    @property
    def _starting(self) -> Starting:
        return Starting(backend="python_executor_sandboxed", sandboxed=True, kill_level=self.kill_level)
