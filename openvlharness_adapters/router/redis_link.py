"""Redis as the routers share it: one connection for commands and one for wake-ups, each in a thread of its own.

The event loop never waits for Redis: it posts errands, which the command thread runs one after the other in the order in
which they were posted. The same thread has whoever keeps something in Redis look after it from time to time, so that a
busy event loop loses nothing. The other thread listens; what it hears is posted as an errand too, and nothing depends on
hearing everything: looking after one's own also finds what a lost wake-up would have told.

An errand that meets a broken connection is run once more on a new one, so every errand may be run twice. If that fails as
well, Redis is away: whatever is posted fails at once until a try, several a second, succeeds. Whoever keeps something is
then the first to speak, before any new errand.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Protocol

import attrs

from openvlharness_adapters.router.gates import GateUnavailableError

_RETRY_SECONDS = 0.25
_LONGEST_ANSWER_SECONDS = 1.0

_log = logging.getLogger("openvlharness.router")

Errand = Callable[[Any], None]
"""Gets the client; may be run twice."""
Refused = Callable[[GateUnavailableError], None]


class Keeper(Protocol):
    """Keeps something in Redis. All of it is called in the command thread."""

    def look_after(self, client: Any) -> float:
        """Renew what is kept, repair what was lost; in how many seconds to come again at the latest."""
        ...

    def woken(self, message: str) -> Errand | None:
        """What to do about a message of one's own channel; `None` for somebody else's message."""
        ...

    def left_alone(self, error: GateUnavailableError) -> None:
        """Redis is away; errands that had been run will be looked after when it is back."""
        ...


@attrs.frozen
class _Posted:
    run: Errand
    refused: Refused


class RedisLink:
    """See the module. Threads start with the first errand."""

    def __init__(self, url: str, *, shown: str, lease_seconds: float, prefix: str = "{openvlharness}") -> None:
        """A link that is not open yet.

        Args:
            url: `redis://` or `rediss://`, with user and password where needed.
            shown: the address as errors and logs name it, without either.
            lease_seconds: how long what this process keeps outlives its silence.
            prefix: of every key; the braces keep them in one slot of a cluster.

        Raises:
            ValueError: the address is none; its text is not in the message.
            ModuleNotFoundError: there is no Redis client here.
        """
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        patience = min(_LONGEST_ANSWER_SECONDS, lease_seconds / 3)
        unreadable = False
        try:
            # One each: a thread that gives its connection up must not cut the other's.
            self._client, self._ears = (
                redis.Redis.from_url(
                    url,
                    decode_responses=False,
                    protocol=2,
                    socket_timeout=patience,
                    socket_connect_timeout=patience,
                    socket_keepalive=True,
                    retry=Retry(NoBackoff(), 0),  # tried again here, where it is known what may be run twice
                )
                for _ in range(2)
            )
        except (ValueError, TypeError):
            unreadable = True
        if unreadable:  # raised here: what redis raises may quote the address
            raise ValueError(f"{shown}: expected an address such as redis://host:6379/0, with options that Redis knows")
        self._foreign = (redis.RedisError, OSError)
        self.name = uuid.uuid4().hex
        """Of this process among those that share Redis."""
        self.shown = shown
        self.lease_seconds = lease_seconds
        self.prefix = prefix
        self._patience = patience
        self._keepers: list[Keeper] = []
        self._errands: queue.SimpleQueue[_Posted | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._listening = threading.Event()
        self._closed = False
        self._away: GateUnavailableError | None = None
        self._due = 0.0

    @property
    def channel(self) -> str:
        """Where this process is woken."""
        return self.channel_of(self.name)

    def channel_of(self, name: str) -> str:
        """Where the process `name` is woken."""
        return f"{self.prefix}:wake:{name}"

    @property
    def closed(self) -> bool:
        """Whether this process keeps nothing any more."""
        return self._closed

    @property
    def away(self) -> GateUnavailableError | None:
        """Why Redis cannot be reached, as far as is known."""
        return self._away

    def script(self, text: str) -> Any:
        """A Lua script that runs with the client that an errand gets."""
        return self._client.register_script(text)

    def keep(self, keeper: Keeper) -> None:
        """Have `keeper` called from now on."""
        self._keepers.append(keeper)

    def post(self, run: Errand, refused: Refused) -> None:
        """Have `run` called in the command thread, or `refused`, there or here, while Redis is away."""
        if self._closed:
            refused(GateUnavailableError(f"{self.shown}: the server ended"))
        elif (away := self._away) is not None:
            refused(away)
        else:
            self._start()
            self._errands.put(_Posted(run, refused))

    def close(self) -> None:
        """Run what was posted, look after what is kept a last time, and end both threads."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            threads = list(self._threads)
        self._errands.put(None)
        for thread in threads:
            thread.join(3 * self._patience)
        self._client.close()
        self._ears.close()

    def _start(self) -> None:
        with self._lock:
            if self._threads or self._closed:
                return
            for target in (self._listen, self._work):
                self._threads.append(threading.Thread(target=target, name="openvlharness-redis", daemon=True))
            for thread in self._threads:
                thread.start()

    # --- the command thread --------------------------------------------------------------------------------------

    def _work(self) -> None:
        self._listening.wait(self._patience)  # whoever is heard by nobody would be passed over
        while True:
            try:
                posted = self._errands.get(timeout=max(0.0, self._due - time.monotonic()))
            except queue.Empty:
                self._look_after()
                continue
            if posted is None:
                break
            if self._away is not None:
                posted.refused(self._away)
            elif (error := self._tried(posted.run)) is not None:
                posted.refused(error)
                self._gone(error)
            if time.monotonic() >= self._due:  # errands without end must not keep leases from being renewed
                self._look_after()
        if self._away is None:
            self._look_after()
            self._tried(lambda client: client.publish(self.channel, b""))

    def _tried(self, run: Errand) -> GateUnavailableError | None:
        """Why it failed twice; `None` when it did not."""
        for again in (True, False):
            try:
                run(self._client)
            except self._foreign as error:
                self._client.connection_pool.disconnect()
                if not again:
                    return GateUnavailableError(f"{self.shown}: Redis cannot be used ({type(error).__name__})")
            except Exception:  # noqa: BLE001 - whatever it is, leases must go on being renewed
                _log.exception("a bug in what is kept in Redis")
                return GateUnavailableError(f"{self.shown}: what Redis said could not be used")
            else:
                return None
        raise AssertionError("a second failure returns")

    def _look_after(self) -> None:
        soonest = self.lease_seconds / 3

        def renew(client: Any) -> None:
            nonlocal soonest
            client.ping()
            for keeper in self._keepers:
                soonest = min(soonest, keeper.look_after(client))

        error = self._tried(renew)
        if error is not None:
            self._gone(error)
            return
        if self._away is not None:
            _log.warning("%s: Redis is back", self.shown)
        self._away = None
        self._due = time.monotonic() + soonest

    def _gone(self, error: GateUnavailableError) -> None:
        first, self._away = self._away is None, error
        self._due = time.monotonic() + _RETRY_SECONDS
        if first:
            _log.warning("%s; running calls go on", error)
            for keeper in self._keepers:
                keeper.left_alone(error)

    def hurry(self, seconds: float) -> None:
        """From an errand: look after everything in `seconds` at the latest."""
        self._due = min(self._due, time.monotonic() + seconds)

    # --- the listening thread ------------------------------------------------------------------------------------

    def _listen(self) -> None:
        while not self._closed:
            ears = self._ears.pubsub()  # type: ignore[no-untyped-call]  # redis leaves this one untyped
            try:
                ears.subscribe(self.channel)
                while not self._closed:
                    message = ears.get_message(timeout=1.0)
                    if message is None:
                        continue
                    if message["type"] == "subscribe":
                        if not self._listening.is_set():
                            self._listening.set()
                        else:  # what was said in between, nobody heard
                            self._errands.put(_Posted(lambda _: self.hurry(0.0), _ignore))
                    elif message["type"] == "message":
                        self._heard(message["data"].decode())
            except self._foreign:
                time.sleep(_RETRY_SECONDS)  # the command thread says that Redis is away
            finally:
                ears.close()

    def _heard(self, message: str) -> None:
        for keeper in self._keepers:
            if (errand := keeper.woken(message)) is not None:
                self._errands.put(_Posted(errand, _ignore))


def _ignore(_: GateUnavailableError) -> None:
    """For errands that are made up for when Redis is back."""
