"""A bucket of Google Cloud Storage. The extra `gcs` brings its SDK, imported when the first picture is published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import attrs

from openvlharness_adapters.hosting.host import SIGNED_SECONDS, HostingError
from openvlharness_adapters.hosting.objects import Bucket

PROVIDER = "gcs"
_SECONDS = 30


@attrs.frozen(kw_only=True)
class GcsBucket:
    """The `Bucket` over a bucket of the SDK.

    Attributes:
        bucket: of `google.cloud.storage`.
        signing: further arguments of `generate_signed_url`, such as credentials other than the client's.
    """

    bucket: Any = attrs.field(repr=False)
    signing: Mapping[str, Any] = attrs.field(factory=dict, repr=False)

    def put(self, name: str, data: bytes, media_type: str) -> str:
        """See `Bucket`."""
        blob = self.bucket.blob(name)
        blob.upload_from_string(data, content_type=media_type, timeout=_SECONDS)
        url: str = blob.generate_signed_url(
            version="v4", expiration=timedelta(seconds=SIGNED_SECONDS), method="GET", **self.signing
        )
        return url

    def delete(self, name: str) -> None:
        """See `Bucket`."""
        self.bucket.blob(name).delete(timeout=_SECONDS)


def gcs_bucket(bucket: str, *, credentials_file: Path, project: str | None = None) -> Callable[[], Bucket]:
    """How to open a bucket.

    Args:
        bucket: its name.
        credentials_file: key file of a service account, which also signs the addresses.
        project: if it is not the account's own.
    """

    def opened() -> Bucket:
        try:
            from google.cloud import storage
        except ModuleNotFoundError:
            raise HostingError(PROVIDER, "it needs the extra: pip install 'openvlharness[gcs]'") from None
        if not credentials_file.is_file():
            raise HostingError(PROVIDER, f"there is no key file of a service account at {credentials_file}")
        options = {} if project is None else {"project": project}
        client = storage.Client.from_service_account_json(str(credentials_file), **options)
        return GcsBucket(bucket=client.bucket(bucket))

    return opened
