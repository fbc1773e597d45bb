"""The search service on loopback: replies of the shapes that the real one sends, by endpoint.

Rows were written by hand after the public descriptions of the service's replies; no reply of the real one is copied.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Self

import attrs

KEY = "CANARY-SERPER"


def _numbered(count: int, **fields: Any) -> list[dict[str, Any]]:
    """Rows whose texts tell their position."""
    return [
        {name: value.replace("#", str(n)) if isinstance(value, str) else value for name, value in fields.items()}
        | {"position": n}
        for n in range(1, count + 1)
    ]


SHAPES: Mapping[str, Mapping[str, Any]] = {
    "/search": {
        "searchParameters": {"q": "kestrel bridge", "type": "search", "num": 10, "engine": "google"},
        "organic": _numbered(
            12, title="Bridge page #", link="https://town.example/#", snippet="Arch number #.", date="Mar # 2021"
        ),
        "peopleAlsoAsk": [{"question": "Who built it?", "snippet": "Vell.", "title": "x", "link": "https://x.example"}],
        "relatedSearches": [{"query": "kestrel viaduct"}, {"query": "vell engineer"}],
        "credits": 1,
    },
    "/images": {
        "images": _numbered(
            10,
            title="Picture #",
            imageUrl="https://img.example/#.jpg",
            imageWidth=640,
            imageHeight=480,
            thumbnailUrl="BASE/thumb/#.png",
            thumbnailWidth=20,
            thumbnailHeight=10,
            source="Town gallery",
            domain="img.example",
            link="https://img.example/page/#",
            googleUrl="https://google.example/imgres",
        ),
        "credits": 1,
    },
    "/news": {
        "news": _numbered(
            3,
            title="News #",
            link="https://news.example/#",
            snippet="Opened again.",
            date="2 weeks ago",
            source="Velm Herald",
            imageUrl="https://news.example/#.jpg",
        ),
        "credits": 1,
    },
    "/scholar": {
        "organic": _numbered(
            2,
            title="Paper #",
            link="https://journal.example/#",
            publicationInfo="A Vell - Journal of Arches, 1931",
            snippet="We measure arches.",
            year=1931,
            citedBy=17,
            pdfUrl="https://journal.example/#.pdf",
        ),
        "credits": 1,
    },
    "/maps": {
        "ll": "@40.75,-73.98,14z",
        "places": _numbered(
            2,
            title="Café #",
            address="# Quay",
            latitude=40.7504178,
            longitude=-73.9824837,
            rating=4.5,
            ratingCount=88,
            type="Coffee shop",
            types=["Coffee shop", "Café"],
            website="https://cafe.example/#",
            phoneNumber="+1 555 #",
            cid="123",
        ),
        "credits": 3,
    },
    "/places": {
        "places": _numbered(
            2, title="Inn #", address="# Market", rating=0.5, ratingCount=3, category="Inn", website=None, cid="9"
        ),
        "credits": 1,
    },
    "/shopping": {
        "shopping": _numbered(
            2,
            title="Model bridge #",
            source="Toy shop",
            link="https://shop.example/#",
            price="$104.97",
            delivery="Free shipping",
            imageUrl="data:image/webp;base64,UklGRg==",
            rating=4.2,
            ratingCount=11,
            productId="1",
        ),
        "credits": 2,
    },
    "/patents": {
        "organic": _numbered(
            2,
            title="Arch formwork #",
            snippet="A formwork.",
            link="https://patents.example/#",
            priorityDate="1930-01-02",
            grantDate="1931-02-03",
            inventor="A. Vell",
            assignee="Velm Works",
            publicationNumber="US#B2",
            thumbnailUrl="https://patents.example/#.png",
            figures=[],
        ),
        "credits": 1,
    },
    "/lens": {
        "organic": _numbered(
            4,
            title="Seen on #",
            source="Gallery",
            link="https://gallery.example/#",
            imageUrl="https://gallery.example/#.jpg",
            thumbnailUrl="BASE/thumb/#.png",
        ),
        "credits": 3,
    },
    "/scrape": {
        "text": "The bridge has nine arches.",
        "markdown": "# Bridge\n\nThe bridge has nine arches.",
        "metadata": {"title": "The Kestrel bridge", "og:locale": "en"},
        "credits": 2,
    },
}


@attrs.frozen(kw_only=True)
class Asked:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)

    @property
    def json(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


@attrs.frozen
class Says:
    """A response of any kind; `late` is awaited before it is sent, which may be for ever."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = attrs.field(factory=dict)
    late: Callable[[], Any] | None = None


def refuses(status: int, message: str, **headers: str) -> Says:
    return Says(status, json.dumps({"message": message, "statusCode": status}).encode(), headers)


Reply = Says | Mapping[str, Any]


@attrs.define(eq=False)
class SerperServer:
    """Answers every endpoint from `SHAPES`, or what `replies` says instead.

    Attributes:
        replies: by path: a list that is used up, or a function of the request; a mapping is sent as JSON with 200.
        files: by path, what a GET of it gives.
        asked: the requests so far, GETs left out.
        fetched: paths of the GETs.
    """

    replies: dict[str, list[Reply] | Callable[[Asked], Reply]] = attrs.field(factory=dict)
    files: dict[str, bytes | Says] = attrs.field(factory=dict)
    asked: list[Asked] = attrs.field(factory=list, init=False)
    fetched: list[str] = attrs.field(factory=list, init=False)
    _server: asyncio.Server | None = attrs.field(default=None, init=False)
    port: int = attrs.field(default=0, init=False)
    _open: set[asyncio.Task[Any]] = attrs.field(factory=set, init=False)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bases(self) -> dict[str, str]:
        """Fields of a SerperClient."""
        return {"search_base": self.base, "scrape_base": f"{self.base}/scrape"}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has left, as some tests want
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            self._open.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        said = self._get(path) if method == "GET" else self._post(Asked(path=path, headers=headers, body=body))
        if said.late is not None:
            await said.late()
        lines = {"Content-Length": str(len(said.body)), "Connection": "close", **said.headers}
        named = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"HTTP/1.1 {said.status} X\r\n{named}\r\n".encode("latin-1") + said.body)
        await writer.drain()

    def _get(self, path: str) -> Says:
        self.fetched.append(path)
        file = self.files.get(path, Says(404))
        return file if isinstance(file, Says) else Says(body=file)

    def _post(self, asked: Asked) -> Says:
        self.asked.append(asked)
        if asked.headers.get("x-api-key") != KEY:
            return refuses(403, "Unauthorized.")
        script = self.replies.get(asked.path)
        if callable(script):
            said = script(asked)
        elif script:
            said = script.pop(0)
        else:
            said = SHAPES[asked.path]
        if isinstance(said, Says):
            return said
        text = json.dumps(said).replace("BASE", self.base)
        return Says(200, text.encode(), {"Content-Type": "application/json"})
