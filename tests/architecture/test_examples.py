"""Every example runs as a reader would run it: on its own, from a folder of its own, warnings being errors.

So does what the README shows: its Python block, and the commands that need nothing beyond this machine.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.rooms import ROOT
from tests.support.chat_server import ChatServer, says

_LAST_LINES = {
    "ask_one_question.py": "answer: 27.14",
    "core_alone.py": "answer: a corner after 5 steps",
    "own_backend.py": "answer: 12.50",
    "own_tool.py": "answer: upright",
    "resume_from_checkpoint.py": "answer: the lower half",
    "swap_adapter.py": "the model was shown: Text read in input_image_1:",
}
_CALLED = {"ask_one_question.py": ["OCR_Tool", "Zoom_In_Tool", "OCR_Tool"]}
_EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
_README = (ROOT / "README.md").read_text(encoding="utf-8")
_RECEIPT = ROOT / "examples" / "data" / "receipt.jpg"
_LONGEST = 60


def _run(command: list[str | Path], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **variables}
    ran = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, f"{command}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran


def test_every_example_says_how_it_ends() -> None:
    assert [path.name for path in _EXAMPLES] == sorted(_LAST_LINES)


@pytest.mark.parametrize("example", [pytest.param(path, id=path.name) for path in _EXAMPLES])
def test_example_runs(example: Path, tmp_path: Path) -> None:
    lines = _run([sys.executable, example], tmp_path).stdout.splitlines()
    assert lines[-1] == _LAST_LINES[example.name]
    assert [line.split()[1] for line in lines if line.startswith("called ")] == _CALLED.get(example.name, [])


@pytest.mark.parametrize("example", [pytest.param(path, id=path.name) for path in _EXAMPLES])
def test_example_is_short(example: Path) -> None:
    assert len(example.read_text(encoding="utf-8").splitlines()) < _LONGEST


# ---- the README ------------------------------------------------------------------------------------------------------


def _blocks(language: str) -> list[str]:
    """The fenced blocks of a language; the empty name stands for those that say none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", _README, re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def _commands() -> list[str]:
    """The lines that call the program, continued lines joined."""
    lines = "\n".join(_blocks("")).replace("\\\n", " ").splitlines()
    return [line for line in lines if re.match(r"([A-Z_]+=\S+ +)*openvlharness ", line)]


def _as_typed(line: str, folder: Path, **replaced: str) -> str:
    """Run a command of the README from `folder`, with some of its words replaced; give its standard output."""
    words = [replaced.get(word, word) for word in shlex.split(line, comments=True)]
    variables = dict(word.split("=", 1) for word in words[: words.index("openvlharness")])
    return _run([sys.executable, "-m", "openvlharness_app", *words[len(variables) + 1 :]], folder, **variables).stdout


def _only(beginning: str) -> str:
    (found,) = [line for line in _commands() if beginning in line]
    return found


def test_every_command_of_the_readme_is_run_here() -> None:
    assert [re.findall(r"openvlharness (\w+)", line)[0] for line in _commands()] == ["ask", "init", "ask"]


def test_the_python_of_the_readme_answers_and_is_short() -> None:
    (block,) = _blocks("python")
    assert len([line for line in block.splitlines() if line.strip()]) < 20
    lines = _run([sys.executable, "-c", block], ROOT).stdout.splitlines()
    assert lines[-1].startswith("27.14 answered ")
    assert lines.count("ToolStep") == 3
    assert "Finished" in lines


def test_the_first_command_of_the_readme_answers_and_leaves_a_report(tmp_path: Path) -> None:
    shutil.copy(_RECEIPT, tmp_path)
    assert _as_typed(_only('"What is the total?" --out'), tmp_path) == "27.14\n"
    assert {"report.json", "images"} <= {path.name for path in (tmp_path / "run").iterdir()}


def test_the_readme_s_way_to_another_model(tmp_path: Path) -> None:
    shutil.copy(_RECEIPT, tmp_path / "photo.jpg")
    assert _as_typed(_only("init "), tmp_path) == "openai_compatible.yaml\n"
    with ChatServer([says("<answer>4</answer>")]).in_thread() as server:
        base = {"MODEL_BASE_URL=http://127.0.0.1:8000/v1": f"MODEL_BASE_URL={server.base_url}/v1"}
        assert _as_typed(_only("MODEL_BASE_URL="), tmp_path, **base) == "4\n"
    server.assert_spent()
    (request,) = server.requests
    assert request.json["model"] == "my-model"
    assert "authorization" not in request.headers  # the key is `empty`


@pytest.mark.parametrize("name", ["tools", "corpus", "check"])
def test_the_readme_names_commands_that_there_are(name: str, tmp_path: Path) -> None:
    assert f"`openvlharness {name}" in _README
    assert "Usage" in _run([sys.executable, "-m", "openvlharness_app", name, "--help"], tmp_path).stdout
