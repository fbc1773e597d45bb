"""Query pictures published for real: the local host as a process, S3 and GCS by servers that speak their protocols."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from openvlharness_adapters.hosting.gcs import GcsBucket
from openvlharness_adapters.hosting.host import HostingError, ImageHost
from openvlharness_adapters.hosting.local import LocalImageHost
from openvlharness_adapters.hosting.objects import ObjectHost
from openvlharness_adapters.hosting.s3 import s3_bucket
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.images import fake_image
from tests.support.servers import server

PICTURE = EncodedImage(data=fake_image(3, 4), media_type="image/png", size_hw=(3, 4))
BUCKET = "query-pictures"
CANARY = "CANARY-SECRET-KEY"


async def _shown_and_gone(host: ImageHost) -> str:
    """Publishes twice at a time, fetches without any credential, and looks again afterwards."""
    async with httpx.AsyncClient(trust_env=False) as stranger:
        async with host.published(PICTURE) as url, host.published(PICTURE) as other:
            assert url != other
            for each in (url, other):
                got = await stranger.get(each)
                assert (got.status_code, got.content) == (200, PICTURE.data)
                assert got.headers["content-type"] == "image/png"
        assert (await stranger.get(url)).status_code == 404
    return url


async def test_the_local_host_as_a_process(tmp_path: Path) -> None:
    folder = tmp_path / "uploads"
    offload = ThreadOffload()
    with server("images", "serve", "--dir", str(folder), folder=tmp_path) as process:
        host = LocalImageHost(directory=folder, public_base_url=process.base, offload=offload)
        await _shown_and_gone(host)
        assert await asyncio.to_thread(process.stop) == 0
    offload.close()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def s3() -> Iterator[str]:
    """A server that speaks S3, with one bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    import boto3
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer(ip_address="127.0.0.1", port=_free_port(), verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    url = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "id", "aws_secret_access_key": CANARY}
    boto3.client("s3", endpoint_url=url, region_name="us-east-1", **keys).create_bucket(Bucket=BUCKET)
    yield url
    running.stop()


def _s3_host(url: str, bucket: str = BUCKET) -> ObjectHost:
    opened = s3_bucket(bucket, region="us-east-1", access_key="id", secret_key=CANARY, endpoint_url=url)
    return ObjectHost(provider="s3", open_bucket=opened, offload=ThreadOffload(threads=2))


@pytest.mark.heavy
async def test_s3_signs_shows_and_deletes(s3: str) -> None:
    url = await _shown_and_gone(_s3_host(s3))
    assert "X-Amz-Signature=" in url
    assert "X-Amz-Expires=900" in url
    assert CANARY not in url


@pytest.mark.heavy
async def test_a_bucket_that_is_not_there_is_told_by_its_code(s3: str) -> None:
    with pytest.raises(
        HostingError, match=r"s3: the picture could not be stored \(NoSuchBucket NoSuchBucket\)"
    ) as failure:
        async with _s3_host(s3, "no-such-bucket").published(PICTURE):
            pass
    assert CANARY not in str(failure.value)
    assert failure.value.__context__ is None


@pytest.fixture
def gcs(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that speaks Cloud Storage, with one bucket."""
    from gcp_storage_emulator.server import create_server

    port = _free_port()
    running = create_server("127.0.0.1", port, in_memory=True, default_bucket=BUCKET)
    running.start()
    url = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
    yield url
    running.stop()


def _signer() -> Any:
    """Credentials of a service account that nobody has."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from google.oauth2 import service_account

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    info = {"client_email": "a@b.example", "token_uri": "http://127.0.0.1:9/token", "private_key": pem}
    return service_account.Credentials.from_service_account_info(info)


@pytest.mark.heavy
async def test_gcs_signs_shows_and_deletes(gcs: str) -> None:
    """The emulator does not verify signatures; that one is there, and what it covers, is seen in the address."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage

    signer = _signer()

    def opened() -> GcsBucket:
        client = storage.Client(project="p", credentials=AnonymousCredentials())
        return GcsBucket(bucket=client.bucket(BUCKET), signing={"credentials": signer, "api_access_endpoint": gcs})

    url = await _shown_and_gone(ObjectHost(provider="gcs", open_bucket=opened, offload=ThreadOffload(threads=2)))
    assert "X-Goog-Signature=" in url
    assert "X-Goog-Expires=900" in url
