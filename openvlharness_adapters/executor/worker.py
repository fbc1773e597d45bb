"""The process that runs one program and tells what it left behind.

It is forked by the init of the run, so it starts with a clean environment and an interpreter that has seen nothing of
the caller. After the program has run, everything here may have been tampered with by accident (a closed stdout, no
memory, a replaced builtin): what fails then costs the part that failed, not the outcome.
"""

from __future__ import annotations

import codecs
import importlib
import io
import linecache
import os
import resource
import site
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from mmap import mmap
from types import ModuleType
from typing import NoReturn

from openvlharness_adapters.executor import faults, pictures, previews, values, wire

_PRESETS = ("math", "json", "re", "collections", "itertools", "statistics")
_REPORT_MEMORY_BYTES = 512 * 1024 * 1024
_REPORT_FILE_BYTES = 64 * 1024 * 1024


def main(job: wire.Job, arrays_at: int, values_file: int, findings_file: int) -> NoReturn:
    """Run the program of `job`, write what it left to `findings_file`, and end the process."""
    here = os.getpid()
    _open_streams()
    findings = wire.open_findings(findings_file)
    os.close(findings_file)
    given = values.unpack(job.structure, values_file, arrays_at, os.fstat(values_file).st_size)
    os.close(values_file)
    module = _main_module(job.program, given)
    names = module.__dict__
    before = {name: (names[name], previews.preview(names[name], job.deadline)) for name in given}
    wire.mark_started(findings)
    error = execute(job.program, module)
    if os.getpid() != here:  # the program forked, and this is its child running on behind it
        _flush()
        os._exit(0 if error is None else 1)
    _widen_limits()
    _report(job, names, before, error, findings)
    os._exit(0)


def limit(limits: wire.Limits, tasks: int) -> None:
    """Bound what this process and those it starts may take.

    The hard bounds leave room to write the report once a program has used up its share.

    Args:
        limits: the program's share.
        tasks: processes and threads that exist on the machine: the kernel counts all of this user's, and nobody
            knows how many of those are.
    """
    for kind, wanted, room in (
        (resource.RLIMIT_AS, limits.memory_bytes, _REPORT_MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, limits.file_bytes, _REPORT_FILE_BYTES),
        (resource.RLIMIT_NPROC, limits.processes + tasks, 0),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        _, most = resource.getrlimit(kind)
        bounds = [value if most == resource.RLIM_INFINITY else min(value, most) for value in (wanted, wanted + room)]
        resource.setrlimit(kind, (bounds[0], bounds[1]))


def _widen_limits() -> None:
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
        _, most = resource.getrlimit(kind)
        resource.setrlimit(kind, (most, most))


def _open_streams() -> None:
    """Text in UTF-8, every line written at once: what is still buffered when the deadline ends a program is lost."""
    codecs.register_error("replacement_character", _replaced)
    sys.stdout, sys.stderr = (_text_file(number) for number in (1, 2))
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc]  # those were made for other files


def _text_file(number: int) -> io.TextIOWrapper:
    return open(number, "w", buffering=1, encoding="utf-8", errors="replacement_character", closefd=False)


def _replaced(fault: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(fault, UnicodeEncodeError)
    return "\ufffd".encode() * (fault.end - fault.start), fault.end  # bytes, since UTF-8 takes only ASCII as text


def _main_module(program: str, given: Mapping[str, object]) -> ModuleType:
    """The main module of `program`, with what is there from the start; a given value wins over a name of ours."""
    module = ModuleType("__main__")
    names = module.__dict__
    names.update((name, importlib.import_module(name)) for name in _PRESETS)
    names["np"] = importlib.import_module("numpy")
    if (chance := sys.modules.get("numpy.random")) is not None:
        chance.seed()  # a fork begins where its parent's had come to
    with suppress(ImportError):  # programs do without; a traceback tells the one that does not
        names["Image"] = importlib.import_module("PIL.Image")
    names["__builtins__"] = __builtins__
    names.update(given)
    site.setquit()  # `exit` and `quit`, which `python -S` leaves out
    sys.modules["__main__"] = module
    sys.argv = [faults.PROGRAM_FILE]
    linecache.cache[faults.PROGRAM_FILE] = (
        len(program),
        None,
        program.splitlines(keepends=True),
        faults.PROGRAM_FILE,
    )
    return module


def execute(program: str, module: ModuleType) -> str | None:
    """Run the program to its end and that of the threads it waits for; why it failed, or `None`."""
    try:
        code = compile(program, faults.PROGRAM_FILE, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102  what this process is for
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    except SystemExit as leaving:
        return None if leaving.code in (None, 0) else faults.described(leaving)
    except BaseException as fault:  # noqa: BLE001  the program may raise anything, and it is told, not handled
        _widen_limits()  # telling it takes memory, and the frames still hold the program's
        return faults.described(fault)
    return None


def _report(
    job: wire.Job,
    names: dict[str, object],
    before: dict[str, tuple[object, str]],
    error: str | None,
    findings: mmap,
) -> None:
    shown: dict[str, str] = {}
    images: list[tuple[str, bytes]] = []
    try:
        shown = previews.previews(names, before, (time.monotonic() + job.deadline) / 2)
        images, left_out = pictures.pictures(job.directory, names)
        _say(left_out)
    except BaseException as fault:  # noqa: BLE001  see the head of this module
        _say([f"what the program left could not be collected in full: {type(fault).__name__}"])
        names.clear()
    _flush()
    wire.write_findings(findings, error, shown, images)


def _say(lines: Iterable[str]) -> None:
    """Notices of ours, where the program's own are."""
    _flush()
    text = "".join(f"[{line}]\n" for line in lines)
    with suppress(OSError):  # the program closed it, and what came through until then stands
        os.write(2, text.encode("utf-8", "replace"))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed or replaced by the program: nothing is waiting in it
            continue
