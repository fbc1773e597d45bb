"""A Chat Completions server that plays a script on loopback and is as strict as the strictest real one.

::

    async with ChatServer([calls(("zoom", {"x": 1})), says("<answer>2</answer>")]) as server:
        ...                                  # server.base_url, server.requests
    server.assert_spent()

    with ChatServer(script).in_thread() as server: ...      # for code that has a loop of its own

A script is a list of steps, or a function (plain or async) from a `Recorded` request to a step. Steps that answer:
`says`, `calls`, `reply` (payload by hand), `Respond` (any status and bytes). Steps that misbehave: `Reset` (after some
raw bytes), `Hang` (likewise; `server.hanging` tells how many hang). A request with `stream: true` gets the same payload
as events.

With `strict` (the default) a request that breaks a rule of `chat_rules` is answered with 400, takes no step, and fails
`assert_spent`; `prefix=False` leaves out the rule on prompt prefixes, for conversations that are compacted,
and `alternate=True` adds that users take turns with others.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import attrs

from openvlharness_core.messages import ModelReply
from tests.support.chat_rules import faults_of, prefix_fault

PATH = "/v1/chat/completions"
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@attrs.frozen(kw_only=True)
class Recorded:
    """One request as it came."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)

    @property
    def json(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


@attrs.frozen
class Respond:
    """Any status, body and headers; an error object is made of a `message`."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = attrs.field(factory=dict)

    @classmethod
    def error(cls, status: int, message: str, headers: Mapping[str, str] | None = None, **fields: object) -> Respond:
        return cls(status, json.dumps({"error": {"message": message, **fields}}).encode(), headers or {})


@attrs.frozen
class Completion:
    """A payload of a chat completion; sent as events when the request asks for them."""

    payload: Mapping[str, Any]


@attrs.frozen
class Reset:
    """The connection is reset, after these raw bytes."""

    after: bytes = b""


@attrs.frozen
class Hang:
    """Nothing more comes, after these raw bytes, until the client leaves."""

    after: bytes = b""


Step = Respond | Completion | Reset | Hang
Script = Sequence[Step] | Callable[[Recorded], Step | Awaitable[Step]]


def reply(message: Mapping[str, Any], finish_reason: str | None = "stop", **fields: Any) -> Completion:
    """A completion around a message; `fields` go to the top level."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return Completion({"id": "c", "object": "chat.completion", "choices": [choice], "usage": USAGE, **fields})


def says(text: str | None, finish_reason: str = "stop", **message: Any) -> Completion:
    """A completion of text; `message` adds fields to the message."""
    return reply({"content": text, **message}, finish_reason)


def calls(
    *wanted: tuple[str, Any], text: str | None = None, ids: Sequence[str] | None = None, **message: Any
) -> Completion:
    """A completion with calls: pairs of tool name and arguments (an object, or the raw text)."""
    made = [
        {
            "id": ids[n] if ids is not None else f"call_{n}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for n, (name, given) in enumerate(wanted)
    ]
    return reply({"content": text, "tool_calls": made, **message}, "tool_calls")


def reply_to_payload(said: ModelReply) -> dict[str, Any]:
    """The payload of which an adapter should make this reply."""
    message: dict[str, Any] = {"role": "assistant", "content": said.text, **json.loads(said.extras)}
    if said.reasoning is not None:
        message["reasoning" if "reasoning_content" in message else "reasoning_content"] = said.reasoning
    if said.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for call in said.calls
        ]
    usage: dict[str, Any] = {}
    for dotted, number in said.usage.items():
        *path, last = dotted.split(".")
        inner = usage
        for key in path:
            inner = inner.setdefault(key, {})
        inner[last] = number
    payload: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": said.finish_reason}]}
    return payload | ({"usage": usage} if usage else {}) | ({"model": said.model} if said.model else {})


def as_events(payload: Mapping[str, Any], letters: int = 5) -> bytes:
    """The same completion as an event stream: texts and arguments in pieces, usage in a chunk of its own."""
    chunks: list[dict[str, Any]] = []
    top = {"id": "c", "object": "chat.completion.chunk"} | ({"model": payload["model"]} if "model" in payload else {})

    def chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> None:
        chunks.append({**top, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})

    choice = payload["choices"][0]
    message = dict(choice["message"])
    chunk({"role": message.pop("role", "assistant"), "content": ""})
    for index, call in enumerate(message.pop("tool_calls", None) or []):
        function = call["function"]
        begun = {
            "index": index,
            "id": call["id"],
            "type": "function",
            "function": {"name": function["name"], "arguments": ""},
        }
        chunk({"tool_calls": [begun]})
        for piece in _pieces(function["arguments"], letters):
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    for name, value in message.items():
        if isinstance(value, str):
            for piece in _pieces(value, letters):
                chunk({name: piece})
        elif value is not None:
            chunk({name: value})
    chunk({}, choice.get("finish_reason"))
    if payload.get("usage") is not None:
        chunks.append({**top, "choices": [], "usage": payload["usage"]})
    return b"".join(b"data: " + json.dumps(c).encode() + b"\n\n" for c in chunks) + b"data: [DONE]\n\n"


def _pieces(text: str, letters: int) -> list[str]:
    return [text[n : n + letters] for n in range(0, len(text), letters)] or [""]


@attrs.define(eq=False)
class ChatServer:
    """See the module. One instance serves one `with` block.

    Attributes:
        requests: everything that came, in order.
        violations: what strict mode objected to.
        hanging: requests that a `Hang` step holds now.
        connections: connections accepted.
        departed: requests whose client left before they were answered.
    """

    path: ClassVar[str] = PATH
    conversation: ClassVar[str] = "messages"

    script: Script
    strict: bool = attrs.field(default=True, kw_only=True)
    prefix: bool = attrs.field(default=True, kw_only=True)
    alternate: bool = attrs.field(default=False, kw_only=True)
    host: str = attrs.field(default="127.0.0.1", kw_only=True)
    requests: list[Recorded] = attrs.field(factory=list, init=False)
    violations: list[str] = attrs.field(factory=list, init=False)
    hanging: int = attrs.field(default=0, init=False)
    connections: int = attrs.field(default=0, init=False)
    departed: int = attrs.field(default=0, init=False)
    port: int = attrs.field(default=0, init=False)
    _played: int = attrs.field(default=0, init=False)
    _last: dict[str, bytes] = attrs.field(factory=dict, init=False, repr=False)
    _server: asyncio.Server | None = attrs.field(default=None, init=False, repr=False)
    _tasks: set[asyncio.Task[None]] = attrs.field(factory=set, init=False, repr=False)
    _changed: asyncio.Event = attrs.field(factory=asyncio.Event, init=False, repr=False)

    @property
    def base_url(self) -> str:
        """The service root."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def endpoint(self) -> str:
        return self.base_url + self.path

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, self.host, 0, limit=2**20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @contextlib.contextmanager
    def in_thread(self) -> Iterator[ChatServer]:
        """Serve from a thread with a loop of its own."""
        started, loop = threading.Event(), asyncio.new_event_loop()

        def run() -> None:
            stop = asyncio.Event()
            self._stop = lambda: loop.call_soon_threadsafe(stop.set)

            async def serve() -> None:
                async with self:
                    started.set()
                    await stop.wait()

            try:
                loop.run_until_complete(serve())
            finally:
                started.set()
                loop.close()

        thread = threading.Thread(target=run, name="chat-server", daemon=True)
        thread.start()
        started.wait()
        try:
            yield self
        finally:
            self._stop()
            thread.join()

    _stop: Callable[[], object] = attrs.field(default=lambda: None, init=False, repr=False)

    def assert_spent(self) -> None:
        """Nothing broke a rule, and every step of a list was played."""
        assert not self.violations, "\n".join(self.violations)
        if not callable(self.script):
            assert self._played == len(self.script), f"{len(self.script) - self._played} steps were never asked for"

    async def until(self, condition: Callable[[ChatServer], bool]) -> None:
        """Wait, on the server's own loop, until something it counts has changed so."""
        while not condition(self):
            self._changed.clear()
            await self._changed.wait()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (request := await self._read(reader)) is not None:
                self.requests.append(request)
                self._changed.set()
                if not await self._answer(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.departed += 1
        except asyncio.CancelledError:
            pass  # the block has ended; asyncio would report a cancelled handler as unhandled
        finally:
            writer.close()
            self._tasks.discard(task)
            self._changed.set()

    async def _read(self, reader: asyncio.StreamReader) -> Recorded | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, path, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Recorded(number=len(self.requests) + 1, method=method, path=path, headers=headers, body=body)

    async def _answer(self, request: Recorded, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        step = await self._step(request)
        match step:
            case Completion(payload):
                if request.json.get("stream"):
                    step = Respond(200, self._events(payload), {"Content-Type": "text/event-stream"})
                else:
                    step = Respond(200, json.dumps(payload).encode())
            case Reset(after):
                writer.write(after)
                await writer.drain()
                # A reset, not an orderly end: linger of zero seconds.
                connection: socket.socket = writer.get_extra_info("socket")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                return False
            case Hang(after):
                writer.write(after)
                self.hanging += 1
                self._changed.set()
                try:
                    await reader.read()  # ends when the client leaves
                finally:
                    self.hanging -= 1
                self.departed += 1
                return False
        assert isinstance(step, Respond)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(step.body)), **step.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {step.status} Scripted\r\n{lines}\r\n".encode("latin-1") + step.body)
        await writer.drain()
        return True

    async def _step(self, request: Recorded) -> Step:
        if request.method != "POST" or request.path.partition("?")[0] != self.path:
            return Respond.error(404, f"no route for {request.method} {request.path}")
        if self.strict and (faults := self._faults(request)):
            self.violations += [f"request {request.number}: {fault}" for fault in faults]
            return Respond.error(400, "; ".join(faults))
        if callable(self.script):
            step = self.script(request)
            return await step if inspect.isawaitable(step) else step
        if self._played == len(self.script):
            self.violations.append(f"request {request.number} was not scripted")
            return Respond.error(400, "not scripted")
        self._played += 1
        return self.script[self._played - 1]

    def _faults(self, request: Recorded) -> list[str]:
        try:
            body = request.json
        except ValueError as problem:
            return [f"no JSON: {problem}"]
        faults = list(self._rules(body))
        if self.prefix and not faults:
            opening = json.dumps(body[self.conversation][:2])
            last = self._last.get(opening)
            if last is not None and (fault := prefix_fault(last, request.body, self.conversation)):
                faults.append(fault)
            self._last[opening] = request.body
        return faults

    def _rules(self, body: dict[str, Any]) -> Iterator[str]:
        return faults_of(body, alternate=self.alternate)

    def _events(self, payload: Mapping[str, Any]) -> bytes:
        return as_events(payload)
