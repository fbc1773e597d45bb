"""Opening an agent and closing what it opened: for asyncio, and for plain code in any thread."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar, cast

from dependency_injector.containers import DynamicContainer

from openvlharness_app.container import AgentContainer, build_container
from openvlharness_app.settings import Settings
from openvlharness_core import Cancellation, Checkpoint, Exchange, Finished, HarnessError, MainAgent, Question, Report
from openvlharness_core.agent.steps import Step
from openvlharness_core.waiting import GRACE_SECONDS

T = TypeVar("T")
Source = Settings | str | os.PathLike[str] | Mapping[str, object]
Config = Source | AgentContainer
"""Settings, a path, a mapping of the same shape, or a container in which adapters may have been swapped."""


class ContainerInUseError(HarnessError):
    """A container was opened a second time while the first agent still uses what it holds."""


_in_use: set[int] = set()


@contextmanager
def _opened(config: Config) -> Iterator[AgentContainer]:
    """The container, for one agent at a time: clients and workers belong to one loop and one lifetime.

    When it is closed, everything it made is forgotten and overrides stay, so that it can be opened again.
    """
    made = isinstance(config, DynamicContainer)  # what every declared container becomes when it is made
    container = cast(AgentContainer, config) if made else build_container(cast(Source, config))
    if id(container) in _in_use:
        raise ContainerInUseError("this container has an open agent; build a container for each, or share the agent")
    _in_use.add(id(container))
    try:
        yield container
    finally:
        container.reset_singletons()
        _in_use.discard(id(container))


@asynccontextmanager
async def open_agent(config: Config) -> AsyncIterator[MainAgent]:
    """An agent for the running loop; its clients and workers are closed at the end.

    Raises:
        ConfigurationError: every fault of the configuration.
        ContainerInUseError: the container has an open agent.
    """
    with _opened(config) as container:
        try:
            await container.offload().run(container.token_counter)  # a tokenizer may take a while, and the loop may not
            yield container.agent()
        finally:
            await container.lifetime().close()


class SyncAgent:
    """An agent for plain code.

    It lives on a loop of its own in a thread of its own, so that it may be used from any thread, from inside a running
    loop, and after other loops were closed; no client is shared between loops.
    """

    def __init__(self, agent: MainAgent, loop: asyncio.AbstractEventLoop) -> None:
        self._agent = agent
        self._loop = loop

    def answer(
        self,
        question: Question,
        *,
        task_id: str | None = None,
        history: Iterable[Exchange] = (),
        cancellation: Cancellation | None = None,
        checkpoint_to: str | None = None,
    ) -> Report:
        """Answer one question; see `MainAgent.answer`."""
        return self._wait(
            self._agent.answer(
                question, task_id=task_id, history=history, cancellation=cancellation, checkpoint_to=checkpoint_to
            )
        )

    def resume(
        self, checkpoint: Checkpoint, *, cancellation: Cancellation | None = None, checkpoint_to: str | None = None
    ) -> Report:
        """Continue a question; see `MainAgent.resume`."""
        return self._wait(self._agent.resume(checkpoint, cancellation=cancellation, checkpoint_to=checkpoint_to))

    def stream(
        self,
        question: Question,
        *,
        task_id: str | None = None,
        history: Iterable[Exchange] = (),
        cancellation: Cancellation | None = None,
        checkpoint_to: str | None = None,
    ) -> Iterator[Step | Finished]:
        """Yield the steps of one question as they happen; see `MainAgent.stream`."""
        steps = self._agent.stream(
            question, task_id=task_id, history=history, cancellation=cancellation, checkpoint_to=checkpoint_to
        )
        try:
            while True:
                try:
                    yield self._wait(anext(steps))
                except StopAsyncIteration:
                    return
        finally:
            if not self._loop.is_closed():
                self._wait(steps.aclose())

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed():
            call.close()
            raise RuntimeError("this agent has been closed; open another one")
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result()
        except BaseException:  # an interrupt of the waiting thread must not leave the question running
            future.cancel()
            raise


@contextmanager
def open_agent_sync(config: Config) -> Iterator[SyncAgent]:
    """An agent for plain code; its loop, thread, clients and workers are gone at the end.

    One that is never closed is closed when the interpreter exits. A port call that ignores being cancelled is left
    behind after a second.

    Raises:
        ConfigurationError: every fault of the configuration.
        ContainerInUseError: the container has an open agent.
    """
    with _opened(config) as container:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=_run_loop, args=(loop,), name="openvlharness-agent", daemon=True)
        thread.start()

        def close() -> None:
            atexit.unregister(close)
            if loop.is_closed() or not thread.is_alive():
                return
            asyncio.run_coroutine_threadsafe(_close(container), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

        atexit.register(close)  # while the daemon thread still runs; later its loop would be waited for in vain
        try:
            yield SyncAgent(container.agent(), loop)
        finally:
            close()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()


async def _close(container: AgentContainer) -> None:
    """Let nothing live on: cancel what is still running on this loop, then close clients and workers."""
    loop = asyncio.get_running_loop()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        _, stuck = await asyncio.wait(others, timeout=GRACE_SECONDS)
        if stuck:  # nothing is to complain of tasks that were pending when their loop went
            loop.set_exception_handler(lambda _, __: None)
    await container.lifetime().close()
    await loop.shutdown_asyncgens()
