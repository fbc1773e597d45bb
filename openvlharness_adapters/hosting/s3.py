"""An S3 bucket. The extra `s3` brings its SDK, which is imported when the first picture is published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from openvlharness_adapters.hosting.host import SIGNED_SECONDS, HostingError
from openvlharness_adapters.hosting.objects import Bucket

PROVIDER = "s3"
_CONNECT_SECONDS = 5
_READ_SECONDS = 30


@attrs.frozen(kw_only=True)
class S3Bucket:
    """The `Bucket` over an S3 client."""

    client: Any = attrs.field(repr=False)
    bucket: str

    def put(self, name: str, data: bytes, media_type: str) -> str:
        """See `Bucket`."""
        self.client.put_object(Bucket=self.bucket, Key=name, Body=data, ContentType=media_type)
        url: str = self.client.generate_presigned_url(
            "get_object", Params={"Bucket": self.bucket, "Key": name}, ExpiresIn=SIGNED_SECONDS
        )
        return url

    def delete(self, name: str) -> None:
        """See `Bucket`."""
        self.client.delete_object(Bucket=self.bucket, Key=name)


def s3_bucket(
    bucket: str,
    *,
    region: str,
    access_key: str | None = None,
    secret_key: str | None = None,
    endpoint_url: str | None = None,
) -> Callable[[], Bucket]:
    """How to open a bucket.

    Args:
        bucket: its name.
        region: where it is.
        access_key: with `secret_key`; without, the SDK looks for credentials where it always does.
        secret_key: see `access_key`.
        endpoint_url: of another service that speaks S3.
    """

    def opened() -> Bucket:
        try:
            import boto3
            from botocore.config import Config
        except ModuleNotFoundError:
            raise HostingError(PROVIDER, "it needs the extra: pip install 'openvlharness[s3]'") from None
        config = Config(
            signature_version="s3v4",
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": 3},
            s3={"addressing_style": "path"} if endpoint_url else None,
        )
        client = boto3.session.Session().client(
            "s3",
            region_name=region,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            endpoint_url=endpoint_url,
            config=config,
        )
        return S3Bucket(client=client, bucket=bucket)

    return opened
