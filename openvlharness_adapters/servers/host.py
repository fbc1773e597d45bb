"""One model and the one thread that it works in; what becomes of calls that its device cannot hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

from openvlharness_adapters.router.readiness import Check
from openvlharness_adapters.servers.faults import device_is_lost, is_out_of_memory
from openvlharness_adapters.wire.failures import OutOfMemoryError
from openvlharness_core.errors import BackendUnavailableError
from openvlharness_core.ports.offload import Offload
from openvlharness_core.texts import excerpt

M = TypeVar("M")
T = TypeVar("T")

_SHOWN_LETTERS = 300


@attrs.define(kw_only=True, eq=False)
class ModelHost(Generic[M]):
    """Lets calls use a model, one at a time.

    Attributes:
        name: of the server, in errors.
        model: loaded, and used by nobody else.
        offload: a thread that works for this host alone; its queue is what keeps calls apart.
        release: gives memory back that the device holds for nobody.
        lost: why the device can do nothing more until the process starts anew; `None` while all is well.
    """

    name: str
    model: M
    offload: Offload
    release: Callable[[], None]
    lost: str | None = attrs.field(default=None, init=False)

    async def run(self, call: Callable[[M], T]) -> T:
        """What `call` makes of the model.

        Raises:
            OutOfMemoryError: it did not fit; nothing of the failed call is kept, and the next may well fit.
            BackendUnavailableError: the device was lost, now or before.
        """
        return await self.offload.run(lambda: self._guarded(call))

    async def check(self) -> str | None:
        """Why the model cannot be used, for `/ready`."""
        return self.lost

    @property
    def checks(self) -> dict[str, Check]:
        return {self.name: self.check}

    def _guarded(self, call: Callable[[M], T]) -> T:
        if self.lost is not None:
            raise BackendUnavailableError(self.name, self.lost)
        try:
            return call(self.model)
        except Exception as error:
            full = is_out_of_memory(error)
            if not full and not device_is_lost(error):
                raise
            said = excerpt(str(error).strip() or type(error).__name__, _SHOWN_LETTERS)
        # Out here: as long as the error is being handled, its traceback keeps the frames that hold the call's tensors.
        if not full:
            self.lost = f"the device failed and needs a new process: {said}"
            raise BackendUnavailableError(self.name, self.lost)
        self.release()
        raise OutOfMemoryError(f"out of memory: {said}")
