"""Pictures in a directory, and the server that shows them: whole, by their names alone, and gone afterwards."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from openvlharness_adapters.hosting.host import HostingError
from openvlharness_adapters.hosting.local import LocalImageHost
from openvlharness_adapters.hosting.serving import application
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.time import InlineOffload

PNG = EncodedImage(data=b"\x89PNG pixels", media_type="image/png", size_hw=(1, 1))


def _host(folder: Path, base: str = "https://images.example/x/") -> LocalImageHost:
    return LocalImageHost(directory=folder, public_base_url=base, offload=InlineOffload())


def _files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_picture_is_there_while_it_is_needed(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    async with _host(folder).published(PNG) as url, _host(folder).published(PNG) as other:
        assert re.fullmatch(r"https://images\.example/x/[A-Za-z0-9_-]{32}\.png", url)
        assert url != other
        assert (folder / url.rpartition("/")[2]).read_bytes() == PNG.data
        assert len(_files(folder)) == 2
    assert _files(folder) == []


async def test_it_is_gone_when_the_search_fails_or_is_cancelled(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with _host(tmp_path).published(PNG):
            raise ZeroDivisionError
    began = asyncio.Event()

    async def searching() -> None:
        async with _host(tmp_path).published(PNG):
            began.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(searching())
    await began.wait()
    assert len(_files(tmp_path)) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _files(tmp_path) == []


async def test_it_may_have_been_cleared_away_meanwhile(tmp_path: Path) -> None:
    async with _host(tmp_path).published(PNG) as url:
        (tmp_path / url.rpartition("/")[2]).unlink()


async def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(HostingError, match=r"local image host: .*file cannot be written to: "):
        async with _host(tmp_path / "file").published(PNG):
            pass


async def test_what_is_no_picture_is_not_published(tmp_path: Path) -> None:
    svg = EncodedImage(data=b"<svg/>", media_type="image/svg+xml", size_hw=(1, 1))
    with pytest.raises(HostingError, match=r"expected a picture of type image/png, .*got 'image/svg\+xml'"):
        async with _host(tmp_path).published(svg):
            pass
    assert _files(tmp_path) == []


@pytest.mark.parametrize("base", ["", "images.example", "ftp://x/", "https://u:CANARY@x/"])
def test_a_base_must_be_an_address(tmp_path: Path, base: str) -> None:
    with pytest.raises(ValueError, match="public_base_url") as failure:
        _host(tmp_path, base)
    assert "CANARY" not in str(failure.value)


def _browser(folder: Path) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=application(folder, InlineOffload()))
    return httpx.AsyncClient(transport=transport, base_url="http://host")


@pytest.mark.parametrize(
    ("media_type", "suffix"), [("image/png", ".png"), ("image/jpeg", ".jpg"), ("image/webp", ".webp")]
)
async def test_the_server_shows_what_is_published(tmp_path: Path, media_type: str, suffix: str) -> None:
    image = EncodedImage(data=b"pixels", media_type=media_type, size_hw=(1, 1))
    async with _browser(tmp_path) as browser:
        async with _host(tmp_path, "http://host").published(image) as url:
            assert url.endswith(suffix)
            shown = await browser.get(url)
            assert (shown.status_code, shown.content, shown.headers["content-type"]) == (200, b"pixels", media_type)
            assert shown.headers["x-content-type-options"] == "nosniff"
            assert shown.headers["cache-control"] == "no-store"
            assert (await browser.head(url)).status_code == 200
        assert (await browser.get(url)).status_code == 404
        assert (await browser.get("/health")).json() == {"status": "ok"}


async def test_the_server_shows_nothing_else(tmp_path: Path) -> None:
    name = "a" * 32
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / f"{name}.txt").write_bytes(b"secret")
    (tmp_path / f".{name}.png.part").write_bytes(b"half")
    (tmp_path / f"{name}.jpg").symlink_to(tmp_path / "secret.png")
    (tmp_path / f"{name}.webp").mkdir()
    paths = ["/", "/secret.png", f"/{name}.txt", f"/.{name}.png.part", f"/{name}.jpg", f"/{name}.webp", f"/{name}.png"]
    async with _browser(tmp_path) as browser:
        for path in [*paths, "/..%2fsecret.png", "/%2e%2e/secret.png", f"/{name}.png%0a"]:
            shown = await browser.get(path)
            assert shown.status_code == 404, path
            assert b"secret" not in shown.content
        assert (await browser.post(f"/{name}.png")).status_code == 405
