"""What every CodeExecutor promises.

Subclass `CodeExecutorContract` in a test module as `Test…` and supply a fixture `executor`. The tests are coroutines, for
pytest-asyncio or a runner of your own. Programs here use the standard library and numpy only; deadlines that have to
pass are a second long.
"""

from __future__ import annotations

import asyncio
import base64
import os

import numpy as np
import pytest

from openvlharness_core.ports.code import CodeExecutor
from openvlharness_core.results import Outcome

SHORT_SECONDS = 1.0
GRACE_SECONDS = 0.5
LONG_SECONDS = 60.0
"""For programs that end by themselves; nothing waits for it."""

_PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c6368"
        "00000082008177cd72b60000000049454e44ae426082"
    )
).decode("ascii")

ENDLESS_PROGRAMS = {
    "loop": "while True: pass",
    "loop that catches everything": ("while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
    "huge power": "10 ** 10 ** 8",
    "blocking read": "import os\nr, w = os.pipe()\nos.read(r, 1)",
}


async def ended_in_time(executor: CodeExecutor, program: str) -> Outcome:
    """The outcome of a program that never ends, once it came within its deadline and the grace.

    A machine that is busy with something else is given a second chance.
    """
    seconds = []
    for _ in range(2):
        outcome = await executor.run(program, {}, SHORT_SECONDS)
        seconds.append(outcome.seconds)
        if outcome.seconds <= SHORT_SECONDS + GRACE_SECONDS:
            return outcome
    raise AssertionError(f"answered after {seconds} seconds with a deadline of {SHORT_SECONDS}")


class CodeExecutorContract:
    """See the module."""

    async def test_output_comes_back_apart(self, executor: CodeExecutor) -> None:
        program = "import sys\nprint('out')\nprint('err', file=sys.stderr)"
        outcome = await executor.run(program, {}, LONG_SECONDS)
        assert outcome == Outcome(stdout="out\n", stderr="err\n", seconds=outcome.seconds)
        assert 0 < outcome.seconds < LONG_SECONDS

    async def test_names_are_there_from_the_start(self, executor: CodeExecutor) -> None:
        program = (
            "print(math.floor(2.5), json.dumps([1]), re.escape('.'), collections.Counter('aa')['a'],"
            " next(itertools.count(5)), statistics.mean([1, 3]), np.arange(3).sum())"
        )
        outcome = await executor.run(program, {}, LONG_SECONDS)
        assert (outcome.stdout, outcome.error) == ("2 [1] \\. 2 5 2 3\n", None)

    async def test_a_main_guard_runs(self, executor: CodeExecutor) -> None:
        outcome = await executor.run("if __name__ == '__main__':\n    print('ran')", {}, LONG_SECONDS)
        assert outcome.stdout == "ran\n"

    async def test_values_arrive_as_they_are(self, executor: CodeExecutor) -> None:
        values = {
            "depth": np.arange(12, dtype=np.float32).reshape(3, 4),
            "masks": [{"size": [2, 3], "counts": "a1"}, {"size": [2, 3], "counts": "é"}],
            "note": {"scale": 0.1, "large": 10**30, "none": None, "yes": True, "inner": {"flags": np.array([True])}},
        }
        program = (
            "assert depth.dtype == np.float32 and depth.shape == (3, 4) and depth[2, 3] == 11\n"
            "assert masks == [{'size': [2, 3], 'counts': 'a1'}, {'size': [2, 3], 'counts': 'é'}]\n"
            "assert note['scale'] == 0.1 and note['large'] == 10 ** 30 and note['none'] is None and note['yes'] is True\n"
            "assert note['inner']['flags'].dtype == np.bool_ and note['inner']['flags'].tolist() == [True]\n"
        )
        outcome = await executor.run(program, values, LONG_SECONDS)
        assert outcome.error is None

    async def test_the_program_writes_to_copies(self, executor: CodeExecutor) -> None:
        array, items = np.zeros(4), [{"a": 1}]
        array.setflags(write=False)
        program = "array[:] = 7\nitems.append(2)\nitems[0]['a'] = 3\nprint(array.sum(), items)"
        outcome = await executor.run(program, {"array": array, "items": items}, LONG_SECONDS)
        assert outcome.stdout == "28.0 [{'a': 3}, 2]\n"
        assert (array.sum(), items) == (0, [{"a": 1}])

    async def test_variables_are_previewed(self, executor: CodeExecutor) -> None:
        program = (
            "class Bad:\n    def __repr__(self): raise RuntimeError('no')\n"
            "count = 3\nlong = 'x' * 10000\nbad = Bad()\ngrid = np.full((20, 30), 2.5)\n_hidden = 1"
        )
        outcome = await executor.run(program, {"given": 1}, LONG_SECONDS)
        assert outcome.error is None
        assert set(outcome.variables) == {"count", "long", "bad", "grid"}
        assert outcome.variables["count"] == "3"
        assert len(outcome.variables["long"]) == 400
        assert "Bad" in outcome.variables["bad"]
        for fact in ("float64", "(20, 30)", "2.5"):
            assert fact in outcome.variables["grid"]

    async def test_variables_are_few(self, executor: CodeExecutor) -> None:
        outcome = await executor.run("for i in range(100): globals()[f'v{i}'] = i", {}, LONG_SECONDS)
        assert len(outcome.variables) == 40

    async def test_pictures_come_back(self, executor: CodeExecutor) -> None:
        program = (
            f"import base64, os\ndata = base64.b64decode('{_PNG}')\n"
            "open('plot.png', 'wb').write(data)\nopen('no.png', 'w').write('no picture')\n"
            "os.symlink('plot.png', 'link.png')\nos.mkfifo('pipe.png')"
        )
        outcome = await executor.run(program, {}, LONG_SECONDS)
        assert outcome.error is None
        assert outcome.images == (("plot.png", base64.b64decode(_PNG)),)

    async def test_pictures_are_few(self, executor: CodeExecutor) -> None:
        program = (
            f"import base64\ndata = base64.b64decode('{_PNG}')\n"
            "for i in range(12): open(f'{i:02}.png', 'wb').write(data + bytes([i]))\n"
            "open('00.png', 'ab').write(bytes(4 * 1024 * 1024))"
        )
        outcome = await executor.run(program, {}, LONG_SECONDS)
        assert [name for name, _ in outcome.images] == [f"{i:02}.png" for i in range(1, 9)]

    async def test_much_output_is_cut_in_the_middle(self, executor: CodeExecutor) -> None:
        program = "print('first')\nfor _ in range(30): print('x' * 9999)\nprint('last')"
        outcome = await executor.run(program, {}, LONG_SECONDS)
        assert outcome.error is None
        assert outcome.stdout.startswith("first\n")
        assert outcome.stdout.endswith("last\n")
        assert 60_000 < len(outcome.stdout) < 70_000

    async def test_output_is_always_text(self, executor: CodeExecutor) -> None:
        program = "import sys\nsys.stdout.buffer.write(b'a\\xffb ')\nsys.stdout.flush()\nprint('c\\ud83dd 🙂')\nvalue = '\\ud83d'"
        outcome = await executor.run(program, {}, LONG_SECONDS)
        assert (outcome.stdout, outcome.error) == ("a\ufffdb c\ufffdd 🙂\n", None)
        outcome.variables["value"].encode("utf-8")

    @pytest.mark.parametrize(
        ("program", "told"),
        [
            ("a = 1\n\n1 / 0", ("line 3", "ZeroDivisionError")),
            ("def f():\n    return int('x')\n\nf()", ("line 2", "ValueError")),
            ("a = (\n", ("line 1", "SyntaxError")),
            ("def f(): f()\nf()", ("line 1", "RecursionError")),
            ("input()", ("line 1", "EOFError")),
            ("raise ValueError('y' * 100_000)", ("line 1", "ValueError")),
            ("import sys\nsys.exit('gave up')", ("gave up",)),
            ("import os\nos._exit(3)", ("3",)),
            ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", ("SIGKILL",)),
            ("raise KeyboardInterrupt", ("KeyboardInterrupt",)),
            ("nul = '\0'", ("null",)),
        ],
    )
    async def test_a_failing_program_is_an_outcome(
        self, executor: CodeExecutor, program: str, told: tuple[str, ...]
    ) -> None:
        outcome = await executor.run(program, {}, LONG_SECONDS)
        assert outcome.error is not None
        assert [fact for fact in told if fact not in outcome.error] == []
        assert len(outcome.error) <= 4000
        assert not outcome.timed_out

    async def test_what_was_printed_before_a_failure_is_kept(self, executor: CodeExecutor) -> None:
        outcome = await executor.run("print('so far')\nkept = 1\n1 / 0", {}, LONG_SECONDS)
        assert outcome.stdout == "so far\n"
        assert outcome.variables["kept"] == "1"

    async def test_leaving_in_order_is_no_failure(self, executor: CodeExecutor) -> None:
        outcome = await executor.run("print(1)\nexit()", {}, LONG_SECONDS)
        assert (outcome.stdout, outcome.error) == ("1\n", None)

    @pytest.mark.parametrize("kind", ENDLESS_PROGRAMS)
    async def test_the_deadline_holds(self, executor: CodeExecutor, kind: str) -> None:
        outcome = await ended_in_time(executor, f"print('before', flush=True)\n{ENDLESS_PROGRAMS[kind]}")
        assert outcome.timed_out
        assert outcome.error is not None
        after = await executor.run("print('again')", {}, LONG_SECONDS)
        assert (after.stdout, after.error) == ("again\n", None)

    async def test_a_deadline_is_a_time(self, executor: CodeExecutor) -> None:
        for seconds in (0.0, -1.0, float("nan"), float("inf")):
            with pytest.raises(ValueError, match="deadline_seconds"):
                await executor.run("print(1)", {}, seconds)

    async def test_a_value_of_no_use_is_named(self, executor: CodeExecutor) -> None:
        with pytest.raises(TypeError, match=r"deep\[1\]"):
            await executor.run("print(1)", {"deep": [1, object()]}, LONG_SECONDS)
        with pytest.raises(ValueError, match="two words"):
            await executor.run("print(1)", {"two words": 1}, LONG_SECONDS)

    async def test_runs_share_nothing(self, executor: CodeExecutor) -> None:
        program = (
            "import builtins, os\nprint(os.listdir('.'), hasattr(builtins, 'left'), 'left' in globals())\n"
            "open('left', 'w').write('x')\nbuiltins.left = left = 1"
        )
        outcomes = [await executor.run(program, {}, LONG_SECONDS) for _ in range(2)]
        assert [outcome.stdout for outcome in outcomes] == ["[] False False\n"] * 2

    async def test_the_environment_stays_here(self, executor: CodeExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOME_API_KEY", "CANARY-KEY")
        program = "import os\nprint(dict(os.environ), open('/proc/self/environ').read() if os.path.exists('/proc/self') else '')"
        outcome = await executor.run(program, {}, LONG_SECONDS)
        assert outcome.error is None
        assert "CANARY" not in outcome.stdout

    async def test_this_process_stays_as_it_was(self, executor: CodeExecutor) -> None:
        here = os.getcwd()
        program = "import os, signal, sys\nos.chdir('/')\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nos.umask(0)\nsys.stdout = None"
        outcome = await executor.run(program, {}, LONG_SECONDS)
        assert outcome.error is None
        assert os.getcwd() == here

    async def test_cancelling_ends_the_program(self, executor: CodeExecutor) -> None:
        task = asyncio.ensure_future(executor.run("while True: pass", {}, LONG_SECONDS))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def test_several_run_at_once(self, executor: CodeExecutor) -> None:
        runs = [executor.run(f"print({i})", {}, LONG_SECONDS) for i in range(4)]
        assert [outcome.stdout for outcome in await asyncio.gather(*runs)] == [f"{i}\n" for i in range(4)]
