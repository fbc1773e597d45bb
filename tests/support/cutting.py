"""A proxy that cuts connections: before a request is complete, while it is worked on, and when its answer is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

import attrs

Cut = Literal["before", "during", "after"]


@attrs.define(eq=False)
class CuttingProxy:
    """See the module.

    Attributes:
        port: of the server behind it.
        plan: which cut the request of that number meets, if any.
        base: its address.
        cuts: how many of each kind there were.
        requests: how many came.
    """

    port: int
    plan: Callable[[int], Cut | None]
    base: str = ""
    cuts: dict[str, int] = attrs.field(factory=dict)
    requests: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, here = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            while True:
                request = await _message(reader)
                self.requests += 1
                cut = self.plan(self.requests)
                if cut is not None:
                    self.cuts[cut] = self.cuts.get(cut, 0) + 1
                here.write(request[: len(request) // 2] if cut == "before" else request)
                await here.drain()
                if cut in ("before", "during"):
                    return
                answer = await _message(there)
                if cut == "after":
                    return
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # one side has gone, so the other goes
        finally:
            here.close()
            writer.close()


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
    return head + await reader.readexactly(length)


@asynccontextmanager
async def cutting_proxy(port: int, plan: Callable[[int], Cut | None]) -> AsyncIterator[CuttingProxy]:
    proxy = CuttingProxy(port, plan)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
