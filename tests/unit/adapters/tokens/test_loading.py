"""From a profile's tokenizer to a counter: files, the hub, and every way in which there is none."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openvlharness_adapters.tokens import loading, open_counter
from openvlharness_core.errors import HarnessError, TokenizerUnavailableError
from openvlharness_core.messages import SystemMessage
from tests.support.small_tokenizer import counting_profile, small_tokenizer

ROOT = Path(__file__).parents[4]
HUB_NAME = "someone/small-tokenizer"
COMMIT = "0" * 39 + "1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    small_tokenizer().save(str(path))
    return path


def refusal(named: str | None, timeout_seconds: float = 30.0, **fields: object) -> TokenizerUnavailableError:
    with pytest.raises(TokenizerUnavailableError) as refused:
        open_counter(counting_profile(tokenizer=named, **fields), timeout_seconds=timeout_seconds)
    assert isinstance(refused.value, HarnessError)
    return refused.value


def test_a_file_and_its_folder_give_the_same_counter(file: Path) -> None:
    for named in (file, file.parent):
        counter = open_counter(counting_profile(tokenizer=str(named)))
        expected = 5 + len(small_tokenizer().encode("How many pills?").ids)
        assert counter.count([(SystemMessage(text="How many pills?"),)], ()) == (expected, 0)


def test_a_path_may_begin_at_home(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(file.parent))
    assert open_counter(counting_profile(tokenizer="~/tokenizer.json")).count([], ()) == (0,)


@pytest.mark.parametrize("named", ["missing.json", "/missing/folder", "./missing", "~/missing.json"])
def test_a_path_is_not_looked_for_on_the_hub(named: str) -> None:
    error = refusal(named)
    assert error.tokenizer == named
    assert error.reason.startswith("FileNotFoundError: no file ")


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"model": {"type": "BPE"}}', "\0\1\2"])
def test_a_file_that_holds_no_tokenizer_is_said(file: Path, content: str) -> None:
    file.write_text(content)
    error = refusal(str(file))
    assert str(error).startswith(f"{file}: ")
    assert len(error.reason) < 400


@pytest.mark.parametrize("named", [None, ""])
def test_a_profile_that_names_none_is_said(named: str | None) -> None:
    assert str(refusal(named)) == "profile counting: expected a tokenizer, got none"


def test_a_profile_without_a_picture_rule_is_said_before_anything_is_loaded() -> None:
    assert "expected image_token_patch and image_token_pixels" in refusal(HUB_NAME, image_token_patch=None).reason


def test_loading_that_does_not_end_is_left(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, release = threading.Event(), threading.Event()

    def hang(*_: object) -> object:
        begun.set()
        release.wait()
        raise OSError("released at last")

    monkeypatch.setattr(loading, "_load", hang)
    try:
        assert refusal(str(file), timeout_seconds=0.01).reason == "not loaded within 0.01 seconds"
        assert begun.wait(30)
    finally:
        release.set()


def test_what_is_no_exception_is_said_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """As the Rust side raises it."""

    def panic(*_: object) -> object:
        raise Panic("index out of bounds")

    monkeypatch.setattr(loading, "_load", panic)
    assert refusal(str(file)).reason == "Panic: index out of bounds"


def test_a_missing_package_names_the_extra(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert "pip install 'openvlharness[models]'" in refusal(str(file)).reason


# The hub reads its variables when it is imported, so these tests have a process of their own.


class Hub(http.server.BaseHTTPRequestHandler):
    """Serves one tokenizer, as the hub does."""

    asked: list[str]
    content: bytes

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.asked.append(f"{self.command} {self.path}")
        found = self.path == f"/{HUB_NAME}/resolve/main/tokenizer.json"
        content = self.content if found else b'{"error": "Repository not found"}'
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(content)))
        if found:
            self.send_header("ETag", '"etag-1"')
            self.send_header("X-Repo-Commit", COMMIT)
        else:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def hub() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    handler = type("Asked", (Hub,), {"asked": asked, "content": small_tokenizer().to_str().encode()})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


_PROGRAM = """
import json, sys
from openvlharness_adapters.tokens import open_counter
from openvlharness_core.errors import TokenizerUnavailableError
from openvlharness_core.messages import SystemMessage
from tests.support.small_tokenizer import counting_profile

said = []
for name in sys.argv[1:]:
    try:
        counter = open_counter(counting_profile(tokenizer=name))
        said.append(counter.count([(SystemMessage(text="How many pills?"),)], ())[0])
    except TokenizerUnavailableError as error:
        said.append(error.reason)
print(json.dumps(said))
"""


def opened(home: Path, endpoint: str, *names: str, **variables: str) -> list[int | str]:
    """What a fresh process makes of hub names: a count of a known text each, or the reason for none."""
    ours = {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "127.0.0.1"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *names],
        cwd=ROOT,
        env=inherited | ours | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    said: list[int | str] = json.loads(ran.stdout.splitlines()[-1])
    return said


def test_a_hub_name_is_downloaded_once_and_then_needs_no_hub(tmp_path: Path) -> None:
    expected = 5 + len(small_tokenizer().encode("How many pills?").ids)
    with hub() as (endpoint, asked):
        counted, reason = opened(tmp_path, endpoint, HUB_NAME, "someone/no-such-model")
        assert counted == expected
        assert isinstance(reason, str)
        assert "RepositoryNotFoundError" in reason
        assert sum(line.startswith("GET") and HUB_NAME in line for line in asked) == 1
        before = len(asked)
        assert opened(tmp_path, endpoint, HUB_NAME) == [expected]
        assert opened(tmp_path, endpoint, HUB_NAME, HF_HUB_OFFLINE="1") == [expected]
        assert len(asked) == before


def test_offline_asks_nobody(tmp_path: Path) -> None:
    with hub() as (endpoint, asked):
        for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
            (reason,) = opened(tmp_path, endpoint, HUB_NAME, **{variable: "1"})
            assert isinstance(reason, str)
            assert "not in the hub's cache, and HF_HUB_OFFLINE" in reason
        assert asked == []
