"""The log of one question's checkpoints: one line a save, each holding what is new since the line before.

A line carries a checksum over itself and the line before it. Whatever a process that died left behind the last whole
line counts for nothing, and is cut off before the next line is written. Pictures and arrays lie in content files, which
are on the disk before the line that names them is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from pathlib import Path

import attrs

from openvlharness_adapters.files.content_files import ContentFolder
from openvlharness_adapters.files.durable import reading, sync_directory, write_all, write_new, writing
from openvlharness_adapters.files.json_places import Place, json_place
from openvlharness_adapters.files.state_delta import StateDelta
from openvlharness_adapters.files.state_json import StateJson
from openvlharness_adapters.files.text_table import TextTable
from openvlharness_core.agent.checkpoint import Checkpoint
from openvlharness_core.agent.state import TurnState
from openvlharness_core.errors import SavedFileError

CHECKPOINT_SCHEMA = "openvlharness.checkpoint/1"
LOG = "checkpoint.jsonl"
CONTENT = "checkpoint"

_HEAD = b'{"check":"'
_CHECK_LENGTH = 16
_BODY_AT = len(_HEAD) + _CHECK_LENGTH + len(b'",')


@attrs.define(eq=False)
class CheckpointLog:
    """Reads and writes the log of one directory; one question at a time, from any thread.

    Attributes:
        directory: where the log and the folder of its content files lie.
    """

    directory: Path
    _content: ContentFolder = attrs.field(init=False)
    _delta: StateDelta = attrs.field(init=False)
    _state: TurnState = attrs.field(factory=TurnState, init=False)
    _end: int = attrs.field(default=0, init=False)
    _check: bytes = attrs.field(default=b"", init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._begin()

    @property
    def path(self) -> Path:
        """The file of lines."""
        return self.directory / LOG

    def save(self, checkpoint: Checkpoint) -> None:
        """Append what is new. A question that is not the one of the last line begins a log of its own, which takes the place of this one.

        Raises:
            SavedFileError: it cannot be written; the checkpoint before it stays the newest.
        """
        with self._lock, writing(self.path):
            if not self._continues(checkpoint.state):
                self._begin()
            try:
                line, check = self._line(checkpoint)
                self._content.sync()
                if self._end:
                    self._append(line)
                else:
                    line = self._replace(line)
            except BaseException:
                self._delta.json.texts.rollback()
                raise
            self._delta.json.texts.commit()
            self._state, self._check, self._end = checkpoint.state, check, self._end + len(line)

    def load(self) -> Checkpoint:
        """The newest whole checkpoint; the next `save` continues from it.

        Raises:
            SavedFileError: there is none, or not one of ours, naming file and line.
        """
        with self._lock:
            self._begin()
            with reading(self.path):
                data = self.path.read_bytes()
            bodies, self._check, self._end = _whole_lines(str(self.path), data)
            if len(bodies) < 2 or bodies[0]["schema"].value != CHECKPOINT_SCHEMA:
                self._begin()
                raise SavedFileError(str(self.path), f"expected a log of {CHECKPOINT_SCHEMA}, found none")
            state, seconds = TurnState(), 0.0
            try:
                for body in bodies[1:]:
                    for text in body["texts"].items():
                        self._delta.json.texts.learn(text)
                    if body["state"].value is not None:
                        state = self._delta.changed(state, body["state"], TurnState)
                    seconds = body["seconds"].number()
            except SavedFileError:
                self._begin()
                raise
            self._state = state
            return Checkpoint(state=state, seconds=seconds)

    def _begin(self) -> None:
        """Forget everything, so that the next line starts from nothing."""
        self._content = ContentFolder(self.directory / CONTENT)
        self._delta = StateDelta(StateJson(TextTable(), self._content, str(self.path)))
        self._state, self._end, self._check = TurnState(), 0, b""

    def _continues(self, state: TurnState) -> bool:
        """Whether a state is a later one of the question in the log, and the log is still there."""
        if not self._end or state.intake is not self._state.intake:
            return False
        with contextlib.suppress(FileNotFoundError):
            return self.path.stat().st_size >= self._end
        return False

    def _line(self, checkpoint: Checkpoint) -> tuple[bytes, bytes]:
        change = self._delta.change(self._state, checkpoint.state, TurnState)
        body = {"seconds": checkpoint.seconds, "texts": self._delta.json.texts.fresh, "state": change}
        before = self._check or _sealed(_HEADER, b"")[1]
        return _sealed(body, before)

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_size > self._end:  # half a line of somebody who died, or of a full disk
                os.ftruncate(descriptor, self._end)
            os.lseek(descriptor, self._end, os.SEEK_SET)
            try:
                write_all(descriptor, line)
                os.fsync(descriptor)
            except BaseException:
                with contextlib.suppress(OSError):  # what is left of it counts for nothing anyway
                    os.ftruncate(descriptor, self._end)
                raise
        finally:
            os.close(descriptor)

    def _replace(self, line: bytes) -> bytes:
        """Begin a log whose first checkpoint is `line`; return all of it."""
        whole = _sealed(_HEADER, b"")[0] + line
        partial = self.directory / f".{LOG}.partial"
        if not self.directory.is_dir():
            self.directory.mkdir(parents=True, exist_ok=True)
            sync_directory(self.directory.parent)
        try:
            write_new(partial, whole)
            os.replace(partial, self.path)
        except BaseException:
            with contextlib.suppress(OSError):  # the first failure is the one to be told
                partial.unlink()
            raise
        sync_directory(self.directory)
        self._content.drop_others()
        return whole


_HEADER = {"schema": CHECKPOINT_SCHEMA}


def _sealed(body: object, before: bytes) -> tuple[bytes, bytes]:
    """The line of `body` behind the line whose checksum is `before`, and its own checksum."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    check = _checksum(text[1:], before)
    return _HEAD + check + b'",' + text[1:] + b"\n", check


def _checksum(body: bytes, before: bytes) -> bytes:
    return hashlib.blake2b(before + body, digest_size=_CHECK_LENGTH // 2).hexdigest().encode()


def _whole_lines(file: str, data: bytes) -> tuple[list[Place], bytes, int]:
    """Bodies of all whole lines, the checksum of the last one, and where it ends.

    Raises:
        SavedFileError: a line that is not whole before the last one.
    """
    bodies: list[Place] = []
    check, end = b"", 0
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        expected = _checksum(line[_BODY_AT:], check)
        if line[:_BODY_AT] != _HEAD + expected + b'",':
            if number == len(lines) - 1 and not lines[-1]:
                break
            raise SavedFileError(file, f"line {number}: expected a line with its checksum, got {len(line)} other bytes")
        whole = json_place(file, b"{" + line[_BODY_AT:], lenient=True)
        bodies.append(Place(file, f"line {number}", whole.value))
        check, end = expected, end + len(line) + 1
    return bodies, check, end
