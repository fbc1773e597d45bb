"""Run by test_kill.py in a process of its own: asks one question again and again, in children that kill themselves.

`python -m tests.integration.dying FOLDER PROTOCOL EVERY`: every so many operations on the disk are survived, and at the
next one a child dies; 0 for none of those. Each child has a folder below: `requests` holds what the model was sent, one
body a line, `run` the checkpoints, `outcome` the answer and a digest of the trajectory, `found` what lay there when the child was dead.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

import attrs
import pytest

from contracts.ports.sample_question import (
    CODING,
    OCR,
    SURVEY,
    ZOOM,
    sample_agent,
    sample_policy,
    sample_question,
    sample_toolset,
)
from openvlharness_adapters.files.report_store import DirectoryReportStore
from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_adapters.models.responses_encoder import ResponsesEncoder
from openvlharness_adapters.models.responses_reply import reply_from_wire
from openvlharness_core.agent.checkpoint import Checkpoint
from openvlharness_core.messages import ModelReply, ModelRequest
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing import InlineOffload, calling, saying
from tests.support.failing_disk import Disk

TURNS = 15
FIRST, SECOND = "first", "second"
ENCODERS: Mapping[str, Callable[[], ChatEncoder | ResponsesEncoder]] = {
    "chat_completions": lambda: ChatEncoder(
        profile=ModelProfile(alias="any", replay_fields=("details",)), opening=b'{"model":"m","messages":['
    ),
    "responses": lambda: ResponsesEncoder(
        profile=ModelProfile(alias="any", adapter="responses"), opening=b'{"model":"m","input":['
    ),
}

_write = os.write  # the real one: what the model got is no operation of the store


@attrs.define
class LoggingModel:
    """Says the same at the same request, and logs the bytes that it would have been sent."""

    log: Path
    protocol: str
    encoder: ChatEncoder | ResponsesEncoder = attrs.field(init=False)

    @encoder.default
    def _of_the_protocol(self) -> ChatEncoder | ResponsesEncoder:
        return ENCODERS[self.protocol]()

    async def complete(self, request: ModelRequest) -> ModelReply:
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        _write(descriptor, b"".join(self.encoder.body(request)) + b"\n")
        os.close(descriptor)
        number = request.iteration
        if number == TURNS:
            return saying("<answer>42</answer>")
        tools = {
            3: calling(OCR, {"image_id": "tool_generated_image_1"}),
            5: calling(SURVEY, {"image_id": "tool_generated_image_2"}),
            7: calling(CODING, {"objective": "Plot."}),
            9: calling(ZOOM, {"image_id": "nowhere", "coords": [0, 0, 1, 1]}),
            11: calling(OCR, {"image_id": "input_image_2"}),  # downloads it
        }
        crop = {"image_id": "input_image_1", "coords": [0, 0, 50 * number, 1000]}
        reply = tools.get(number, calling(ZOOM, crop, text=f"Looking, {number}."))
        if self.protocol == "responses":
            return sealed(reply, number)
        return attrs.evolve(reply, reasoning="Hm.", extras=json.dumps({"details": [number]}))


def sealed(reply: ModelReply, number: int) -> ModelReply:
    """The reply as it comes over the Responses protocol, behind an item of reasoning that only the provider can read."""
    summary = [{"type": "summary_text", "text": "Hm."}]
    items: list[dict[str, object]] = [
        {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": f"SEALED-{number}"}
    ]
    if reply.text:
        content = [{"type": "output_text", "text": reply.text}]
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
        items.append({**message, "content": content})
    for call in reply.calls:
        called = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        items.append({**called, "name": call.tool, "arguments": call.arguments})
    return reply_from_wire({"status": "completed", "output": items})


@attrs.define
class DyingStore:
    """The directory store, and an end right behind save number `dies_after`."""

    inner: DirectoryReportStore
    dies_after: int
    saves: int = 0

    async def save_checkpoint(self, checkpoint: Checkpoint, location: str) -> None:
        await self.inner.save_checkpoint(checkpoint, location)
        self.saves += 1
        if self.saves == self.dies_after:
            die()


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def ask(folder: Path, name: str, protocol: str, dies_after: int = 0) -> int:
    """Ask the question, or continue it where there is a checkpoint; return the number of saves."""
    directory = DirectoryReportStore(InlineOffload())
    store = DyingStore(directory, dies_after)
    location = str(folder / "run")
    model = LoggingModel(folder / f"requests.{name}", protocol)
    agent = sample_agent(
        [], model=model, store=store, policy=sample_policy(max_iterations=TURNS + 1), toolset=sample_toolset()
    )  # type: ignore[arg-type]
    if (folder / "run" / "checkpoint.jsonl").exists():
        report = await agent.resume(await directory.load_checkpoint(location), checkpoint_to=location)
    else:
        report = await agent.answer(sample_question(), task_id="t", checkpoint_to=location)
    outcome = [report.answer, hashlib.sha256(repr((report.steps, report.images)).encode()).hexdigest()]
    (folder / f"outcome.{name}").write_text(json.dumps(outcome))
    return store.saves


def child(folder: Path, name: str, protocol: str, *, dies_after: int = 0, dies_at: int = 0) -> int:
    """Ask in a child and return how it ended: its exit code, or minus the signal."""
    _made(folder)
    pid = os.fork()
    if pid == 0:
        _in_child(folder, name, protocol, dies_after, dies_at)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def _in_child(folder: Path, name: str, protocol: str, dies_after: int, dies_at: int) -> NoReturn:
    try:
        disk = Disk(pytest.MonkeyPatch())
        disk.fail_at(dies_at, die)
        saves = asyncio.run(ask(folder, name, protocol, dies_after))
        (folder / f"counts.{name}").write_text(json.dumps([saves, disk.count]))
        os._exit(0)
    finally:
        os._exit(1)


def pictures(folder: Path) -> dict[str, list[int]]:
    """Content files by name: which file it is, and when it was written."""
    files = (folder / "run" / "checkpoint").glob("[0-9a-f]*")
    return {path.name: [path.stat().st_ino, path.stat().st_mtime_ns] for path in files}


def kill_and_continue(folder: Path, protocol: str, *, dies_after: int = 0, dies_at: int = 0) -> None:
    first = child(folder, FIRST, protocol, dies_after=dies_after, dies_at=dies_at)
    found = pictures(folder)
    second = child(folder, SECOND, protocol)
    (folder / "found").write_text(json.dumps({"ends": [first, second], "before": found, "after": pictures(folder)}))


def main(root: Path, protocol: str, every: int) -> None:
    asyncio.run(ask(_made(root / "warm"), FIRST, protocol))  # whatever is made at first use, children find made
    asyncio.run(DirectoryReportStore(InlineOffload()).load_checkpoint(str(root / "warm" / "run")))
    gc.disable()  # children live for a moment
    gc.freeze()
    child(root / "whole", FIRST, protocol)
    saves, operations = json.loads((root / "whole" / f"counts.{FIRST}").read_text())
    for number in range(1, saves):  # behind the last one there is nothing left to continue
        kill_and_continue(root / f"after-{number}", protocol, dies_after=number)
    for number in range(1, operations, every) if every else ():
        kill_and_continue(root / f"at-{number}", protocol, dies_at=number)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
