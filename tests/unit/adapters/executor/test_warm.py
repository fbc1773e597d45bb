"""The template: who may use it, and what becomes of runs when it, its owner or an init is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from openvlharness_adapters.executor import warm
from openvlharness_adapters.executor.local import LocalExecutor
from openvlharness_core.results import Outcome
from tests.unit.adapters.executor.leaks import children, folder_holds, processes_named, tag

LONG_SECONDS = 60.0

_SCRIPT = """
import asyncio, sys
sys.stdout.write("begun;")
from openvlharness_adapters.executor.local import LocalExecutor
outcome = asyncio.run(LocalExecutor(kill_level="pid_namespace").run("print(value + 1)", {"value": 41}, 60.0))
sys.stdout.write(repr((outcome.stdout, outcome.error)))
"""
_EXPECTED = "begun;('42\\n', None)"


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    _until(lambda: folder_holds(str(folder)) == [], "an empty scratch folder")


@pytest.fixture
def executor() -> LocalExecutor:
    return LocalExecutor(kill_level="pid_namespace")


def _until(holds: Callable[[], bool], what: str) -> None:
    """Return when something holds that nothing tells of."""
    until = time.monotonic() + LONG_SECONDS
    while not holds():
        assert time.monotonic() < until, f"no {what}"
        time.sleep(0.005)


def _environment(scratch: Path) -> dict[str, str]:
    return {"TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _template() -> int:
    template = warm._here.template
    assert template is not None
    return template.process.pid


def _in_flight(executor: LocalExecutor, word: str, then: str) -> asyncio.Task[Outcome]:
    program = (
        "import os, subprocess, time\n"
        f"subprocess.Popen(['sh', '-c', 'sleep 300; : {word}'], start_new_session=True)\n"
        f"open('ready-{word}', 'w').close()\n{then}"
    )
    return asyncio.ensure_future(executor.run(program, {}, LONG_SECONDS))


async def _ready(scratch: Path, *words: str) -> None:
    for word in words:
        await asyncio.to_thread(_until, lambda word=word: bool(list(scratch.glob(f"*/ready-{word}"))), "start of a run")


WAITS = "while not os.path.exists('go'): time.sleep(0.005)\nprint('came to its end')"


def _let_go(scratch: Path, word: str) -> None:
    [ready] = scratch.glob(f"*/ready-{word}")
    (ready.parent / "go").touch()


@pytest.mark.parametrize("way", ["script", "stdin", "exec"])
def test_any_caller_will_do(scratch: Path, tmp_path: Path, way: str) -> None:
    """None of them has a main module that could be imported again, nor a guard against it."""
    file = tmp_path / "script.py"
    file.write_text(_SCRIPT)
    command = {"script": [str(file)], "stdin": ["-"], "exec": ["-c", f"exec({_SCRIPT!r}, {{'__name__': '__main__'}})"]}
    done = subprocess.run(
        [sys.executable, *command[way]],
        input=_SCRIPT,
        capture_output=True,
        text=True,
        env=_environment(scratch),
        check=False,
    )
    assert (done.stdout, done.stderr) == (_EXPECTED, "")


def test_a_loop_in_a_thread_will_do(executor: LocalExecutor) -> None:
    told: list[str] = []
    thread = threading.Thread(
        target=lambda: told.append(asyncio.run(executor.run("print(1)", {}, LONG_SECONDS)).stdout)
    )
    thread.start()
    thread.join()
    assert told == ["1\n"]


async def test_thirty_two_at_once(executor: LocalExecutor) -> None:
    array = np.arange(1000.0)
    runs = [executor.run(f"print(data.sum() + {i})", {"data": array}, LONG_SECONDS) for i in range(32)]
    outcomes = await asyncio.gather(*runs)
    assert [(outcome.stdout, outcome.error) for outcome in outcomes] == [(f"{499500.0 + i}\n", None) for i in range(32)]


def test_a_forked_process_has_a_template_of_its_own(executor: LocalExecutor) -> None:
    """In a process that was forked by hand, since that is what the case is about."""
    script = (
        "import asyncio, os\nfrom openvlharness_adapters.executor import warm\n"
        "from openvlharness_adapters.executor.local import LocalExecutor\n"
        "def ask():\n"
        "    outcome = asyncio.run(LocalExecutor(kill_level='pid_namespace').run('print(6 * 7)', {}, 60.0))\n"
        "    assert outcome.stdout == '42\\n', outcome\n"
        "    return warm._here.template.process.pid\n"
        "first = ask()\nchild = os.fork()\n"
        "if child == 0:\n"
        "    code = 0 if ask() != first else 1\n"
        "    warm.close()\n"
        "    os._exit(code)\n"
        "assert os.waitpid(child, 0)[1] == 0\nassert ask() == first"
    )
    environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")


async def test_runs_do_not_notice_that_the_template_is_killed(executor: LocalExecutor, scratch: Path) -> None:
    word = tag()
    task = _in_flight(executor, word, WAITS)
    await _ready(scratch, word)
    killed = _template()
    os.kill(killed, signal.SIGKILL)
    assert (await executor.run("print('new')", {}, LONG_SECONDS)).stdout == "new\n"
    assert _template() != killed
    _let_go(scratch, word)
    outcome = await task
    assert (outcome.stdout, outcome.error) == ("came to its end\n", None)
    assert processes_named(word) == []


async def test_one_killed_init_is_one_failed_run(executor: LocalExecutor, scratch: Path) -> None:
    words = [tag(), tag()]
    tasks = [_in_flight(executor, word, WAITS) for word in words]
    await _ready(scratch, *words)
    os.kill(_init_above(words[0]), signal.SIGKILL)
    killed = await tasks[0]
    assert killed.error is not None
    assert "watches" in killed.error
    assert processes_named(words[0]) == []
    _let_go(scratch, words[1])
    assert (await tasks[1]).stdout == "came to its end\n"


def _numbers(process: int) -> tuple[list[str], int]:
    """Its number in each PID namespace, the outermost first, and its parent's number out here."""
    status = Path(f"/proc/{process}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return fields["NSpid"].split(), int(fields["PPid"])


def _init_above(word: str) -> int:
    """The first process of the namespace that a program's process with `word` on its command line is in.

    A caller may carry the word too, and above that one comes, in the end, the machine's own first process.
    """
    outside = len(_numbers(os.getpid())[0])
    [process, *_] = [found for found in processes_named(word) if len(_numbers(found)[0]) > outside]
    while (numbers := _numbers(process))[0][-1] != "1":
        process = numbers[1]
    assert len(numbers[0]) > outside
    return process


_CALLER = """
import asyncio, sys
from openvlharness_adapters.executor.local import LocalExecutor
program = '''
import subprocess
subprocess.Popen(["sh", "-c", "echo ready; sleep 300; : WORD"], start_new_session=True, stdout=open("FIFO", "w"))
while True: pass
'''
asyncio.run(LocalExecutor(kill_level="pid_namespace").run(program, {}, 300.0))
"""


@pytest.mark.parametrize("with_init", [False, True])
def test_a_caller_that_is_killed_leaves_nothing(tmp_path: Path, scratch: Path, with_init: bool) -> None:
    """Not even when nobody but the template is left to clean up."""
    word, fifo = tag(), tmp_path / "fifo"
    os.mkfifo(fifo)
    script = _CALLER.replace("WORD", word).replace("FIFO", str(fifo))
    caller = subprocess.Popen([sys.executable, "-c", script], env=_environment(scratch))
    try:
        with fifo.open() as file:
            assert file.readline() == "ready\n"
            assert len(folder_holds(str(scratch))) == 1
            init = _init_above(word)
            caller.send_signal(signal.SIGSTOP)  # so that it has no time to clean up
            if with_init:
                os.kill(init, signal.SIGKILL)
            caller.send_signal(signal.SIGKILL)
            caller.wait()
            assert file.read() == ""  # comes to its end when the last process that could write has ended
        _until(lambda: folder_holds(str(scratch)) == [], "empty folder")
        assert processes_named(word) == []
    finally:
        caller.kill()
        caller.wait()


async def test_closing_ends_the_template_and_the_next_run_starts_another(executor: LocalExecutor) -> None:
    await executor.run("", {}, LONG_SECONDS)
    before = _template()
    warm.close()
    assert before not in children()
    assert (await executor.run("print(1)", {}, LONG_SECONDS)).stdout == "1\n"
    warm.close()
