"""What passes between the caller and a run: one file in, one file out, and a report of how it ended.

The file in is a JSON header and the arrays as raw bytes behind it; the file out is a stage mark, a JSON header and the
pictures as raw bytes. Both sides hold the files open before the first process starts, so neither has a name, nothing
is ever unpickled, and what comes back is read within fixed bounds and checked field by field: the program can write
there too. Numbers are little-endian, 8 bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from json import dumps, loads  # by name: a program may have replaced what the module holds
from mmap import mmap
from typing import BinaryIO, Literal, NamedTuple, get_args

from openvlharness_core.texts import clean_text

ALIGNMENT = 64
MAX_VARIABLES = 40
MAX_PREVIEW_CHARACTERS = 400
MAX_NAME_CHARACTERS = 200
MAX_ERROR_CHARACTERS = 4000
MAX_IMAGES = 8
MAX_IMAGE_BYTES = 4 * 1024 * 1024
MAX_HEADER_BYTES = 1024 * 1024
"""Of the header that comes back: 40 previews of 400 characters, twelve bytes each at worst, fit several times."""

KillLevel = Literal["pid_namespace", "signal_scope", "subreaper"]
"""What keeps a program from escaping the end of its run, the strongest first."""
KILL_LEVELS: tuple[KillLevel, ...] = get_args(KillLevel)

_STARTED, _DONE = b"S", b"D"
_OUT_HEADER_AT = 16
FINDINGS_BYTES = _OUT_HEADER_AT + MAX_HEADER_BYTES + MAX_IMAGES * MAX_IMAGE_BYTES
"""Size of the file out; what is never written of it takes no room."""


class Limits(NamedTuple):
    """What a run may take: bytes of address space per process, bytes per file, processes and threads in all."""

    memory_bytes: int
    file_bytes: int
    processes: int


class Job(NamedTuple):
    """What a run is asked to do.

    Attributes:
        program: Python source.
        structure: the values as `values.pack` wrote them.
        directory: where it runs; empty, and gone afterwards.
        deadline: when it must be over, on the machine's monotonic clock.
        limits: what it may take.
        level: what holds its processes.
        sandboxed: whether it is bound to its directory.
    """

    program: str
    structure: object
    directory: str
    deadline: float
    limits: Limits
    level: KillLevel = "subreaper"
    sandboxed: bool = False


class Findings(NamedTuple):
    """What a run left behind.

    Attributes:
        started: whether the program itself was reached.
        done: whether the worker came to its own end; the other fields say nothing otherwise.
        error: why the program failed; `None` when it did not.
        variables: name to preview.
        images: (name, encoded bytes).
    """

    started: bool
    done: bool = False
    error: str | None = None
    variables: Mapping[str, str] = {}
    images: tuple[tuple[str, bytes], ...] = ()


class DamagedFindingsError(Exception):
    """What came back is not what a worker writes; the text says which field."""


def picture_type(head: bytes) -> str | None:
    """`png`, `jpeg` or `webp` by the first 12 bytes, whatever the file is called."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if head.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    return None


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def write_job(file: BinaryIO, job: Job, blobs: Sequence[memoryview]) -> None:
    """Write a job and the bytes of its arrays, each at a multiple of `ALIGNMENT` from the first one."""
    header = dumps(job._asdict()).encode("ascii")
    file.write(len(header).to_bytes(8, "little") + header)
    position = 8 + len(header)
    for blob in blobs:
        file.write(bytes(_aligned(position) - position))
        file.write(blob)
        position = _aligned(position) + blob.nbytes
    file.flush()


def read_job(descriptor: int) -> tuple[Job, int]:
    """The job, and where in the file its arrays begin."""
    size = int.from_bytes(os.pread(descriptor, 8, 0), "little")
    fields = loads(_read(descriptor, 8, size))
    fields["limits"] = Limits(*fields["limits"])
    return Job(**fields), _aligned(8 + size)


def _read(descriptor: int, position: int, size: int) -> bytes:
    parts = []
    while size > 0:
        part = os.pread(descriptor, size, position)
        if not part:
            break
        parts.append(part)
        position += len(part)
        size -= len(part)
    return b"".join(parts)


def open_findings(descriptor: int) -> mmap:
    """The file out, of `FINDINGS_BYTES`, as memory: no descriptor is left for a program to close."""
    return mmap(descriptor, FINDINGS_BYTES)


def mark_started(file: mmap) -> None:
    """Say that everything is ready and the program comes next."""
    file[:1] = _STARTED


def write_findings(
    file: mmap, error: str | None, variables: Mapping[str, str], images: Sequence[tuple[str, bytes]]
) -> None:
    """Write what a run left behind; the mark that makes it count comes last."""
    listed: list[list[object]] = []
    header: dict[str, object] = {"error": error, "variables": dict(variables), "images": listed}
    at = 0
    for name, data in images:
        listed.append([name, at, len(data)])
        at += len(data)
    encoded = dumps(header).encode("ascii")
    file.seek(8)
    file.write(len(encoded).to_bytes(8, "little") + encoded)
    for _, data in images:
        file.write(data)
    file[:1] = _DONE


def read_findings(descriptor: int) -> Findings:
    """Read back what `write_findings` wrote, or how far a run came without it.

    Raises:
        DamagedFindingsError: a field that no worker of ours writes.
    """
    mark = os.pread(descriptor, 1, 0)
    if mark != _DONE:
        return Findings(started=mark == _STARTED)
    size = int.from_bytes(os.pread(descriptor, 8, 8), "little")
    if size > MAX_HEADER_BYTES:
        raise DamagedFindingsError(f"header: expected at most {MAX_HEADER_BYTES} bytes, got {size}")
    try:
        header = loads(_read(descriptor, _OUT_HEADER_AT, size))
    except (ValueError, RecursionError) as fault:
        raise DamagedFindingsError("header: expected JSON") from fault
    if not isinstance(header, dict) or header.keys() != {"error", "variables", "images"}:
        raise DamagedFindingsError("header: expected an object of error, variables and images")
    return Findings(
        started=True,
        done=True,
        error=None if header["error"] is None else _text(header["error"], "error", MAX_ERROR_CHARACTERS),
        variables=_variables(header["variables"]),
        images=_images(header["images"], descriptor, _OUT_HEADER_AT + size),
    )


def _text(value: object, field: str, limit: int) -> str:
    if not isinstance(value, str) or len(value) > limit:
        raise DamagedFindingsError(f"{field}: expected a text of at most {limit} characters")
    return clean_text(value)


def _variables(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > MAX_VARIABLES:
        raise DamagedFindingsError(f"variables: expected an object of at most {MAX_VARIABLES} previews")
    return {
        _text(name, "variables", MAX_NAME_CHARACTERS): _text(preview, "variables", MAX_PREVIEW_CHARACTERS)
        for name, preview in value.items()
    }


def _images(value: object, descriptor: int, begin: int) -> tuple[tuple[str, bytes], ...]:
    if not isinstance(value, list) or len(value) > MAX_IMAGES:
        raise DamagedFindingsError(f"images: expected a list of at most {MAX_IMAGES}")
    images = []
    for entry in value:
        match entry:
            case [name, int(at), int(size)] if (
                at >= 0 and 0 < size <= MAX_IMAGE_BYTES and at < MAX_IMAGES * MAX_IMAGE_BYTES
            ):
                data = _read(descriptor, begin + at, size)
            case _:
                raise DamagedFindingsError(f"images: expected [name, position, 1 to {MAX_IMAGE_BYTES} bytes]")
        if len(data) != size or picture_type(data[:12]) is None:
            raise DamagedFindingsError("images: expected the bytes of a PNG, JPEG or WebP")
        images.append((_text(name, "images", MAX_NAME_CHARACTERS), data))
    return tuple(images)
