"""A question whose process is killed, at every event and in the middle of saving one, is continued as if nothing had been."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.rooms import ROOT
from tests.integration.dying import FIRST, SECOND, TURNS

pytestmark = pytest.mark.xdist_group("kill")  # one worker, since the children are asked for both tests at once


def _graves(root: Path, protocol: str, every: int) -> Path:
    """One folder a child."""
    command = [sys.executable, "-m", "tests.integration.dying", str(root), protocol, str(every)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return root


@pytest.fixture(scope="module")
def graves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Over Chat Completions; every third operation on the disk is one that a child dies at."""
    return _graves(tmp_path_factory.mktemp("graves"), "chat_completions", 3)


@pytest.fixture(scope="module")
def sealed_graves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Over Responses, with reasoning that comes sealed; the disk does not know the protocol, so nobody dies at it."""
    return _graves(tmp_path_factory.mktemp("sealed"), "responses", 0)


def _requests(folder: Path, name: str) -> list[bytes]:
    path = folder / f"requests.{name}"
    return path.read_bytes().splitlines() if path.exists() else []


def _whole(root: Path) -> list[bytes]:
    whole = _requests(root / "whole", FIRST)
    assert len(whole) == TURNS
    return whole


def _check(root: Path, folder: Path) -> None:
    """The end, and the pictures: none was written a second time, and all are there."""
    found = json.loads((folder / "found").read_text())
    assert found["ends"] == [-9, 0], folder.name
    assert found["before"].items() <= found["after"].items(), folder.name
    names = {path.name for path in (root / "whole" / "run" / "checkpoint").iterdir()}
    assert set(found["after"]) == names, folder.name
    left_over = [path.name for path in (folder / "run").rglob("*.partial")]
    assert left_over == [], folder.name
    assert (folder / f"outcome.{SECOND}").read_text() == (root / "whole" / f"outcome.{FIRST}").read_text(), folder.name


@pytest.mark.parametrize("name", ["graves", "sealed_graves"])
def test_killed_after_every_event(name: str, request: pytest.FixtureRequest) -> None:
    """What the model got from the first process and then from the second is what one process sends: not a request twice."""
    root: Path = request.getfixturevalue(name)
    whole = _whole(root)
    folders = sorted(root.glob("after-*"))
    assert len(folders) == 2 * TURNS - 1  # a save for the start, one a reply, one a call that ran, the last left out
    for folder in folders:
        assert _requests(folder, FIRST) + _requests(folder, SECOND) == whole, folder.name
        _check(root, folder)


def test_sealed_reasoning_goes_back_in_the_last_request(sealed_graves: Path) -> None:
    """Otherwise the test above would show nothing of it."""
    items = json.loads(_whole(sealed_graves)[-1])["input"]
    sealed = [item["encrypted_content"] for item in items if item.get("type") == "reasoning"]
    assert sealed == [f"SEALED-{number}" for number in range(1, TURNS)]


def test_killed_in_the_middle_of_saving(graves: Path) -> None:
    """The event that was being saved is lost, so the request behind it may go out again, and no other."""
    whole = _whole(graves)
    folders = sorted(graves.glob("at-*"))
    assert len(folders) > 30
    again = 0
    for folder in folders:
        first, second = _requests(folder, FIRST), _requests(folder, SECOND)
        assert first == whole[: len(first)], folder.name
        assert second == whole[len(whole) - len(second) :], folder.name
        assert len(first) + len(second) - len(whole) in {0, 1}, folder.name
        again += len(first) + len(second) > len(whole)
        _check(graves, folder)
    assert 0 < again < len(folders)
