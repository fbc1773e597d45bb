"""A raw OCR server of this process that sees who works at the same time: each call works until it is let, or its caller goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import orjson

from openvlharness_adapters.wire.ocr import result_to_wire
from openvlharness_core.results import Transcription


@attrs.define(eq=False)
class Workshop:
    """See the module.

    Attributes:
        base: its address.
        begun: the bodies of all calls, in the order in which they came.
        running: calls at work.
        most: the most there ever were at a time.
        broken: calls whose connection ended before their answer.
    """

    base: str = ""
    begun: list[bytes] = attrs.field(factory=list)
    running: int = 0
    most: int = 0
    broken: int = 0
    _let: asyncio.Semaphore = attrs.field(factory=lambda: asyncio.Semaphore(0))

    def let(self, calls: int = 1) -> None:
        for _ in range(calls):
            self._let.release()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                body = await reader.readexactly(int(fields.get(b"content-length", 0)))
                if head.startswith(b"GET"):
                    _answer(writer, b'{"status": "ok"}')
                elif not await self._work(body, reader, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # idle connections end when their router does
        finally:
            writer.close()

    async def _work(self, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.begun.append(body)
        number = len(self.begun)
        self.running += 1
        self.most = max(self.most, self.running)
        let, gone = asyncio.ensure_future(self._let.acquire()), asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({let, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.running -= 1
            let.cancel()
            gone.cancel()
        if gone.done() and not gone.cancelled():
            self.broken += 1
            if let.done() and not let.cancelled():
                self._let.release()
            return False
        await asyncio.gather(gone, return_exceptions=True)
        _answer(writer, orjson.dumps(result_to_wire(Transcription(text=f"call {number}"))))
        return True


def _answer(writer: asyncio.StreamWriter, body: bytes) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


@asynccontextmanager
async def workshop() -> AsyncIterator[Workshop]:
    shop = Workshop()
    server = await asyncio.start_server(shop._serve, "127.0.0.1", 0)
    shop.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield shop
    finally:
        shop.let(1000)
        server.close()
