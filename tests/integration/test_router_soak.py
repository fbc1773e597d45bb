"""Thousands of calls with faults: every call is answered exactly once, with its own answer, and memory stays where it is.

One request in twenty meets a fault: its connection is cut before it is complete, while it is worked on, or when its
answer is there and nobody has it yet; or the backend breaks the connection, which is an answer too.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import random
import struct
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import orjson
import pytest
import yaml

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.models.wire_json import json_bytes
from openvlharness_adapters.router_client.backends import RemoteOcr
from openvlharness_adapters.router_client.posting import Poster
from openvlharness_adapters.router_client.raw import RawCaller
from openvlharness_adapters.router_client.router import RouterCaller
from openvlharness_adapters.runtime import SystemClock
from openvlharness_adapters.wire.ocr import args_to_wire, result_to_wire
from openvlharness_app.presets import preset_text
from openvlharness_core.errors import BackendUnavailableError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Transcription
from tests.support.cutting import Cut, CuttingProxy, cutting_proxy
from tests.support.routing import app_over, desk_over, listening, reader
from tests.support.servers import server

AGENTS = 24
CACHE_BYTES = 8 << 20
ANSWER_LETTERS = 4000  # so that the answers of 3000 calls fill the cache


def _picture(number: int) -> EncodedImage:
    """A grey picture that no other call has."""
    height, width = 1 + number % 200, 1 + number // 200
    out = io.BytesIO(b"\x89PNG\r\n\x1a\n")
    out.seek(0, io.SEEK_END)
    for kind, data in (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress((b"\0" + b"\x80" * width) * height)),
        (b"IEND", b""),
    ):
        out.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
    return EncodedImage(data=out.getvalue(), media_type="image/png", size_hw=(height, width))


def _answer(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest().ljust(ANSWER_LETTERS, ".")


@attrs.define(eq=False)
class Readers:
    """A raw server that answers each picture with what only this picture has, and now and then breaks off."""

    breaks: Callable[[], bool]
    base: str = ""
    worked: Counter[bytes] = attrs.field(factory=Counter)
    broken: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                body = await reader.readexactly(
                    next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
                )
                self.worked[body] += 1
                await asyncio.sleep(0)
                if self.breaks():
                    self.broken += 1
                    return
                content = orjson.dumps(result_to_wire(Transcription(text=_answer(body))))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def readers(breaks: Callable[[], bool]) -> AsyncIterator[Readers]:
    behind = Readers(breaks)
    listener = await asyncio.start_server(behind.serve, "127.0.0.1", 0)
    behind.base = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield behind
    finally:
        listener.close()


def _faults(seed: int) -> tuple[Callable[[int], Cut | None], Callable[[], bool]]:
    """Four requests in a hundred are cut, one call in a hundred is broken off by its backend."""
    chance = random.Random(seed)
    kinds: tuple[Cut, ...] = ("before", "during", "after", "after")
    return (lambda _: chance.choice(kinds) if chance.random() < 0.04 else None), (lambda: chance.random() < 0.01)


async def _soak(
    proxy: CuttingProxy, behind: Readers, tool: str, calls: int, at: Callable[[int], None] = lambda done: None
) -> None:
    """Every call through `proxy`, and then the count of what was done."""
    numbers, done, failed = iter(range(calls)), 0, list[str]()
    async with open_client() as client:
        poster = Poster(client=client, clock=SystemClock(), retry=8, share=lambda: 0.0)
        remote = RemoteOcr(RouterCaller(poster=poster, base_url=proxy.base, tool=tool))

        async def agent() -> None:
            nonlocal done
            for number in numbers:
                picture = _picture(number)
                try:
                    answered = await remote.read(picture, timeout_seconds=60)
                except BackendUnavailableError as error:
                    failed.append(str(error))
                else:
                    assert answered.value.text == _answer(json_bytes(args_to_wire(picture)))
                done += 1
                at(done)

        await asyncio.gather(*(agent() for _ in range(AGENTS)))
    assert done == calls
    assert len(behind.worked) == calls
    assert set(behind.worked.values()) == {1}, "no call was done twice"
    assert len(failed) == behind.broken
    assert all("the connection failed or broke" in error for error in failed), failed
    assert set(proxy.cuts) == {"before", "during", "after"}
    assert proxy.requests == calls + sum(proxy.cuts.values())


def _port(base: str) -> int:
    return int(base.rpartition(":")[2])


async def test_three_hundred_calls_with_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    cuts, breaks = _faults(3)
    async with readers(breaks) as behind, open_client() as client:
        poster = Poster(client=client, clock=SystemClock(), retry=0)
        backend = RemoteOcr(RawCaller(poster=poster, url=f"{behind.base}/embedded/ocr", tool="ocr"))
        codec = PillowCodec(max_pixels=10**6)
        desk = desk_over(
            reader(backend), clock=SystemClock(), limits={"ocr": 10}, answer_bytes=CACHE_BYTES, codec=codec
        )
        async with (
            listening(app_over(desk), lambda: desk.drain(5), monkeypatch) as base,
            cutting_proxy(_port(base), cuts) as proxy,
        ):
            await _soak(proxy, behind, "ocr", 300)
        assert behind.broken > 0
        assert desk.room.held == 0
        assert not desk.open


def _resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.heavy
async def test_ten_thousand_calls_with_faults_in_memory_that_does_not_grow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cuts, breaks = _faults(10)
    resident: dict[int, int] = {}
    async with readers(breaks) as behind:
        config = yaml.safe_load(preset_text("embedded"))
        config["capabilities"]["tools"] = {"ocr": {"backend": "embedded_ocr"}}
        config["services"]["tools"] = {"embedded_ocr": {"server_url": behind.base}}
        config["services"]["client"] = {"retry": 0}
        config["services"]["server"] = {"answer_cache_bytes": CACHE_BYTES}
        (tmp_path / "router.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        with server("router", "--config", "router.yaml", folder=tmp_path) as router:

            def at(done: int) -> None:
                if done in (3000, 10_000):
                    resident[done] = _resident_bytes(router.process.pid)

            async with cutting_proxy(_port(router.base), cuts) as proxy:
                await _soak(proxy, behind, "embedded_ocr", 10_000, at)
            assert await asyncio.to_thread(router.stop) == 0
    with capsys.disabled():
        print(
            f"\nrouter's memory: {resident[3000] / 1e6:.1f} MB at 3000 calls, {resident[10_000] / 1e6:.1f} MB at 10000"
        )
    assert resident[10_000] <= resident[3000] + (32 << 20)
