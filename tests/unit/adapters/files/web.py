"""A small web server on loopback for fetches: whole responses by path, byte for byte as written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import attrs


@attrs.frozen
class Raw:
    """A response as it goes over the wire; `stays_open` never ends it."""

    wire: bytes
    stays_open: bool = False


def answer(status: str = "200 OK", body: bytes = b"", **headers: str) -> Raw:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in {"Content-Length": str(len(body)), **named}.items())
    return Raw(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body)


def redirect(target: str, status: str = "302 Found") -> Raw:
    return answer(status, Location=target)


@attrs.define
class Web:
    """What is served, and what was asked for."""

    pages: dict[str, Raw]
    port: int = 0
    requests: list[str] = attrs.field(factory=list)
    asked: asyncio.Event = attrs.field(factory=asyncio.Event)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def host_and_port(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.requests.append(head)
            self.asked.set()
            page = self.pages.get(head.split(" ")[1].partition("?")[0], answer("404 Not Found"))
            writer.write(page.wire)
            await writer.drain()
            if page.stays_open:
                await reader.read()  # until the client has gone
        except (ConnectionError, asyncio.IncompleteReadError):
            self.requests.append("gone")
        finally:
            writer.close()


@asynccontextmanager
async def serving(pages: Mapping[str, bytes | Raw]) -> AsyncIterator[Web]:
    web = Web({path: page if isinstance(page, Raw) else answer(body=page) for path, page in pages.items()})
    server = await asyncio.start_server(web.serve, "127.0.0.1", 0)
    web.port = server.sockets[0].getsockname()[1]
    async with server:
        yield web
