"""Opening an agent and closing what it opened: for asyncio, and for plain code in any thread."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar, cast

from dependency_injector.containers import DynamicContainer

from openvlharness_app.container import AgentContainer, build_container
from openvlharness_app.settings import Settings
from openvlharness_core import Cancellation, Checkpoint, Exchange, Finished, MainAgent, Question, Report
from openvlharness_core.agent.steps import Step

T = TypeVar("T")
Config = Settings | AgentContainer | str | os.PathLike[str] | Mapping[str, object]
"""Settings, a path, a mapping of the same shape, or a container in which adapters may have been swapped."""


def _container(config: Config) -> AgentContainer:
    if isinstance(config, DynamicContainer):  # what every declared container becomes when it is made
        return cast(AgentContainer, config)
    return build_container(config)


@asynccontextmanager
async def open_agent(config: Config) -> AsyncIterator[MainAgent]:
    """An agent for the running loop; its clients and workers are closed at the end.

    Raises:
        ConfigurationError: every fault of the configuration.
    """
    container = _container(config)
    try:
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
            self._wait(steps.aclose())

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result()
        except BaseException:  # an interrupt of the waiting thread must not leave the question running
            future.cancel()
            raise


@contextmanager
def open_agent_sync(config: Config) -> Iterator[SyncAgent]:
    """An agent for plain code; its loop, thread, clients and workers are gone at the end.

    Raises:
        ConfigurationError: every fault of the configuration.
    """
    container = _container(config)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_run_loop, args=(loop,), name="openvlharness-agent", daemon=True)
    thread.start()
    try:
        yield SyncAgent(container.agent(), loop)
    finally:
        asyncio.run_coroutine_threadsafe(_close(container), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()


async def _close(container: AgentContainer) -> None:
    """Let nothing live on: cancel what is still running on this loop, then close clients and workers."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await container.lifetime().close()
    await asyncio.get_running_loop().shutdown_asyncgens()
