"""What becomes of calls that do not fit, and of a device that is lost."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_adapters.servers.faults import device_is_lost, is_out_of_memory
from openvlharness_adapters.servers.host import ModelHost
from openvlharness_adapters.wire.failures import OutOfMemoryError, error_of, failure_of
from openvlharness_core.errors import BackendUnavailableError, ToolExecutionError
from openvlharness_core.testing.time import InlineOffload


class TorchOutOfMemory(RuntimeError):
    """Named and derived as torch's own, which a machine without torch does not have."""


TorchOutOfMemory.__name__ = "OutOfMemoryError"

CARD = TorchOutOfMemory("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 47.5 GiB")
MAIN = RuntimeError(
    "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 400000000000 bytes"
)
FULL = [CARD, MAIN, MemoryError("Unable to allocate 37.3 GiB"), RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED")]
OTHER = [RuntimeError("mat1 and mat2 shapes cannot be multiplied"), ValueError("out of memory"), KeyError("memory")]


class Tensor:
    """Something whose end can be watched."""


def _host(released: list[int]) -> ModelHost[str]:
    return ModelHost(name="sam3", model="model", offload=InlineOffload(), release=lambda: released.append(1))


@pytest.mark.parametrize("error", FULL, ids=["card", "main", "numpy", "cublas"])
async def test_a_call_that_does_not_fit_says_so_and_leaves_nothing_behind(error: Exception) -> None:
    released: list[int] = []
    watched: list[weakref.ref[Tensor]] = []

    def forward(model: str) -> None:
        tensor = Tensor()
        watched.append(weakref.ref(tensor))
        try:
            raise ValueError("an inner one")
        except ValueError:
            raise error from None

    host = _host(released)
    gc.disable()  # it must go by itself, not with the next collection
    try:
        with pytest.raises(OutOfMemoryError) as caught:
            await host.run(forward)
        error.__traceback__ = None  # this test's own hold on the frames
        error.__context__ = None
        assert watched[0]() is None
    finally:
        gc.enable()
    assert released == [1]
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert host.lost is None
    assert await host.run(str.upper) == "MODEL", "the next call is served"


def test_the_failure_is_a_507_that_callers_read_as_a_failed_tool() -> None:
    failure = failure_of(OutOfMemoryError("out of memory: 2 GiB"))
    assert (failure.status, failure.code) == (507, "out_of_memory")
    assert set(failure.to_wire()) >= {"code", "message"}
    error = error_of(failure, "sam3_segment")
    assert isinstance(error, ToolExecutionError)
    assert failure_of(error).status == 500
    assert failure_of(error).code == "tool_execution_error"


@pytest.mark.parametrize("error", OTHER, ids=["shapes", "value", "key"])
async def test_other_errors_stay_what_they_are(error: Exception) -> None:
    released: list[int] = []

    def forward(model: str) -> None:
        raise error

    with pytest.raises(type(error)):
        await _host(released).run(forward)
    assert released == []
    assert not is_out_of_memory(error)
    assert not device_is_lost(error)


async def test_a_lost_device_is_said_from_then_on() -> None:
    def forward(model: str) -> None:
        raise RuntimeError("CUDA error: device-side assert triggered\nCompile with TORCH_USE_CUDA_DSA")

    host = _host([])
    assert await host.check() is None
    with pytest.raises(BackendUnavailableError, match="needs a new process"):
        await host.run(forward)
    with pytest.raises(BackendUnavailableError, match="needs a new process"):
        await host.run(str.upper)
    assert "device-side assert" in (await host.check() or "")


async def test_two_calls_never_work_at_once() -> None:
    import asyncio

    offload = ThreadOffload(threads=1)
    host = ModelHost(name="sam3", model=threading.Lock(), offload=offload, release=lambda: None)
    begun = threading.Event()

    def forward(alone: threading.Lock) -> bool:
        if not alone.acquire(blocking=False):
            return False
        begun.set()
        begun.wait()
        alone.release()
        return True

    work: Callable[[threading.Lock], bool] = forward
    assert await asyncio.gather(*(host.run(work) for _ in range(8))) == [True] * 8
    offload.close()
