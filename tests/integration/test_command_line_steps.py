"""What the command line tells of a question on stderr, and two ways to choose a configuration at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from openvlharness_app.cli.main import cli
from openvlharness_app.presets import preset_text
from tests.support.chat_server import ChatServer, Respond, calls, says

ZOOM = calls(("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [0, 0, 500, 500]}))
FULL = Respond.error(400, "too long", code="context_length_exceeded")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (120, 80), "red").save("photo.png")


def ask(server: ChatServer, *options: str) -> Result:
    environment = {"MODEL_BASE_URL": server.base_url, "MODEL_NAME": "scripted", "MODEL_API_KEY": ""}
    return CliRunner().invoke(cli, ["ask", *options, "photo.png", "Which colour?"], env=environment)


def test_shortened_turns_have_a_line() -> None:
    with ChatServer([ZOOM, ZOOM, FULL, says("<answer>red</answer>")], prefix=False).in_thread() as server:
        result = ask(server, "--preset", "openai_compatible")
    assert (result.exit_code, result.stdout) == (0, "red\n")
    server.assert_spent()
    lines = [line.strip() for line in result.stderr.splitlines()]
    assert lines.count("older turns shortened (context_error)") == 1
    done = [number for number, line in enumerate(lines) if line.startswith("✓")]
    assert lines.index("older turns shortened (context_error)") > max(done)


def test_a_question_that_fits_has_no_such_line() -> None:
    with ChatServer([ZOOM, says("<answer>red</answer>")]).in_thread() as server:
        result = ask(server, "--preset", "openai_compatible")
    assert "✓" in result.stderr
    assert "shortened" not in result.stderr


@pytest.mark.parametrize("command", ["ask", "tools"])
def test_a_file_and_a_preset_at_once_are_refused(command: str) -> None:
    Path("mine.yaml").write_text(preset_text("openai_compatible"), encoding="utf-8")
    with ChatServer([]).in_thread() as server:
        environment = {"MODEL_BASE_URL": server.base_url, "MODEL_NAME": "scripted", "MODEL_API_KEY": ""}
        rest = ["photo.png", "Which colour?"] if command == "ask" else []
        both = ["--config", "mine.yaml", "--preset", "openai_compatible"]
        result = CliRunner().invoke(cli, [command, *both, *rest], env=environment)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--config and --preset exclude each other" in result.stderr
    assert server.requests == []
