"""What the environment says about searching the web: the key, where query pictures are published, and patience.

Read where the backends are built, which is in the router's process where there is one. Faults name the variable, never
what it holds.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import attrs

from openvlharness_app.faults import ConfigurationError, Fault, nearest
from openvlharness_app.secret import Secret

KEY, KEY_FILE = "SERPER_API_KEY", "SERPER_API_KEY_FILE"
PROVIDER = "IMAGE_UPLOAD_PROVIDER"
PUBLIC_BASE, LOCAL_DIR = "IMAGE_UPLOAD_PUBLIC_BASE_URL", "IMAGE_UPLOAD_LOCAL_DIR"
EMPTY_ATTEMPTS = "SEARCH_LENS_EMPTY_MAX_ATTEMPTS"
EMPTY_BASE, EMPTY_MAX = "SEARCH_LENS_EMPTY_BACKOFF_BASE_SEC", "SEARCH_LENS_EMPTY_BACKOFF_MAX_SEC"
_PROVIDERS = ("gcs", "s3", "local")
_MOST_KEY_BYTES = 4096
_MOST_ATTEMPTS = 100


@attrs.frozen(kw_only=True)
class HostVariables:
    """Where query pictures are published.

    Attributes:
        provider: which of the following count.
        public_base_url, local_dir: of `local`.
        s3_bucket, s3_region, s3_access_key, s3_secret_key: of `s3`; without keys its SDK looks for credentials itself.
        gcs_bucket, gcs_credentials_file, gcs_project: of `gcs`.
    """

    provider: Literal["gcs", "s3", "local"]
    public_base_url: str = ""
    local_dir: Path = Path()
    s3_bucket: str = ""
    s3_region: str = "us-east-1"
    s3_access_key: Secret = Secret()
    s3_secret_key: Secret = Secret()
    gcs_bucket: str = ""
    gcs_credentials_file: Path = Path()
    gcs_project: str | None = None


@attrs.frozen(kw_only=True)
class EmptyReplyVariables:
    """How an empty reply of the search by picture is asked for again.

    Attributes:
        max_attempts: with the first.
        backoff_base_seconds: the first wait.
        backoff_max_seconds: the longest.
    """

    max_attempts: int = 4
    backoff_base_seconds: float = 0.5
    backoff_max_seconds: float = 4.0


def search_key(environment: Mapping[str, str]) -> Secret:
    """The key of the search service; the variable wins over the file.

    Raises:
        ConfigurationError: there is none, or one that cannot stand in a header.
    """
    key, name = environment.get(KEY, ""), KEY
    if not key.strip():
        file, name = environment.get(KEY_FILE, "").strip(), KEY_FILE
        if not file:
            raise _fault(KEY, f"the key of the search service, or a file with it in {KEY_FILE}", "neither")
        key = _key_in(file)
    if not key.isascii() or not key.isprintable():
        raise _fault(
            name, "a key of printable ASCII characters", "one with a control character or a letter beyond them"
        )
    return Secret(key.strip())


def default_upload_dir() -> Path:
    """Where `local` publishes unless told otherwise; it follows TMPDIR."""
    return Path(tempfile.gettempdir()) / "openvlharness-uploads"


def upload_dir(environment: Mapping[str, str]) -> Path:
    """Where `local` publishes."""
    named = environment.get(LOCAL_DIR, "").strip()
    return Path(named) if named else default_upload_dir()


def image_host(environment: Mapping[str, str]) -> HostVariables:
    """Where query pictures are published.

    Raises:
        ConfigurationError: every variable that is missing or does not fit.
    """
    provider = environment.get(PROVIDER, "").strip().lower() or "gcs"
    if provider not in _PROVIDERS:
        fault = Fault(
            key=PROVIDER,
            expected=f"one of {', '.join(_PROVIDERS)}",
            got="something else",
            suggestion=nearest(provider, _PROVIDERS),
        )
        raise ConfigurationError([fault])

    def value(name: str) -> str:
        return environment.get(name, "").strip()

    faults = list(_host_faults(provider, value(PUBLIC_BASE), environment))
    if faults:
        raise ConfigurationError(faults)
    if provider == "local":
        return HostVariables(provider="local", public_base_url=value(PUBLIC_BASE), local_dir=upload_dir(environment))
    if provider == "s3":
        return HostVariables(
            provider="s3",
            s3_bucket=value("AWS_S3_BUCKET_NAME"),
            s3_region=value("AWS_S3_REGION") or "us-east-1",
            s3_access_key=Secret(value("AWS_ACCESS_KEY_ID")),
            s3_secret_key=Secret(value("AWS_SECRET_ACCESS_KEY")),
        )
    return HostVariables(
        provider="gcs",
        gcs_bucket=value("GCS_BUCKET_NAME"),
        gcs_credentials_file=Path(value("GOOGLE_APPLICATION_CREDENTIALS")),
        gcs_project=value("GCS_PROJECT_ID") or None,
    )


def empty_replies(environment: Mapping[str, str]) -> EmptyReplyVariables:
    """How an empty reply is asked for again.

    Raises:
        ConfigurationError: every variable that does not fit.
    """
    faults: list[Fault] = []
    attempts = _number(environment, EMPTY_ATTEMPTS, 4, faults, whole=True)
    base = _number(environment, EMPTY_BASE, 0.5, faults)
    longest = _number(environment, EMPTY_MAX, 4.0, faults)
    if faults:
        raise ConfigurationError(faults)
    return EmptyReplyVariables(max_attempts=int(attempts), backoff_base_seconds=base, backoff_max_seconds=longest)


def _key_in(file: str) -> str:
    expected = "the path of a file that holds the key and nothing else"
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(_MOST_KEY_BYTES + 1)
    except OSError as error:
        raise _fault(
            KEY_FILE, expected, f"one that cannot be read ({error.strerror or type(error).__name__})"
        ) from None
    key = data.decode("utf-8", "replace").strip()
    if len(data) > _MOST_KEY_BYTES or not key:
        raise _fault(KEY_FILE, expected, "one that is blank" if not key else "one that is too long")
    return key


def _host_faults(provider: str, base: str, environment: Mapping[str, str]) -> Iterator[Fault]:
    needed = {
        "local": (PUBLIC_BASE,),
        "s3": ("AWS_S3_BUCKET_NAME",),
        "gcs": ("GCS_BUCKET_NAME", "GOOGLE_APPLICATION_CREDENTIALS"),
    }
    for name in needed[provider]:
        if not environment.get(name, "").strip():
            yield Fault(key=name, expected=f"a value, since {PROVIDER} is {provider}", got="none")
    if provider == "local" and base and not _is_base(base):
        yield Fault(key=PUBLIC_BASE, expected="an http(s) URL without user, password and query", got="something else")
    keys = [bool(environment.get(name, "").strip()) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    if provider == "s3" and keys[0] != keys[1]:
        yield Fault(
            key="AWS_SECRET_ACCESS_KEY", expected="set together with AWS_ACCESS_KEY_ID", got="one without the other"
        )


def _is_base(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port_fits = parts.port is None or parts.port > 0
    except ValueError:
        return False
    plain = not (parts.username or parts.password or parts.query or parts.fragment)
    return port_fits and plain and parts.scheme in ("http", "https") and bool(parts.hostname) and text.isprintable()


def _number(
    environment: Mapping[str, str], name: str, default: float, faults: list[Fault], *, whole: bool = False
) -> float:
    text = environment.get(name, "").strip()
    if not text:
        return default
    expected = f"a whole number from 1 to {_MOST_ATTEMPTS}" if whole else "seconds, 0 or more"
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        number = math.nan
    fits = 1 <= number <= _MOST_ATTEMPTS if whole else 0 <= number < math.inf
    if not fits:
        faults.append(Fault(key=name, expected=expected, got="something else"))
    return number


def _fault(key: str, expected: str, got: str) -> ConfigurationError:
    return ConfigurationError([Fault(key=key, expected=expected, got=got)])
