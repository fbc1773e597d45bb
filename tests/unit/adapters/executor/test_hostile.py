"""Programs that do their worst: each is answered in time, and nothing of it is left on the machine."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.ports.code_executor import GRACE_SECONDS, ended_in_time
from openvlharness_adapters.executor.local import LocalExecutor
from tests.unit.adapters.executor.leaks import folder_holds, processes_named, tag

LONG_SECONDS = 60.0
LEVELS = ("pid_namespace", "signal_scope")


def _shared_memory() -> set[str]:
    """Segments and files that outlive the processes which made them."""
    segments = {
        f"{kind} {line.split()[1]}"
        for kind in ("shm", "sem", "msg")
        for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
    }
    return segments | set(os.listdir("/dev/shm"))


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    until = time.monotonic() + LONG_SECONDS
    while folder_holds(str(tmp_path)) and time.monotonic() < until:
        time.sleep(0.005)  # folders that take long to remove hold up no outcome
    assert folder_holds(str(tmp_path)) == []


# Each starts a process that carries the word, where it says WORD, and never ends by itself.
ENDLESS = {
    "fork that writes for ever": "import os\nif os.fork() == 0:\n    while True: os.write(1, b'WORD' * 1000)\nwhile True: pass",
    "fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "sleep": "import time\ntime.sleep(300)",
    "line without end": "import sys\nwhile True: sys.stdout.write('x' * 100_000)",
    "errors without end": "import os\nwhile True: os.write(2, b'e' * 65536)",
    "closed descriptors": "import os\nos.closerange(0, 1000)\nwhile True: pass",
    "directory deleted": "import os, shutil\nshutil.rmtree(os.getcwd())\nwhile True: pass",
    "signals to everyone": "import os, signal\nos.kill(-1, signal.SIGSTOP) if os.getppid() == 1 else None\nwhile True: pass",
}

# Each comes to an end by itself: (program, what its error says).
ENDING = {
    "200 MB on one line": ("for _ in range(200): print('x' * 1_000_000, end='')", None),
    "10 GB": ("bytearray(10 * 1024**3)", "MemoryError"),
    "10 000 threads": (
        (
            "import threading, time\n"
            "for _ in range(10_000): threading.Thread(target=time.sleep, args=(300,), daemon=True).start()"
        ),
        "thread",
    ),
    "bytes of no encoding": ("import os\nos.write(1, bytes(range(128, 256)) * 100)", None),
    "left by os._exit": ("import os\nos._exit(0)", "exit status 0"),
    "directory deleted": ("import os, shutil\nshutil.rmtree(os.getcwd())", None),
    "shared memory": (
        (
            "import ctypes\nfrom multiprocessing import shared_memory\n"
            "library = ctypes.CDLL(None, use_errno=True)\n"
            "assert library.shmget(0, 4096, 0o1600) >= 0 and library.semget(0, 1, 0o1600) >= 0 and library.msgget(0, 0o1600) >= 0\n"
            "shared_memory.SharedMemory(create=True, size=4096, name='WORD')\n"
            "import os; os._exit(0)"
        ),
        "exit status 0",
    ),
    "pictures that are none": (
        "import os\nos.mkfifo('a.png'); os.symlink('/etc/passwd', 'b.png'); os.mkdir('c.png')",
        None,
    ),
}


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("level", LEVELS)
async def test_one_that_never_ends_is_ended(level: str, kind: str) -> None:
    word = tag()
    keeper = f"import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep 300; : {word}'], start_new_session=True)\n"
    outcome = await ended_in_time(LocalExecutor(kill_level=level), keeper + ENDLESS[kind].replace("WORD", word))  # type: ignore[arg-type]
    assert outcome.timed_out or (outcome.error or "").startswith("The program had more than")
    assert outcome.kill_level == level
    assert processes_named(word) == []


@pytest.mark.parametrize("kind", ENDING)
async def test_one_that_ends_is_told_how(kind: str) -> None:
    program, told = ENDING[kind]
    before = _shared_memory()
    outcome = await LocalExecutor().run(program.replace("WORD", tag()), {}, LONG_SECONDS)
    assert not outcome.timed_out
    assert (outcome.error is None) if told is None else (outcome.error is not None and told in outcome.error)
    assert len(outcome.stdout) < 70_000
    assert outcome.images == ()
    assert _shared_memory() - before == set()


async def test_descriptors_closed_before_the_end_lose_output_and_nothing_else() -> None:
    outcome = await LocalExecutor().run("import os\nprint('so far', flush=True)\nkept = 1\nos.closerange(0, 1000)", {})
    assert (outcome.stdout, outcome.error, outcome.variables) == ("so far\n", None, {"kept": "1"})


async def test_nobody_in_a_namespace_reaches_its_init() -> None:
    program = (
        "import os, signal\nassert os.getppid() == 1\n"
        "for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT): os.kill(1, number)\n"
        "print('still watched')"
    )
    outcome = await LocalExecutor(kill_level="pid_namespace").run(program, {}, LONG_SECONDS)
    assert (outcome.stdout, outcome.error) == ("still watched\n", None)


async def test_signals_do_not_leave_their_scope() -> None:
    program = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"
    outcome = await LocalExecutor(kill_level="signal_scope").run(program, {}, LONG_SECONDS)
    assert outcome.error is not None
    assert "PermissionError" in outcome.error


async def test_everyone_is_only_the_run_itself() -> None:
    program = "import os, signal\nos.kill(-1, signal.SIGKILL)"
    one, other = await asyncio.gather(
        LocalExecutor(kill_level="pid_namespace").run(program, {}, LONG_SECONDS),
        LocalExecutor(kill_level="pid_namespace").run(
            "import time\ntime.sleep(0.3)\nprint('unharmed')", {}, LONG_SECONDS
        ),
    )
    assert one.error is not None  # there is nobody else to signal, which is an error of its own
    assert (other.stdout, other.error) == ("unharmed\n", None)


async def test_a_folder_that_takes_long_to_remove_delays_nothing() -> None:
    program = "import os\nfor _ in range(3000):\n    os.mkdir('deep'); os.chdir('deep')\nopen('end', 'w').close()"
    started = time.monotonic()
    outcome = await LocalExecutor().run(program, {}, LONG_SECONDS)
    assert outcome.error is None
    assert time.monotonic() - started < outcome.seconds + GRACE_SECONDS
