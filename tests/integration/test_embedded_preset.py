"""The preset that needs nothing, over the sample receipt: the whole way, with the real reader."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from openvlharness_app import load_preset, open_agent
from openvlharness_app.cli.main import cli
from openvlharness_core import ImageInput, Question, ToolStep

RECEIPT = Path(__file__).parents[2] / "examples" / "data" / "receipt.jpg"
QUESTION = "What is the total?"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("rapidocr", reason="needs the extra: pip install 'openvlharness[embedded]'")


async def test_the_total_is_read_cut_out_and_read_again() -> None:
    async with open_agent(load_preset("embedded", {})) as agent:
        report = await agent.answer(Question(QUESTION, [ImageInput.from_path(RECEIPT)]))
    assert (report.answer, report.stop_reason, report.error) == ("27.14", "answered", None)
    assert report.model.alias == "embedded-planner"
    tools = [step for step in report.steps if isinstance(step, ToolStep)]
    assert [step.tool for step in tools] == ["OCR_Tool", "Zoom_In_Tool", "OCR_Tool"]
    assert [step.result.failure for step in tools] == [None, None, None]
    assert [step.result.data["image_id"] for step in tools] == [
        "input_image_1",
        "input_image_1",
        "tool_generated_image_1",
    ]
    assert {name: tool["failed"] for name, tool in report.usage["tools"].items()} == {"OCR_Tool": 0, "Zoom_In_Tool": 0}


def test_the_command_line_answers_and_says_who_decided(tmp_path: Path) -> None:
    shutil.copy(RECEIPT, tmp_path)
    result = CliRunner().invoke(cli, ["ask", "receipt.jpg", QUESTION])
    assert (result.exit_code, result.stdout) == (0, "27.14\n")
    lines = result.stderr.splitlines()
    assert ["rule-based planner" in line for line in lines] == [True, *[False] * (len(lines) - 1)]
    assert [line.split()[2] for line in lines if "→" in line] == ["OCR_Tool", "Zoom_In_Tool", "OCR_Tool"]
    assert [line.split()[0] for line in lines if "✓" in line or "✗" in line] == ["✓"] * 3
