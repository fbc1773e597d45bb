"""A caller that dies in the middle of a run: nobody is left to clean up but the run itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.unit.adapters.executor.leaks import folder_holds, processes_named, tag

_CALLER = """
import asyncio
from openvlharness_adapters.executor.local import LocalExecutor

program = '''
import subprocess
subprocess.Popen(["sh", "-c", "echo ready; sleep 300; : WORD"], start_new_session=True, stdout=open("FIFO", "w"))
while True: pass
'''
asyncio.run(LocalExecutor().run(program, {}, 300.0))
"""


def test_a_caller_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    word, fifo, scratch = tag(), tmp_path / "fifo", tmp_path / "scratch"
    scratch.mkdir()
    os.mkfifo(fifo)
    caller = subprocess.Popen(
        [sys.executable, "-c", _CALLER.replace("WORD", word).replace("FIFO", str(fifo))],
        env={"TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    try:
        with fifo.open() as file:
            assert file.readline() == "ready\n"
            assert processes_named(word) != []
            assert folder_holds(str(scratch)) != []
            caller.send_signal(signal.SIGKILL)
            caller.wait()
            assert file.read() == ""  # comes to its end when the last process that could write has ended
        until = time.monotonic() + 30
        while folder_holds(str(scratch)) and time.monotonic() < until:
            time.sleep(0.005)  # the folder goes last, and nothing tells when
        assert folder_holds(str(scratch)) == []
        assert processes_named(word) == []
    finally:
        caller.kill()
        caller.wait()
