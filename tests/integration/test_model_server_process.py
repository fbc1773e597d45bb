"""A raw model server as a process, its model a double: it listens, answers, ends in order, and says what it lacks."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from openvlharness_adapters.http.connections import open_client
from tests.support.raw_servers import data_url, picture

ROOT = Path(__file__).resolve().parents[2]

# `slow` holds a call until the file is gone, so that the test decides when it ends.
_PROGRAM = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
slow = Path(sys.argv[2])
import attrs
from openvlharness_adapters.runtime import SystemClock
from openvlharness_adapters.servers.applications import detection_server
from openvlharness_app.building import model_servers
from openvlharness_app.cli import model_serving
from tests.support.raw_servers import ColourDetector

def before(image):
    slow.with_suffix(".begun").touch()
    while slow.exists():
        time.sleep(0.01)

def made(kind, weights, *, served_as, device, memory_fraction, limits):
    assert (kind, weights.place, memory_fraction, limits.drain_seconds) == ("sam3", "/weights", 0.5, 60.0), locals()
    return detection_server("sam3", "segment", ColourDetector(before=before), release=lambda: None, clock=SystemClock(), limits=limits)

model_serving.model_server = made
model_serving._needs = lambda name, kind: None
from openvlharness_app.cli.main import main
main(["serve", "sam3", "--port", "0", "--drain-seconds", "60"])
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    return tmp_path / "slow"


@pytest.fixture
def server(slow: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    import os

    environment = {**os.environ, "SAM3_MODEL_PATH": "/weights", "GPU_MEM_FRACTION": "0.5"}
    command = [sys.executable, "-c", _PROGRAM, str(ROOT), str(slow)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        found = re.search(r"sam3 on (http://\S+)", process.stdout.readline())
        assert found is not None, process.stderr.read()
        yield process, found[1]
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def hold(slow: Path) -> None:
    slow.touch()


def let_go(slow: Path) -> None:
    slow.unlink()


async def test_a_stop_lets_the_running_call_end(server: tuple[subprocess.Popen[str], str], slow: Path) -> None:
    process, base = server
    pixels = np.full((40, 60, 3), 255, np.uint8)
    pixels[10:20, 10:30] = (220, 30, 40)
    asked = {"image": data_url(picture(pixels)), "query": "red"}
    hold(slow)
    async with open_client() as client:
        assert (await client.get(f"{base}/ready")).status_code == 200
        running = asyncio.ensure_future(client.post(f"{base}/segment", json=asked))
        await _until(slow.with_suffix(".begun").exists)
        process.send_signal(signal.SIGTERM)
        await _until_status(client, f"{base}/ready", 503)
        refused = await client.post(f"{base}/segment", json=asked)
        assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
        assert (await client.get(f"{base}/health")).status_code == 200
        let_go(slow)
        reply = await running
    assert reply.status_code == 200
    assert reply.json()["pred_boxes"] == [[10.0, 10.0, 30.0, 20.0]]
    assert await asyncio.to_thread(process.wait, 60) == 0


async def _until(condition: object) -> None:
    for _ in range(6000):
        if condition():  # type: ignore[operator]
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came to that")


async def _until_status(client: httpx.AsyncClient, url: str, status: int) -> None:
    for _ in range(6000):
        if (await client.get(url)).status_code == status:
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came to that")


@pytest.mark.parametrize(
    ("name", "missing", "words"),
    [
        ("sam3", "torch", r"pip install 'openvlharness\[sam3\]'"),
        ("paddle-ocr", "transformers", r"pip install 'openvlharness\[ocr\]'"),
        ("depth-anything", "depth_anything_3", r"docs/deployment\.md"),
        ("vggt", "vggt", r"docs/deployment\.md"),
    ],
)
def test_what_is_not_installed_is_said_with_how_to_get_it(name: str, missing: str, words: str) -> None:
    program = (
        "import importlib.util as u; real = u.find_spec\n"
        f"u.find_spec = lambda name, *a: None if name == '{missing}' else real('attrs')\n"
        f"from openvlharness_app.cli.main import main; main(['serve', '{name}'])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 2
    assert re.search(rf"{missing} not installed.*{words}", ended.stderr)
