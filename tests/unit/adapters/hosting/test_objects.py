"""Object stores as hosts: opened once, asked in threads, deleted afterwards, and their errors never quoted."""

from __future__ import annotations

import asyncio
import sys
import traceback
from pathlib import Path
from typing import Any

import attrs
import pytest

from openvlharness_adapters.hosting.gcs import gcs_bucket
from openvlharness_adapters.hosting.host import HostingError
from openvlharness_adapters.hosting.objects import Bucket, ObjectHost
from openvlharness_adapters.hosting.s3 import s3_bucket
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.time import InlineOffload

PNG = EncodedImage(data=b"pixels", media_type="image/png", size_hw=(1, 1))


@attrs.define
class Memory:
    """A bucket that may refuse."""

    objects: dict[str, tuple[bytes, str]] = attrs.field(factory=dict)
    refuses: Exception | None = None
    keeps: bool = False

    def put(self, name: str, data: bytes, media_type: str) -> str:
        if self.refuses is not None:
            raise self.refuses
        self.objects[name] = (data, media_type)
        return f"https://bucket.example/{name}?signature=x"

    def delete(self, name: str) -> None:
        if self.keeps:
            raise PermissionError("CANARY")
        del self.objects[name]


class ClientError(Exception):
    """As botocore's: the response beside the text."""

    def __init__(self, code: str) -> None:
        super().__init__(f"An error with CANARY-KEY ({code})")
        self.response = {"Error": {"Code": code, "Message": "CANARY-KEY"}}


def _host(bucket: Bucket, opened: list[int] | None = None) -> ObjectHost:
    def opening() -> Bucket:
        if opened is not None:
            opened.append(1)
        return bucket

    return ObjectHost(provider="s3", open_bucket=opening, offload=InlineOffload())


async def test_a_picture_is_stored_while_it_is_needed() -> None:
    memory, opened = Memory(), []
    host = _host(memory, opened)
    assert opened == [], "nothing is opened before it is needed"
    async with host.published(PNG) as url, host.published(PNG):
        (name, *_) = memory.objects
        assert name.startswith("openvlharness/")
        assert url == f"https://bucket.example/{name}?signature=x"
        assert list(memory.objects.values()) == [(b"pixels", "image/png")] * 2
    assert memory.objects == {}
    assert opened == [1]


async def test_it_is_deleted_when_the_search_is_cancelled() -> None:
    memory, began = Memory(), asyncio.Event()

    async def searching() -> None:
        async with _host(memory).published(PNG):
            began.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(searching())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert memory.objects == {}


async def test_a_picture_that_cannot_be_deleted_fails_nothing() -> None:
    memory = Memory(keeps=True)
    async with _host(memory).published(PNG):
        pass
    assert len(memory.objects) == 1


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ClientError("NoSuchBucket"), r"s3: the picture could not be stored \(ClientError NoSuchBucket\)"),
        (ValueError("CANARY-KEY"), r"\(ValueError\)"),
        (ClientError("CANARY-KEY" * 20), r"\(ClientError\)"),
    ],
)
async def test_what_a_store_says_is_not_quoted(error: Exception, words: str) -> None:
    with pytest.raises(HostingError, match=words) as failure:
        async with _host(Memory(refuses=error)).published(PNG):
            pass
    assert "CANARY" not in "".join(traceback.format_exception(failure.value))


@pytest.mark.parametrize("package", ["boto3", "google.cloud"])
async def test_a_missing_package_is_named_with_its_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    opens: dict[str, Any] = {
        "boto3": s3_bucket("bucket", region="us-east-1"),
        "google.cloud": gcs_bucket("bucket", credentials_file=Path("none.json")),
    }
    host = ObjectHost(provider="x", open_bucket=opens[package], offload=InlineOffload())
    with pytest.raises(HostingError, match=r"pip install 'openvlharness\[(s3|gcs)\]'"):
        async with host.published(PNG):
            pass
