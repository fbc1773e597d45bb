"""Fetching pictures: bounded, guarded at every hop, and silent about secrets."""

from __future__ import annotations

import asyncio
import gzip
import os
import socket
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from openvlharness_adapters.files.fetcher import ImageSourceFetcher
from openvlharness_adapters.files.local import read_file
from openvlharness_adapters.http.addresses import AddressGuard, open_guarded_client
from openvlharness_adapters.runtime import SystemClock, ThreadOffload
from openvlharness_core.errors import FetchError
from openvlharness_core.ports.clock import Clock
from openvlharness_core.testing.time import FakeClock, InlineOffload
from tests.unit.adapters.files.web import Raw, Web, answer, redirect, serving


@asynccontextmanager
async def _fetching(
    pages: Mapping[str, bytes | Raw], *, exempt: bool = True, clock: Clock | None = None, **bounds: float
) -> AsyncIterator[tuple[Web, Callable[[str], Awaitable[bytes]]]]:
    async with serving(pages) as web:
        guard = AddressGuard(fetch_hosts=[web.host_and_port] if exempt else [])
        async with open_guarded_client(guard) as client:
            fetcher = ImageSourceFetcher(client=client, offload=InlineOffload(), clock=clock or SystemClock(), **bounds)  # type: ignore[arg-type]
            yield web, fetcher.fetch


async def _reason(fetch: Awaitable[bytes]) -> str:
    with pytest.raises(FetchError) as failure:
        await fetch
    assert failure.value.__cause__ is None or not isinstance(failure.value.__cause__, FetchError)
    return failure.value.reason


class TestFiles:
    def test_a_file_is_read(self, tmp_path: Path) -> None:
        file = tmp_path / "ä b.png"
        file.write_bytes(b"12345")
        link = tmp_path / "link"
        link.symlink_to(file)
        assert read_file(str(file), 5) == read_file(str(link), 5) == b"12345"

    def test_a_file_that_is_too_long(self, tmp_path: Path) -> None:
        file = tmp_path / "a"
        file.write_bytes(b"123456")
        with pytest.raises(FetchError, match="expected at most 5 bytes"):
            read_file(str(file), 5)

    def test_a_file_that_is_empty(self, tmp_path: Path) -> None:
        (tmp_path / "a").touch()
        with pytest.raises(FetchError, match="got an empty file"):
            read_file(str(tmp_path / "a"), 5)

    @pytest.mark.parametrize(
        ("path", "words"),
        [("/dev/zero", "got a device"), ("/dev/null", "got a device"), ("missing", "No such file"), (".", "a directory"),
         ("a\0b", "no path"), ("a\ud83db", "no path"), ("x" * 5000, "File name too long")],
    )  # fmt: skip
    def test_what_is_no_file(self, path: str, words: str) -> None:
        with pytest.raises(FetchError, match=words) as failure:
            read_file(path, 5)
        assert len(str(failure.value)) < 400
        str(failure.value).encode()

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(FetchError, match="got a pipe"):
            read_file(str(tmp_path / "pipe"), 5)

    def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").write_bytes(b"1")
        os.mkfifo(tmp_path / "pipe")
        looked_at = os.stat(tmp_path / "file")
        monkeypatch.setattr("openvlharness_adapters.files.local.os.stat", lambda path: looked_at)
        with pytest.raises(FetchError, match="got a pipe"):
            read_file(str(tmp_path / "pipe"), 5)

    def test_a_socket(self, tmp_path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(tmp_path / "s"))
            with pytest.raises(FetchError, match="got a socket"):
                read_file(str(tmp_path / "s"), 5)

    @pytest.mark.unprivileged
    def test_a_file_without_permission(self, tmp_path: Path) -> None:
        file = tmp_path / "a"
        file.write_bytes(b"1")
        file.chmod(0)
        with pytest.raises(FetchError, match="Permission denied"):
            read_file(str(file), 5)

    async def test_files_are_read_off_the_loop(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"1")
        offload = ThreadOffload(threads=1)
        async with open_guarded_client(AddressGuard()) as client:
            fetcher = ImageSourceFetcher(client=client, offload=offload, clock=SystemClock())
            assert await fetcher.fetch(str(tmp_path / "a")) == b"1"
        offload.close()


class TestDownloads:
    async def test_the_body_comes_unpacked(self) -> None:
        packed = answer(body=gzip.compress(b"picture"), Content_Encoding="gzip")
        async with _fetching({"/a": b"picture", "/b": packed}) as (web, fetch):
            assert await fetch(f"{web.base}/a?x=1#f") == b"picture"
            assert await fetch(f"  {web.base.upper()}/b ") == b"picture"
        assert all(f"Host: {web.host_and_port}" in head for head in web.requests)

    async def test_chunks(self) -> None:
        chunked = Raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        async with _fetching({"/a": chunked}) as (web, fetch):
            assert await fetch(f"{web.base}/a") == b"abcde"

    @pytest.mark.parametrize(
        ("page", "words"),
        [
            (answer("404 Not Found"), "got 404 Not Found"),
            (answer("500 CANARY"), "500 Internal Server Error"),
            (answer("204 No Content"), "204"),
            (answer(body=b""), "an empty body"),
            (answer(body=b"x" * 101), "at most 100 bytes, got 101"),
            (Raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 200), "at most 100 bytes, got more"),
            (answer(body=gzip.compress(bytes(100_000)), Content_Encoding="gzip"), "at most 100 bytes"),
            (answer(body=b"x", Content_Encoding="br"), "gzip or not at all, got br"),
            (answer(body=b"not gzip", Content_Encoding="gzip"), "Content-Encoding"),
            (answer(body=b"half", Content_Length="50"), "connection"),
            (Raw(b""), "connection"),
            (Raw(b"SSH-2.0-OpenSSH\r\n"), "connection"),
            (redirect(""), "expected a redirect to an http"),
            (redirect("file:///etc/passwd"), "expected a redirect to an http"),
            (redirect("http://[::1/"), "expected a redirect to an http"),
        ],
    )  # fmt: skip
    async def test_what_gives_no_picture(self, page: Raw, words: str) -> None:
        async with _fetching({"/a": page}, max_bytes=100) as (web, fetch):
            assert words in await _reason(fetch(f"{web.base}/a"))

    async def test_redirects_are_followed_and_counted(self) -> None:
        pages = {f"/{n}": redirect(f"/{n - 1}", "307 Temporary Redirect") for n in range(1, 5)} | {"/0": b"picture"}
        async with _fetching(pages, max_redirects=3) as (web, fetch):
            assert await fetch(f"{web.base}/3") == b"picture"
            assert "at most 3 redirects" in await _reason(fetch(f"{web.base}/4"))

    async def test_nobody_listens(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        async with open_guarded_client(AddressGuard(allow_private_addresses=True)) as client:
            fetcher = ImageSourceFetcher(client=client, offload=InlineOffload(), clock=SystemClock())
            assert "connection" in await _reason(fetcher.fetch(f"http://127.0.0.1:{port}/"))

    async def test_a_server_that_dawdles_is_left_in_time(self) -> None:
        clock = FakeClock()
        slow = Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", stays_open=True)
        async with _fetching({"/a": slow}, clock=clock, timeout_seconds=30.0) as (web, fetch):
            waiting = asyncio.ensure_future(fetch(f"{web.base}/a"))
            await web.asked.wait()
            await clock.advance(29.0)
            assert not waiting.done()
            await clock.advance(1.5)
            assert "within 30 seconds" in await _reason(waiting)

    async def test_cancelling_ends_the_download(self) -> None:
        async with _fetching({"/a": Raw(b"HTTP/1.1 200 OK\r\n\r\n", stays_open=True)}) as (web, fetch):
            waiting = asyncio.ensure_future(fetch(f"{web.base}/a"))
            await web.asked.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    @pytest.mark.parametrize(
        "source", ["ftp://example.com/a", "file:///etc/passwd", "http://", "http://[::1", "https://h:x/"]
    )
    async def test_sources_that_are_neither(self, source: str) -> None:
        async with _fetching({}) as (_, fetch):
            await _reason(fetch(source))

    async def test_cookies_are_not_kept(self) -> None:
        async with _fetching({"/a": answer(body=b"1", Set_Cookie="id=1; Path=/")}) as (web, fetch):
            await fetch(f"{web.base}/a")
            await fetch(f"{web.base}/a")
        assert not any("cookie" in head.lower() for head in web.requests)

    async def test_proxy_variables_do_not_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        async with _fetching({"/a": b"picture"}) as (web, fetch):
            assert await fetch(f"{web.base}/a") == b"picture"


class TestGuard:
    async def test_this_machine_is_refused_without_the_exemption(self) -> None:
        async with _fetching({"/a": b"secret"}, exempt=False) as (web, fetch):
            for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"):
                assert "not public" in await _reason(fetch(f"http://{host}:{web.port}/a"))
        assert web.requests == []

    async def test_the_exemption_is_for_one_port_and_one_name(self) -> None:
        async with _fetching({"/a": b"mine"}) as (web, fetch), serving({"/a": b"theirs"}) as other:
            assert await fetch(f"{web.base}/a") == b"mine"
            await _reason(fetch(f"{other.base}/a"))
            await _reason(fetch(f"http://localhost:{web.port}/a"))
        assert other.requests == []

    async def test_every_hop_is_checked(self) -> None:
        async with serving({"/secret": b"secret"}) as inside:
            pages = {"/a": redirect(f"{inside.base}/secret"), "/b": redirect("http://169.254.169.254/latest")}
            async with _fetching(pages) as (web, fetch):
                for path in ("/a", "/b"):
                    assert "not public" in await _reason(fetch(web.base + path))
        assert inside.requests == []

    @pytest.mark.parametrize("path", ["/401", "/redirect", "/long", "/unreadable"])
    async def test_secrets_of_a_url_are_not_told(self, path: str) -> None:
        pages = {
            "/401": answer("401 Unauthorized"),
            "/redirect": redirect("http://u:CANARY@10.0.0.1/x?CANARY#CANARY"),
            "/long": answer(body=b"x" * 9),
            "/unreadable": redirect("http://h:CANARY/"),
        }
        async with _fetching(pages, max_bytes=5) as (web, fetch):
            url = f"http://me:CANARY@{web.host_and_port}{path}?key=CANARY#CANARY"
            with pytest.raises(FetchError) as failure:
                await fetch(url)
        assert "CANARY" not in "".join(traceback.format_exception(failure.value))
        assert failure.value.source.startswith("http://")

    @pytest.mark.parametrize("source", ["http://u:CANARY@[::1/", "http://CANARY@h:CANARY/", "ssh://u:CANARY@h/"])
    async def test_secrets_of_a_url_that_is_none_are_not_told(self, source: str) -> None:
        async with _fetching({}) as (_, fetch):
            with pytest.raises(FetchError) as failure:
                await fetch(source)
        assert "CANARY" not in "".join(traceback.format_exception(failure.value))
