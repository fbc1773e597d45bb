"""The executor against programs that go wrong on purpose, and what stays behind: nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from contracts.ports.code_executor import ended_in_time
from openvlharness_adapters.executor import local as local_module
from openvlharness_adapters.executor import warm
from openvlharness_adapters.executor.local import LocalExecutor
from openvlharness_adapters.executor.wire import KillLevel
from openvlharness_core.errors import BackendUnavailableError
from tests.unit.adapters.executor.leaks import children, folder_holds, open_files, processes_named, tag

LONG_SECONDS = 60.0


def _other_children() -> set[int]:
    """Without the template, which the kernel lists under the thread that started it, and not while that one ends."""
    template = warm._here.template
    return children() - ({template.process.pid} if template is not None else set())


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test here ends with the children, open files and temporary files it began with; the template among them."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert asyncio.run(LocalExecutor().run("", {}, LONG_SECONDS)).error is None
    before = _other_children(), open_files()
    yield
    assert (_other_children(), open_files()) == before
    until = time.monotonic() + LONG_SECONDS
    while folder_holds(str(tmp_path)) and time.monotonic() < until:
        time.sleep(0.005)  # what takes long to remove holds up nobody, and nothing tells when it is done
    assert folder_holds(str(tmp_path)) == []


@pytest.fixture
def executor() -> LocalExecutor:
    return LocalExecutor()


STUBBORN = {
    "ignored signals": (
        "import signal\n"
        "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)\n"
        "while True: pass"
    ),
    "stopped": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "stopped with all its group": "import os, signal\nos.killpg(0, signal.SIGSTOP)",
    "init stopped": "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nwhile True: pass",
    "blocking socket": "import socket\na, b = socket.socketpair()\na.recv(1)",
    "thread that is waited for": "import threading\nthreading.Thread(target=threading.Event().wait).start()",
    "flood": "while True: print('x' * 1000)",
    "repr that no signal reaches": (
        "class Deaf:\n"
        "    def __repr__(self):\n"
        "        import signal\n"
        "        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
        "        while True: pass\n"
        "deaf = Deaf()"
    ),
    "deaf message of an error": (
        "class Deaf(Exception):\n    def __str__(self):\n        while True: pass\nraise Deaf"
    ),
}


@pytest.mark.parametrize("kind", STUBBORN)
async def test_the_deadline_holds_against(executor: LocalExecutor, kind: str) -> None:
    word = tag()
    keeper = f"import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep 300; : {word}'], start_new_session=True)\n"
    outcome = await ended_in_time(executor, keeper + STUBBORN[kind])
    assert outcome.timed_out
    assert outcome.error is not None
    assert "1 seconds" in outcome.error
    assert processes_named(word) == []


async def test_a_detached_grandchild_that_holds_the_output_is_not_waited_for(executor: LocalExecutor) -> None:
    word = tag()
    program = (
        "import subprocess, sys\n"
        f"script = 'import os, time\\nif os.fork(): os._exit(0)\\nos.setsid()\\ntime.sleep(300)  # {word}'\n"
        "subprocess.run([sys.executable, '-c', script], env={})\nprint('done')"
    )
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert (outcome.stdout, outcome.error) == ("done\n", None)
    assert outcome.seconds < LONG_SECONDS / 2
    assert processes_named(word) == []


async def test_a_program_that_kills_its_init_is_told() -> None:
    executor = LocalExecutor(kill_level="subreaper")
    word = tag()
    program = (
        "import os, signal, subprocess\n"
        f"subprocess.Popen(['sh', '-c', 'sleep 300; : {word}'], start_new_session=True)\n"
        "os.kill(os.getppid(), signal.SIGKILL)\nwhile True: pass"
    )
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert outcome.error is not None
    assert "watches" in outcome.error
    assert not outcome.timed_out
    assert processes_named(word) == []


async def test_a_program_that_asks_its_init_to_stop_is_told() -> None:
    executor = LocalExecutor(kill_level="subreaper")
    outcome = await executor.run("import os, signal\nos.kill(os.getppid(), signal.SIGTERM)\nwhile True: pass", {})
    assert outcome.error is not None
    assert "from outside" in outcome.error


async def test_processes_without_end_are_stopped() -> None:
    """The kernel's own bound does not hold for root, so this says something for every user."""
    executor = LocalExecutor(processes=20)
    program = "import os, time\nfor _ in range(100):\n    if os.fork() == 0: time.sleep(300)\ntime.sleep(300)"
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert outcome.error is not None
    assert "20 processes" in outcome.error or "BlockingIOError" in outcome.error


@pytest.mark.parametrize("step", ["object()", "bytearray(1 << 20)"])
async def test_memory_without_end_is_an_error_of_the_program(step: str) -> None:
    executor = LocalExecutor(memory_bytes=400 * 1024**2)
    outcome = await executor.run(f"print('start')\nheld = []\nwhile True: held.append({step})", {}, LONG_SECONDS)
    assert outcome.error is not None
    assert "MemoryError" in outcome.error
    assert "line 3" in outcome.error
    assert outcome.variables["held"].startswith("[")


async def test_a_file_without_end_is_an_error_of_the_program() -> None:
    executor = LocalExecutor(file_bytes=1024**2)
    outcome = await executor.run("open('big', 'wb').write(bytes(2 * 1024 * 1024))\n", {}, LONG_SECONDS)
    assert outcome.error is not None
    assert "File too large" in outcome.error


async def test_a_crash_of_the_interpreter_is_told(executor: LocalExecutor) -> None:
    outcome = await executor.run("import ctypes\nprint('so far')\nctypes.string_at(0)", {}, LONG_SECONDS)
    assert outcome.stdout == "so far\n"
    assert outcome.error is not None
    assert "SIGSEGV" in outcome.error


async def test_an_answer_that_the_program_wrote_itself_is_not_believed(executor: LocalExecutor) -> None:
    program = (
        "import os\n"
        "for number in range(3, 1000):\n"  # descriptors keep the numbers they have in this process
        "    try: os.pwrite(number, b'D' + bytes(7) + (9).to_bytes(8, 'little') + b'\"hello\"  ', 0)\n"
        "    except OSError: pass\n"
        "os._exit(0)"
    )
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert outcome.error is not None
    assert "damaged" in outcome.error
    assert outcome.variables == {}


async def test_a_fork_that_runs_on_reports_nothing(executor: LocalExecutor) -> None:
    program = "import os\nchild = os.fork()\nif child: os.waitpid(child, 0)\nwho = 'parent' if child else 'child'"
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert outcome.error is None
    assert outcome.variables["who"] == "'parent'"


async def test_a_worker_without_streams_still_reports(executor: LocalExecutor) -> None:
    program = (
        "import builtins, json, os, sys\nprint('so far')\nsys.stdout.close()\nsys.stderr = None\n"
        "builtins.print = json.dumps = os.listdir = None\nkept = 1"
    )
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert outcome.stdout == "so far\n"
    assert outcome.variables["kept"] == "1"


async def test_whatever_a_program_makes_in_its_folder_goes(executor: LocalExecutor) -> None:
    """Deeper than a path may be long and than a function may recurse, and without rights."""
    program = (
        "import os\nos.mkdir('closed'); open('closed/file', 'w').close(); os.chmod('closed/file', 0); os.chmod('closed', 0)\n"
        "os.symlink('/', 'root'); os.mkfifo('pipe')\n"
        "for _ in range(1500):\n    os.mkdir('deep'); os.chdir('deep')\n"
        "os.chmod('.', 0)"
    )
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert outcome.error is None  # the fixture looks for what is left


def _until_there(folder: Path, pattern: str) -> None:
    """Return when a process has made a file; what it does is seen nowhere else, so this looks again and again."""
    until = time.monotonic() + LONG_SECONDS
    while not list(folder.glob(pattern)):
        assert time.monotonic() < until, f"no {pattern}"
        time.sleep(0.005)


async def test_a_second_cancelling_does_not_leave_anything(executor: LocalExecutor, tmp_path: Path) -> None:
    word = tag()
    program = (
        "import subprocess\n"
        f"subprocess.Popen(['sh', '-c', 'sleep 300; : {word}'], start_new_session=True)\n"
        "open('ready', 'w').close()\nwhile True: pass"
    )
    task = asyncio.ensure_future(executor.run(program, {}, LONG_SECONDS))
    await asyncio.to_thread(_until_there, tmp_path, "*/ready")
    assert processes_named(word) != []
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert processes_named(word) == []


async def test_a_coroutine_that_is_closed_ends_its_run(executor: LocalExecutor) -> None:
    """As happens to a task whose loop is gone: nobody can wait then, but the processes go."""
    coroutine = executor.run("while True: pass", {}, LONG_SECONDS)
    coroutine.send(None)
    [waiting] = [thread for thread in threading.enumerate() if thread.name == local_module.BACKEND]
    coroutine.close()
    await asyncio.to_thread(waiting.join, 10)
    assert not waiting.is_alive()


async def test_sixteen_at_once(executor: LocalExecutor) -> None:
    array = np.arange(1000.0)
    runs = [executor.run(f"print(data.sum() + {i})", {"data": array}, LONG_SECONDS) for i in range(16)]
    outcomes = await asyncio.gather(*runs)
    assert [(outcome.stdout, outcome.error) for outcome in outcomes] == [(f"{499500.0 + i}\n", None) for i in range(16)]


def test_loops_of_several_threads_share_an_executor(executor: LocalExecutor) -> None:
    told: list[str] = []

    def ask(number: int) -> None:
        told.append(asyncio.run(executor.run(f"print({number})", {}, LONG_SECONDS)).stdout)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["0\n", "1\n", "2\n", "3\n"]


async def test_the_loop_goes_on_meanwhile(executor: LocalExecutor) -> None:
    """Counted, not timed: a loop that waited for the processes would not turn at all."""
    turns = 0
    task = asyncio.ensure_future(executor.run("print(1)", {"big": np.zeros((2000, 2000))}, LONG_SECONDS))
    while not task.done():
        turns += 1
        await asyncio.sleep(0.001)
    assert (await task).error is None
    assert turns > 20


async def test_the_caller_is_not_touched(executor: LocalExecutor, capfd: pytest.CaptureFixture[str]) -> None:
    numbers = [number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP)]
    handlers = {number: signal.getsignal(number) for number in numbers}
    before = sys.stdout, sys.stderr, os.getcwd(), os.umask(0o022), dict(os.environ)
    program = (
        "import os, sys\nprint('out'); print('err', file=sys.stderr)\nos.system('echo direct')\nos.write(2, b'raw')"
    )
    outcome = await executor.run(program, {}, LONG_SECONDS)
    after = sys.stdout, sys.stderr, os.getcwd(), os.umask(before[3]), dict(os.environ)
    assert outcome.stdout == "out\ndirect\n"
    assert outcome.stderr == "err\nraw"
    assert {number: signal.getsignal(number) for number in numbers} == handlers
    assert (after[:3], after[4]) == (before[:3], before[4])
    assert capfd.readouterr() == ("", "")


async def test_a_caller_that_ignores_its_children_gets_outcomes(executor: LocalExecutor) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        fine = await executor.run("import subprocess\nprint(subprocess.run(['true']).returncode)", {}, LONG_SECONDS)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (fine.stdout, fine.error) == ("0\n", None)


async def test_a_program_sees_a_clean_process(executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "SERPER_API_KEY", "PYTHONPATH", "LD_PRELOAD_NOT"):
        monkeypatch.setenv(name, "CANARY-1")
    program = (
        "import os, sys\n"
        "seen = str(dict(os.environ)) + open('/proc/self/environ').read()\n"
        "try: seen += open(f'/proc/{os.getppid()}/environ').read()\nexcept PermissionError: pass\n"
        "assert 'CANARY' not in seen, seen\n"
        "assert os.environ['OPENBLAS_NUM_THREADS'] == '1'\n"
        "assert os.getsid(0) == os.getpgid(0) == os.getpid()\n"
        "assert os.readlink('/proc/self/fd/0') == os.devnull\n"
        "assert os.listdir('.') == [] and os.getcwd() == os.path.realpath(os.environ['TMPDIR'])\n"
        "assert sys.flags.isolated and '' not in sys.path and 'pytest' not in sys.modules\n"
        "held = sorted(os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if int(n) > 2 and os.path.exists(f'/proc/self/fd/{n}'))\n"
        "assert all('findings' in name for name in held), held\n"
    )
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert outcome.error is None


async def test_programs_may_import_core_and_its_packages(executor: LocalExecutor) -> None:
    program = "import openvlharness_core, numpy, PIL.Image\nfrom openvlharness_core.geometry import IDENTITY\nprint(Image is PIL.Image)"
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert (outcome.stdout, outcome.error) == ("True\n", None)


async def test_chance_differs_from_run_to_run(executor: LocalExecutor) -> None:
    outcomes = [await executor.run("print(np.random.rand())", {}, LONG_SECONDS) for _ in range(2)]
    assert outcomes[0].stdout != outcomes[1].stdout


async def test_large_values_make_the_round_trip(executor: LocalExecutor) -> None:
    depth = np.random.default_rng(3).random((768, 1024), dtype=np.float32)
    masks = [{"size": [768, 1024], "counts": "0123456789" * 50 + str(i)} for i in range(134)]
    values = {"scene": {"depth": depth, "masks": masks, "nested": {"deep": [[{"flag": np.array([[True]])}]]}}}
    program = (
        "import zlib\n"
        "print(zlib.crc32(scene['depth'].tobytes()), len(scene['masks']), scene['masks'][133]['counts'][-3:],"
        " scene['nested']['deep'][0][0]['flag'].shape)\n"
        "picture = Image.fromarray((scene['depth'][:64, :32] * 255).astype(np.uint8))"
    )
    outcome = await executor.run(program, values, LONG_SECONDS)
    assert (outcome.stdout, outcome.error) == (f"{zlib.crc32(depth.tobytes())} 134 133 (1, 1)\n", None)
    [(name, data)] = outcome.images
    assert (name, data[:4]) == ("picture", b"\x89PNG")


async def test_changed_values_are_previewed_and_others_are_not(executor: LocalExecutor) -> None:
    values = {"same": np.zeros(3), "written": np.zeros(3), "replaced": 1, "grown": [1]}
    outcome = await executor.run("written[1] = 5\nreplaced = 2\ngrown.append(3)", values, LONG_SECONDS)
    assert outcome.variables.keys() == {"written", "replaced", "grown"}
    assert "max 5" in outcome.variables["written"]


async def test_slow_previews_cost_themselves_only(executor: LocalExecutor) -> None:
    program = "class Slow:\n    def __repr__(self):\n        while True: pass\nbefore = 1\nslow = Slow()\nafter = 2"
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert outcome.variables == {"before": "1", "slow": "<Slow, too slow to show>", "after": "2"}


async def test_pictures_in_variables(executor: LocalExecutor) -> None:
    program = (
        "rgb = Image.new('RGB', (4, 3), 'red')\nsame = rgb\nrgb.save('saved.png')\n"
        "cmyk = Image.new('CMYK', (4, 3))\nempty = Image.new('L', (0, 0))\n"
        "noise = Image.fromarray(np.random.randint(0, 255, (1200, 1200, 3), np.uint8))"
    )
    outcome = await executor.run(program, {}, LONG_SECONDS)
    assert outcome.error is None
    kinds = {name: data[:3] for name, data in outcome.images}
    assert kinds == {"saved.png": b"\x89PN", "cmyk": b"\x89PN", "noise": b"\xff\xd8\xff"}
    assert "picture empty" in outcome.stderr


async def test_a_deadline_shorter_than_the_start_is_an_outcome(executor: LocalExecutor) -> None:
    outcome = await executor.run("print(1)", {}, 0.001)
    assert outcome.timed_out
    assert outcome.stdout == ""


@pytest.mark.parametrize("level", [None, "subreaper"])
async def test_no_interpreter_is_an_unavailable_backend(
    monkeypatch: pytest.MonkeyPatch, level: KillLevel | None
) -> None:
    executor, interpreter = LocalExecutor(kill_level=level), sys.executable
    for place, told in (("/no/such/python", "No such file"), ("", "sys.executable"), ("/bin/false", "no reason given")):
        warm.close()  # one that runs already needs no interpreter
        monkeypatch.setattr(sys, "executable", place)
        with pytest.raises(BackendUnavailableError, match=told):
            await executor.run("print(1)", {}, LONG_SECONDS)
    monkeypatch.setattr(sys, "executable", interpreter)
    assert (await LocalExecutor().run("print(1)", {}, LONG_SECONDS)).error is None


async def test_too_little_memory_to_start_is_an_unavailable_backend() -> None:
    with pytest.raises(BackendUnavailableError, match="could not be prepared"):
        await LocalExecutor(memory_bytes=1024).run("print(1)", {}, LONG_SECONDS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout_seconds", 0),
        ("timeout_seconds", float("nan")),
        ("memory_bytes", 0),
        ("file_bytes", 1.5),
        ("processes", True),
    ],
)
def test_a_setting_out_of_range_is_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"{name}: expected .* above 0, got"):
        LocalExecutor(**{name: value})  # type: ignore[arg-type]


async def test_the_own_timeout_is_the_default_deadline() -> None:
    started = time.monotonic()
    outcome = await LocalExecutor(timeout_seconds=0.5).run("while True: pass", {})
    assert outcome.timed_out
    assert time.monotonic() - started < LONG_SECONDS
