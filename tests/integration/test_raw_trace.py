"""`ask --save-raw-trace`: from the command line to the file beside the report, which does not change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from PIL import Image

from openvlharness_app.cli.main import cli
from openvlharness_app.presets import preset_text
from tests.support.chat_server import ChatServer, Completion, Recorded, Script, calls, says
from tests.support.small_tokenizer import small_tokenizer

ZOOM = ("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [0, 0, 500, 500]})


def vllm(request: Recorded) -> Completion:
    """Zooms, then answers; sends token ids to whoever asks for them, and streams none of them."""
    first = not any(message["role"] == "assistant" for message in request.json["messages"])
    said = calls(ZOOM) if first else says("<answer>red</answer>")
    if not request.json.get("return_token_ids") or request.json.get("stream"):
        return said
    (choice,) = said.payload["choices"]
    ids = [11, 12] if first else [13]
    return Completion({**said.payload, "choices": [{**choice, "token_ids": ids}], "prompt_token_ids": [1, 2, 3]})


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.new("RGB", (120, 80), "red").save(path)
    return path


Ask = Callable[..., Result]


@pytest.fixture
def ask(tmp_path: Path, photo: Path) -> Ask:
    """Asks a model whose profile has a raw trace; `fields` change that profile."""
    small_tokenizer().save(str(tmp_path / "tokenizer.json"))

    def asking(server: ChatServer, *options: object, **fields: object) -> Result:
        profile: dict[str, Any] = {
            "allowed_options": ["max_tokens", "return_token_ids"],
            "raw_trace_format": "native",
            "raw_trace_tokenizer_revision": "r1",
            "tokenizer": str(tmp_path / "tokenizer.json"),
        }
        (tmp_path / "profiles.yaml").write_text(yaml.safe_dump({"traced": profile | fields}), encoding="utf-8")
        tree = yaml.safe_load(preset_text("openai_compatible"))
        model = {"alias": "traced", "model_id": "m", "base": server.base_url, "key": "CANARY-1", "stream": True}
        tree["services"]["models"]["orchestrator"] = model
        tree["models"] = {"registry_paths": ["profiles.yaml"]}
        (tmp_path / "agent.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
        arguments = ["ask", "--config", tmp_path / "agent.yaml", photo, "Which colour?", *options]
        return CliRunner().invoke(cli, [str(argument) for argument in arguments])

    return asking


def _served(script: Script) -> ChatServer:
    return ChatServer(script)


def _timeless(path: Path) -> Any:
    """A report without what no two runs share."""

    def without_seconds(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_seconds(each) for key, each in value.items() if key != "seconds"}
        return [without_seconds(each) for each in value] if isinstance(value, list) else value

    return without_seconds(json.loads((path / "report.json").read_text(encoding="utf-8")))


def test_the_trace_lies_beside_a_report_that_does_not_change(ask: Ask, tmp_path: Path) -> None:
    with _served(vllm).in_thread() as server:
        plain = ask(server, "--out", tmp_path / "plain")
        traced = ask(server, "--out", tmp_path / "traced", "--save-raw-trace")
    assert (plain.exit_code, plain.stdout) == (traced.exit_code, traced.stdout) == (0, "red\n")
    assert not server.violations
    assert [request.json.get("return_token_ids") for request in server.requests] == [None, None, True, True]
    assert [request.json.get("stream") for request in server.requests] == [True, True, None, None]
    trace = json.loads((tmp_path / "traced" / "raw_trace.json").read_text(encoding="utf-8"))
    assert [entry["completion_token_ids"] for entry in trace["responses"]] == [[11, 12], [13]]
    assert [entry["response"]["prompt_token_ids"] for entry in trace["responses"]] == [[1, 2, 3]] * 2
    assert trace["tokenizer"] == {"name": str(tmp_path / "tokenizer.json"), "revision": "r1"}
    decoded = small_tokenizer().decode(trace["responses"][0]["prompt_token_ids"], skip_special_tokens=False)
    assert "Which colour?" in decoded
    assert decoded.count("<|image_pad|>") == 1
    assert _timeless(tmp_path / "traced") == _timeless(tmp_path / "plain")
    assert sorted(path.name for path in (tmp_path / "traced").iterdir()) == sorted(
        [*(path.name for path in (tmp_path / "plain").iterdir()), "raw_trace.json"]
    )
    assert all(b"CANARY-1" not in path.read_bytes() for path in (tmp_path / "traced").rglob("*") if path.is_file())


def test_a_server_without_token_ids_leaves_the_reason(ask: Ask, tmp_path: Path) -> None:
    with _served([says("<answer>red</answer>")]).in_thread() as server:
        result = ask(server, "--out", tmp_path / "run", "--save-raw-trace")
    assert (result.exit_code, result.stdout) == (0, "red\n")
    assert "no raw trace: reply 1: expected token ids" in result.stderr
    error = json.loads((tmp_path / "run" / "raw_trace_error.json").read_text(encoding="utf-8"))["error"]
    assert error["code"] == "no_token_ids"
    assert not (tmp_path / "run" / "raw_trace.json").exists()


def test_a_tokenizer_that_is_not_there_leaves_the_reason(ask: Ask, tmp_path: Path) -> None:
    with _served(vllm).in_thread() as server:
        result = ask(server, "--out", tmp_path / "run", "--save-raw-trace", tokenizer=str(tmp_path / "none.json"))
    assert (result.exit_code, result.stdout) == (0, "red\n")
    assert json.loads((tmp_path / "run" / "raw_trace_error.json").read_bytes())["error"]["code"] == "no_tokenizer"


def test_a_trace_of_an_earlier_report_does_not_stay(ask: Ask, tmp_path: Path) -> None:
    with _served(vllm).in_thread() as server:
        ask(server, "--out", tmp_path / "run", "--save-raw-trace")
        ask(server, "--out", tmp_path / "run")
    assert not list((tmp_path / "run").glob("raw_trace*"))


@pytest.mark.parametrize("fields", [{"raw_trace_format": None}, {"allowed_options": ["max_tokens"]}])
def test_a_model_without_a_raw_trace_is_refused_before_anything_is_asked(
    ask: Ask, tmp_path: Path, fields: dict[str, object]
) -> None:
    with _served([]).in_thread() as server:
        result = ask(server, "--out", tmp_path / "run", "--save-raw-trace", **fields)
    assert result.exit_code == 2
    assert "services.models.orchestrator.alias: expected a profile with a raw_trace_format" in result.stderr
    assert not server.requests


def test_it_needs_a_place_to_lie(ask: Ask) -> None:
    with _served([]).in_thread() as server:
        result = ask(server, "--save-raw-trace")
    assert result.exit_code == 2
    assert "--save-raw-trace: expected --out DIR" in result.stderr
