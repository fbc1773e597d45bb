"""Running programs in disposable processes of this machine, with the rights of whoever calls.

Each run has a thread of its own here, which starts the init of the run and waits for its report, so an event loop only
ever waits for a future: any loop, any thread, as many at once as the caller likes.
"""

from __future__ import annotations

import asyncio
import functools
import math
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

import attrs

from openvlharness_adapters.executor import wire
from openvlharness_adapters.executor.run import Run
from openvlharness_adapters.executor.starting import Starting
from openvlharness_core.errors import BackendUnavailableError
from openvlharness_core.results import Outcome

BACKEND = "python_executor_local"


def _positive_integer(_: object, field: attrs.Attribute[int], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{field.name}: expected an integer above 0, got {value!r}")


def _positive_seconds(_: object, field: attrs.Attribute[float], value: object) -> None:
    _checked_seconds(field.name, value)


def _checked_seconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{name}: expected seconds above 0, got {value!r}")
    return float(value)


@attrs.frozen(kw_only=True)
class LocalExecutor:
    """Runs each program in a process tree of its own, with an empty working directory and without this environment.

    What a program may do is what this user may do; the limits keep a faulty one from taking the machine down.

    Attributes:
        timeout_seconds: deadline of a run that brings none.
        memory_bytes: address space of each process.
        file_bytes: size of each file it writes.
        processes: processes and threads of one run.
        kill_level: what must hold a run's processes, and is used; `None` takes the firmest that this machine offers.
    """

    timeout_seconds: float = attrs.field(default=30.0, validator=_positive_seconds)
    memory_bytes: int = attrs.field(default=4 * 1024**3, validator=_positive_integer)
    file_bytes: int = attrs.field(default=256 * 1024**2, validator=_positive_integer)
    processes: int = attrs.field(default=301, validator=_positive_integer)
    kill_level: wire.KillLevel | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.in_(wire.KILL_LEVELS))
    )

    @property
    def _starting(self) -> Starting:
        return Starting(backend=BACKEND, kill_level=self.kill_level)

    async def run(self, program: str, values: Mapping[str, object], deadline_seconds: float | None = None) -> Outcome:
        """Run `program` with the entries of `values` as global variables and say what came of it.

        Arrays, lists and dicts arrive as copies of the program's own. When the task is cancelled, the process tree is
        gone before `CancelledError` goes on.

        Raises:
            BackendUnavailableError: no process could be started.
            ValueError: a deadline that is no time, a name that is no identifier, values nested too deep.
            TypeError: a value that no program can be given.
        """
        started = time.monotonic()
        seconds = _checked_seconds(
            "deadline_seconds", self.timeout_seconds if deadline_seconds is None else deadline_seconds
        )
        limits = wire.Limits(self.memory_bytes, self.file_bytes, self.processes)
        starting = self._starting
        try:
            run = Run(
                program=program, values=values, started=started, seconds=seconds, limits=limits, starting=starting
            )
        except OSError as fault:
            raise BackendUnavailableError(starting.backend, f"no pipe to a process: {fault}") from fault
        return await _in_thread(run)


async def _in_thread(run: Run) -> Outcome:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Outcome] = loop.create_future()

    def work() -> None:
        try:
            outcome = run.execute()
        except BaseException as fault:  # noqa: BLE001  raised in the task that waits
            settle = functools.partial(_settle, done, None, fault)
        else:
            settle = functools.partial(_settle, done, outcome, None)
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(settle)

    try:
        threading.Thread(target=work, name=run.backend, daemon=True).start()
    except RuntimeError as fault:
        run.close()
        raise BackendUnavailableError(run.backend, f"no thread to wait in: {fault}") from fault
    try:
        await asyncio.wait((done,))
    except asyncio.CancelledError:
        run.stop()
        while not done.done():  # a second cancelling does not make the processes go any sooner
            with suppress(asyncio.CancelledError):
                await asyncio.wait((done,))
        done.exception()
        raise
    except BaseException:  # the coroutine is closed without its loop
        run.stop()
        done.cancel()
        raise
    return done.result()


def _settle(done: asyncio.Future[Outcome], outcome: Outcome | None, fault: BaseException | None) -> None:
    if done.done():
        return
    if outcome is not None:
        done.set_result(outcome)
    else:
        done.set_exception(fault or RuntimeError("a run ended without an outcome"))
