"""The raw model servers as processes, with the real classes of transformers on a CPU; their weights are tiny and random.

What they find means nothing. That they load, answer in the form that the backends check, refuse what is bad, let calls wait
for each other, and outlive an allocator that has no more, is what is shown here. Each starts once.
"""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx
import numpy as np
import pytest

from openvlharness_adapters.backends.openai_ocr import (
    DEEPSEEK_MODEL_ID,
    DEEPSEEK_PROMPT,
    OpenAIOcrBackend,
    chat_result,
)
from openvlharness_adapters.backends.raw_detection import GroundingDinoBackend, Sam3Backend
from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.router_client.posting import Poster
from openvlharness_adapters.router_client.raw import RawCaller
from openvlharness_adapters.runtime import SystemClock
from openvlharness_core.errors import ToolExecutionError
from tests.support.raw_servers import data_url, picture

pytestmark = [pytest.mark.heavy, pytest.mark.xdist_group("raw models")]

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-torch" / "bin" / "python"
IMAGE = picture(np.random.default_rng(0).integers(0, 255, (70, 100, 3), dtype=np.uint8))
PATHS = {
    "sam3": "/segment",
    "grounding-dino": "/detect",
    "paddle-ocr": "/v1/chat/completions",
    "deepseek-ocr": "/v1/chat/completions",
}
_FREED_BYTES = 128 << 20
"""Half of what a failed call holds, see `serving.py`."""


@attrs.frozen
class Running:
    """A server, and what the tests do to it."""

    kind: str
    base: str
    process: subprocess.Popen[str]
    full: Path

    def resident(self) -> int:
        """Bytes of memory that it really has."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * 4096

    @contextmanager
    def without_memory(self) -> Iterator[None]:
        self.full.touch()
        try:
            yield
        finally:
            self.full.unlink()

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[tuple[httpx.AsyncClient, Any]]:
        """An open client, and what asks the backend of this server once."""
        async with open_client() as client:
            poster = Poster(client=client, clock=SystemClock(), retry=0)
            more: dict[str, Any] = {"read": chat_result} if self.kind.endswith("ocr") else {}
            caller = RawCaller(poster=poster, url=self.base + PATHS[self.kind], tool="it", **more)

            async def ask() -> Any:
                match self.kind:
                    case "sam3":
                        backend = Sam3Backend(caller=caller, threshold=0.0)
                        return await backend.ground(IMAGE, "red circle", timeout_seconds=300)
                    case "grounding-dino":
                        dino = GroundingDinoBackend(caller=caller, threshold=0.0)
                        return await dino.ground(IMAGE, "red circle", timeout_seconds=300)
                    case "paddle-ocr":
                        return await OpenAIOcrBackend(caller=caller).read(IMAGE, timeout_seconds=300)
                deepseek = OpenAIOcrBackend(caller=caller, model_id=DEEPSEEK_MODEL_ID, prompt=DEEPSEEK_PROMPT)
                return await deepseek.read(IMAGE, timeout_seconds=300)

            yield client, ask


@pytest.fixture(scope="module", params=PATHS)
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    if not PYTHON.is_file():
        pytest.fail("the environment with torch was not made: `make raw-models`, a part of `make test-full`")
    folder = tmp_path_factory.mktemp(request.param)
    full = folder / "full"
    with (folder / "said").open("w+", encoding="utf-8") as said:
        command = [PYTHON, Path(__file__).with_name("serving.py"), request.param, folder / "weights", full]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True)
        assert process.stdout is not None
        try:
            found = re.search(r"http://\S+", process.stdout.readline())
            if found is None:
                process.wait(60)
                said.seek(0)
                raise AssertionError(f"{request.param} did not come up: {said.read()[-3000:]}")
            yield Running(request.param, found[0], process, full)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, "an orderly end"
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()


async def test_it_is_healthy_and_ready(running: Running) -> None:
    async with running.asking() as (client, _):
        assert (await client.get(f"{running.base}/health")).json() == {"status": "ok"}
        assert (await client.get(f"{running.base}/ready")).status_code == 200


async def test_it_answers_in_the_form_that_its_backend_checks(running: Running) -> None:
    async with running.asking() as (_, ask):
        value = (await ask()).value
    if running.kind.endswith("ocr"):
        assert value.text, "random weights write something"
        return
    assert value.size_hw == IMAGE.size_hw
    assert len(value) > 0, "a threshold of 0 keeps whatever random weights see"
    assert (value.masks is not None) == (running.kind == "sam3")


async def test_bad_requests_are_refused_by_name(running: Running) -> None:
    bad = {"model": "x"} if running.kind.endswith("ocr") else {"image": data_url(IMAGE)}
    async with running.asking() as (client, _):
        reply = await client.post(running.base + PATHS[running.kind], json=bad)
        broken = await client.post(running.base + PATHS[running.kind], content=b"{")
    assert reply.status_code == (404 if running.kind.endswith("ocr") else 422)
    assert reply.json()["error"]["message"].startswith("model" if running.kind.endswith("ocr") else "query")
    assert broken.status_code == 400


async def test_two_at_once_are_answered_alike(running: Running) -> None:
    async with running.asking() as (_, ask):
        first, second = await asyncio.gather(ask(), ask())
    assert first.value == second.value


async def test_it_outlives_an_allocator_that_has_no_more(running: Running) -> None:
    async with running.asking() as (client, ask):
        before = (await ask()).value
        resident = running.resident()
        with running.without_memory(), pytest.raises(ToolExecutionError, match="out of memory"):
            await ask()
        assert running.resident() < resident + _FREED_BYTES, "nothing of the failed call is kept"
        assert (await ask()).value == before
        assert (await client.get(f"{running.base}/ready")).status_code == 200
    assert running.process.poll() is None


def test_weights_that_are_none_are_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    command = [PYTHON, "-m", "openvlharness_app", "serve", "grounding-dino", "--device", "cpu", "--weights", tmp_path]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 2
    assert f"{tmp_path}: expected weights in the folder" in ended.stderr
