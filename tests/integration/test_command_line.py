"""The command line as a user meets it: exit codes, what goes where, and bad input of every kind.

Most tests run the commands in this process; a few start the real program. The model is a scripted server on loopback.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from openvlharness_app import load_report
from openvlharness_app.cli.main import cli
from tests.support.chat_server import ChatServer, Hang, Respond, calls, says

ZOOM = calls(("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [0, 0, 500, 500]}))


def run(*arguments: object, server: ChatServer | None = None) -> Result:
    environment = {}
    if server is not None:
        environment = {"MODEL_BASE_URL": server.base_url, "MODEL_NAME": "scripted", "MODEL_API_KEY": "CANARY-1"}
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], env=environment)


def ask(server: ChatServer, *arguments: object) -> Result:
    return run("ask", "--preset", "openai_compatible", *arguments, server=server)


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.new("RGB", (120, 80), "red").save(path)
    return path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_answer_is_all_there_is_on_stdout(photo: Path) -> None:
    with ChatServer([ZOOM, says("It is <answer>red</answer>")]).in_thread() as server:
        result = ask(server, photo, "Which colour?")
    assert (result.exit_code, result.stdout) == (0, "red\n")
    assert "Zoom_In_Tool" in result.stderr
    server.assert_spent()


def test_json_prints_the_report_and_quiet_no_steps(photo: Path) -> None:
    with ChatServer([ZOOM, says("<answer>red</answer>")]).in_thread() as server:
        result = ask(server, "--json", "--quiet", "--task-id", "t1", photo, "Which colour?")
    report = json.loads(result.stdout)
    assert (report["answer"], report["task_id"], report["schema"]) == ("red", "t1", "openvlharness.report/1")
    assert result.stderr == ""
    assert "CANARY-1" not in result.output


def test_out_holds_a_whole_report_that_replays_without_a_difference(photo: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    with ChatServer([ZOOM, says("<answer>red</answer>")]).in_thread() as server:
        assert ask(server, photo, "Which colour?", "--out", out).exit_code == 0
    assert load_report(out).answer == "red"
    assert sorted(path.name for path in (out / "images").iterdir()) == [
        "input_image_1.png",
        "tool_generated_image_1.png",
    ]
    assert all(b"CANARY-1" not in path.read_bytes() for path in out.rglob("*") if path.is_file())
    result = run("replay", out)
    assert (result.exit_code, result.stdout) == (0, "no difference\n")


def test_a_changed_character_of_evidence_is_named_by_replay(photo: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with ChatServer([ZOOM, says("<answer>red</answer>")]).in_thread() as server:
        ask(server, photo, "Which colour?", "--out", out)
    report = json.loads((out / "report.json").read_text())
    (position,) = [n for n, step in enumerate(report["steps"]) if step["kind"] == "tool"]
    evidence = report["steps"][position]["evidence"][0]
    evidence["text"] = evidence["text"].replace("6", "7", 1)
    (out / "report.json").write_text(json.dumps(report))
    result = run("replay", "--json", out)
    assert result.exit_code == 1
    assert [row["place"] for row in json.loads(result.stdout)] == [f"steps[{position}].evidence[0].text"]


def test_a_failed_question_leaves_its_partial_trajectory(photo: Path, tmp_path: Path) -> None:
    with ChatServer([ZOOM, Respond.error(400, "no")]).in_thread() as server:
        result = ask(server, photo, "Which colour?", "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "model_failed" in result.stderr
    report = load_report(tmp_path / "run")
    assert [step["kind"] for step in report.to_dict()["steps"]].count("tool") == 1


def test_forty_pictures_and_none(photo: Path) -> None:
    with ChatServer([says("<answer>40</answer>"), says("<answer>0</answer>")], prefix=False).in_thread() as server:
        assert ask(server, *[photo] * 40, "How many?").stdout == "40\n"
        assert ask(server, "How many?").stdout == "0\n"
    shown = server.requests[0].json["messages"][1]["content"]
    assert sum(part["type"] == "image_url" for part in shown) == 40


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _huge_png(path: Path) -> Path:
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return _write(path, b"\x89PNG\r\n\x1a\n" + body)


@pytest.mark.parametrize("kind", ["missing", "folder", "text", "empty", "truncated", "huge", "svg", "data", "address"])
def test_a_picture_that_cannot_be_taken_in(kind: str, tmp_path: Path, photo: Path) -> None:
    whole = photo.read_bytes()
    bad: object = {
        "missing": lambda: tmp_path / "nowhere.png",
        "folder": lambda: tmp_path,
        "text": lambda: _write(tmp_path / "a.png", b"this is no picture"),
        "empty": lambda: _write(tmp_path / "a.png", b""),
        "truncated": lambda: _write(tmp_path / "a.png", whole[: len(whole) // 2]),
        "huge": lambda: _huge_png(tmp_path / "a.png"),
        "svg": lambda: _write(tmp_path / "a.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        "data": lambda: "data:image/png;base64,AAAA",
        "address": lambda: "http://127.0.0.1:9/a.png",
    }[kind]()
    with ChatServer([]).in_thread() as server:
        result = ask(server, photo, bad, "Which colour?", "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "image 2" in result.stderr
    assert "Traceback" not in result.stderr
    assert server.requests == []
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "arguments", [[], [""], ["   "], ["photo.png"], ["missing.png"], ["photo.png", "."], ["photo.png", " \n "]]
)
def test_no_question(arguments: list[str], photo: Path) -> None:
    result = run("ask", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected" in result.stderr


def test_six_faults_of_a_configuration_at_once(tmp_path: Path, photo: Path) -> None:
    text = """\
agent_name: Other
agent: {model_service: orchestrator, max_iterations: 0, max_iteration: 3}
memory: {modules: [{name: tool_context}], emit_policy: sometimes}
capabilities: {registries: [paper], tools: {zoom: {backend: zoom_in_image_by_bbox}}}
services:
  tools: {zoom_in_image_by_bbox: {}}
  models: {orchestrator: {alias: generic-chat, model_id: m, base: "http://u:CANARY-3@host", key: "${NOT_SET_ANYWHERE}"}}
"""
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    checked, asked = run("check", path), run("ask", "--config", path, photo, "Which colour?")
    for result in (checked, asked):
        assert result.exit_code == 2
        for key in (
            "agent_name",
            "agent.max_iterations",
            "agent.max_iteration",
            "memory.modules",
            "memory.emit_policy",
            "services.models.orchestrator.base",
            "services.models.orchestrator.key",
        ):
            assert f"{key}:" in result.stderr
        assert "line 2" in result.stderr
        assert "did you mean max_iterations?" in result.stderr
        assert "NOT_SET_ANYWHERE" in result.stderr
        assert "CANARY-3" not in result.output
    rows = json.loads(run("check", "--json", path).stdout)
    assert {row["key"] for row in rows} >= {"agent_name", "memory.emit_policy"}


def test_init_writes_a_copy_that_checks_and_never_over_a_file(tmp_path: Path) -> None:
    assert run("init", "embedded").stdout == "embedded.yaml\n"
    assert run("check", "embedded.yaml").stdout == "ok\n"
    Path("embedded.yaml").write_text("mine")
    assert run("init", "embedded").exit_code == 2
    assert Path("embedded.yaml").read_text() == "mine"
    assert run("init", "embedded", "--force").exit_code == 0
    assert run("init", "embedded", tmp_path / "no" / "folder.yaml").exit_code == 2
    result = run("init", "embeded")
    assert result.exit_code == 2
    assert "did you mean embedded?" in result.stderr


def test_what_is_there() -> None:
    names = [row["name"] for row in json.loads(run("presets", "--json").stdout)]
    assert names == sorted(names)
    assert {"embedded", "openai_compatible"} <= set(names)
    assert "embedded" in run("presets").stdout
    tools = json.loads(run("tools", "--json").stdout)
    assert [tool["name"] for tool in tools] == sorted(tool["name"] for tool in tools)
    assert all(set(tool) == {"name", "capability", "description", "parameters"} for tool in tools)
    assert len(tools) == 9
    selected = json.loads(run("tools", "--preset", "embedded", "--json").stdout)
    assert selected == [tool for tool in tools if tool in selected]
    assert "depth" not in [tool["capability"] for tool in selected]
    assert "Zoom_In_Tool (zoom)" in run("tools").stdout


@pytest.mark.parametrize("name", ["asq", "chek"])
def test_an_unknown_command_names_the_nearest(name: str) -> None:
    result = run(name)
    assert result.exit_code == 2
    assert "Did you mean" in result.stderr


def test_a_report_that_is_none(tmp_path: Path) -> None:
    for content in (None, "", "{", '{"schema": "other"}'):
        if content is not None:
            (tmp_path / "report.json").write_text(content)
        result = run("replay", tmp_path)
        assert result.exit_code == 2
        assert "report.json" in result.stderr


@pytest.mark.unprivileged
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_asked(photo: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with ChatServer([]).in_thread() as server:
        result = ask(server, photo, "Which colour?", "--out", locked / "run")
    assert result.exit_code == 2
    assert server.requests == []


def test_out_may_not_be_a_file(photo: Path) -> None:
    with ChatServer([]).in_thread() as server:
        result = ask(server, photo, "Which colour?", "--out", photo)
    assert (result.exit_code, server.requests) == (2, [])
    assert "--out" in result.stderr


def _program(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "openvlharness_app", *map(str, arguments)]
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])} | environment
    return subprocess.Popen(command, text=True, env=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_an_interrupt_leaves_a_report_of_what_there_is(photo: Path, tmp_path: Path) -> None:
    with ChatServer([ZOOM, Hang()]).in_thread() as server:
        variables: dict[str, Any] = {"MODEL_BASE_URL": server.base_url, "MODEL_NAME": "m", "MODEL_API_KEY": ""}
        arguments = ("ask", "--preset", "openai_compatible", photo, "Which colour?", "--out", tmp_path / "run")
        with _program(*arguments, **variables) as program:
            assert program.stderr is not None
            while "✓" not in program.stderr.readline():
                assert program.poll() is None
            program.send_signal(signal.SIGINT)
            stdout, stderr = program.communicate(timeout=60)
    assert (program.returncode, stdout) == (1, "")
    assert "cancelled" in stderr
    assert load_report(tmp_path / "run").stop_reason == "cancelled"


def test_help_fits_a_screen_and_the_program_says_its_version() -> None:
    with _program("--help") as program:
        stdout, _ = program.communicate(timeout=60)
    assert program.returncode == 0
    assert len(stdout.splitlines()) <= 24
    assert all(len(line) <= 100 for line in stdout.splitlines())
    assert "0.1.0" in run("--version").stdout


def test_an_answer_is_told_even_when_its_report_cannot_be_written(photo: Path, tmp_path: Path) -> None:
    (tmp_path / "run" / "report.json").mkdir(parents=True)
    with ChatServer([says("<answer>red</answer>")]).in_thread() as server:
        result = ask(server, photo, "Which colour?", "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (2, "red\n")
    assert "report.json" in result.stderr


def test_out_may_not_be_empty(photo: Path) -> None:
    assert run("ask", photo, "Which colour?", "--out", "").exit_code == 2


def test_waits_before_another_attempt_are_told(photo: Path) -> None:
    script = [Respond.error(503, "later", {"Retry-After": "0"}), says("<answer>red</answer>")]
    with ChatServer(script).in_thread() as server:
        result = ask(server, photo, "Which colour?")
    assert result.stdout == "red\n"
    assert "attempt 1 of 9 failed" in result.stderr


@pytest.mark.parametrize("url", ["https://u:CANARY-3@127.0.0.1/a.png?k=CANARY-4", "http://127.0.0.1:1/a?k=CANARY-4"])
def test_secrets_in_the_address_of_a_picture_are_shown_to_nobody(url: str) -> None:
    with ChatServer([]).in_thread() as server:
        result = ask(server, url, "Which colour?")
    assert result.exit_code == 2
    assert "CANARY" not in result.output


def test_an_output_that_cannot_be_written_is_said_in_a_line() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "openvlharness_app", "tools", "--json"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
