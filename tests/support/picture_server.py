"""An HTTP server on loopback that serves a few files and remembers which were asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Self

import attrs


@attrs.define(eq=False)
class PictureServer:
    """Serves `files` by path; everything else is 404.

    Attributes:
        served: paths in the order they were asked for.
    """

    files: Mapping[str, bytes]
    served: list[str] = attrs.field(factory=list, init=False)
    _server: asyncio.Server | None = attrs.field(default=None, init=False)
    _port: int = attrs.field(default=0, init=False)

    @property
    def host_and_port(self) -> str:
        return f"127.0.0.1:{self._port}"

    def url(self, path: str) -> str:
        return f"http://{self.host_and_port}{path}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode()
        self.served.append(path)
        body = self.files.get(path)
        status = b"200 OK" if body is not None else b"404 Not Found"
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body or b""))
        writer.write(body or b"")
        await writer.drain()
        writer.close()
