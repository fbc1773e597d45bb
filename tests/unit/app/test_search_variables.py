"""One test a variable of the web searches: what it does, and what is said of it when it does not fit."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from openvlharness_app.faults import ConfigurationError
from openvlharness_app.search_variables import (
    EmptyReplyVariables,
    empty_replies,
    image_host,
    search_key,
    upload_dir,
)

CANARY = "CANARY-1"
GCS = {"GCS_BUCKET_NAME": "b", "GOOGLE_APPLICATION_CREDENTIALS": "/keys/g.json"}
S3 = {"IMAGE_UPLOAD_PROVIDER": "s3", "AWS_S3_BUCKET_NAME": "b"}
LOCAL = {"IMAGE_UPLOAD_PROVIDER": "local", "IMAGE_UPLOAD_PUBLIC_BASE_URL": "https://images.example/q"}


def _faults(error: ConfigurationError) -> list[str]:
    assert CANARY not in "".join(traceback.format_exception(error))
    return [str(fault) for fault in error.faults]


def test_the_key_wins_over_its_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{CANARY}\n")
    assert search_key({"SERPER_API_KEY": "k", "SERPER_API_KEY_FILE": str(file)}).reveal() == "k"
    assert search_key({"SERPER_API_KEY": " ", "SERPER_API_KEY_FILE": str(file)}).reveal() == CANARY
    assert CANARY not in repr(search_key({"SERPER_API_KEY_FILE": str(file)}))


@pytest.mark.parametrize("key", [f"{CANARY}\n", f"{CANARY}\x00", f"{CANARY}ü"])
def test_a_key_that_cannot_be_sent_is_named_and_not_shown(key: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as failure:
        search_key({"SERPER_API_KEY": key})
    assert _faults(failure.value)[0].startswith("SERPER_API_KEY: expected a key of printable ASCII")
    file = tmp_path / "key"
    file.write_text(f"{CANARY}\x00x", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="SERPER_API_KEY_FILE: expected a key of printable ASCII"):
        search_key({"SERPER_API_KEY_FILE": str(file)})


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read"), (" \n", "blank"), ("x" * 5000, "too long")])
def test_a_file_without_a_key_says_what_is_wrong(content: str | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigurationError, match=f"SERPER_API_KEY_FILE: .*{words}"):
        search_key({"SERPER_API_KEY_FILE": str(file)})


def test_no_key_at_all() -> None:
    with pytest.raises(ConfigurationError, match=r"SERPER_API_KEY: expected the key .* or a file .* got neither"):
        search_key({})


def test_gcs_is_the_default() -> None:
    host = image_host({**GCS, "GCS_PROJECT_ID": "p"})
    assert (host.provider, host.gcs_bucket, host.gcs_project) == ("gcs", "b", "p")
    assert host.gcs_credentials_file == Path("/keys/g.json")
    assert image_host({**GCS, "IMAGE_UPLOAD_PROVIDER": "GCS"}).gcs_project is None


def test_s3_and_its_default_region() -> None:
    assert image_host(S3).s3_region == "us-east-1"
    assert not image_host(S3).s3_access_key
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": CANARY, "AWS_S3_REGION": "eu-west-1"}
    host = image_host(S3 | keys)
    assert (host.s3_region, host.s3_access_key.reveal(), host.s3_secret_key.reveal()) == ("eu-west-1", "a", CANARY)
    assert CANARY not in repr(host)


def test_the_local_folder_follows_tmpdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert image_host(LOCAL).local_dir == upload_dir({}) == tmp_path / "openvlharness-uploads"
    assert image_host({**LOCAL, "IMAGE_UPLOAD_LOCAL_DIR": "/srv/q"}).local_dir == Path("/srv/q")


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({}, ["GCS_BUCKET_NAME", "GOOGLE_APPLICATION_CREDENTIALS"]),
        ({"IMAGE_UPLOAD_PROVIDER": "s3"}, ["AWS_S3_BUCKET_NAME"]),
        ({"IMAGE_UPLOAD_PROVIDER": "local"}, ["IMAGE_UPLOAD_PUBLIC_BASE_URL"]),
        ({"IMAGE_UPLOAD_PROVIDER": CANARY}, ["IMAGE_UPLOAD_PROVIDER"]),
        ({**S3, "AWS_ACCESS_KEY_ID": CANARY}, ["AWS_SECRET_ACCESS_KEY"]),
        ({**LOCAL, "IMAGE_UPLOAD_PUBLIC_BASE_URL": f"https://u:{CANARY}@h/"}, ["IMAGE_UPLOAD_PUBLIC_BASE_URL"]),
        ({**LOCAL, "IMAGE_UPLOAD_PUBLIC_BASE_URL": "images.example"}, ["IMAGE_UPLOAD_PUBLIC_BASE_URL"]),
        ({**LOCAL, "IMAGE_UPLOAD_PUBLIC_BASE_URL": "http://h:x/"}, ["IMAGE_UPLOAD_PUBLIC_BASE_URL"]),
    ],
)
def test_what_is_missing_or_does_not_fit_is_named_all_at_once(environment: dict[str, str], named: list[str]) -> None:
    with pytest.raises(ConfigurationError) as failure:
        image_host(environment)
    assert [fault.partition(":")[0] for fault in _faults(failure.value)] == named


def test_patience_has_its_defaults_and_is_changed_by_variables() -> None:
    assert empty_replies({}) == EmptyReplyVariables(max_attempts=4, backoff_base_seconds=0.5, backoff_max_seconds=4.0)
    changed = {
        "SEARCH_LENS_EMPTY_MAX_ATTEMPTS": "2",
        "SEARCH_LENS_EMPTY_BACKOFF_BASE_SEC": "0",
        "SEARCH_LENS_EMPTY_BACKOFF_MAX_SEC": "9.5",
    }
    assert empty_replies(changed) == EmptyReplyVariables(
        max_attempts=2, backoff_base_seconds=0.0, backoff_max_seconds=9.5
    )


@pytest.mark.parametrize("value", ["0", "1.5", "x", "nan", "-1", "101"])
def test_attempts_are_counted_in_whole_numbers(value: str) -> None:
    with pytest.raises(ConfigurationError, match="SEARCH_LENS_EMPTY_MAX_ATTEMPTS: expected a whole number from 1"):
        empty_replies({"SEARCH_LENS_EMPTY_MAX_ATTEMPTS": value})


@pytest.mark.parametrize("value", ["-1", "inf", "nan", "soon"])
def test_both_waits_are_seconds_and_told_together(value: str) -> None:
    names = ["SEARCH_LENS_EMPTY_BACKOFF_BASE_SEC", "SEARCH_LENS_EMPTY_BACKOFF_MAX_SEC"]
    with pytest.raises(ConfigurationError) as failure:
        empty_replies(dict.fromkeys(names, value))
    assert [fault.key for fault in failure.value.faults] == names
