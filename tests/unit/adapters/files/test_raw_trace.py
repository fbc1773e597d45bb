"""The raw trace as a file: what was sent, the server's own ids, and every reason for having none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from openvlharness_adapters.files.raw_trace import RAW_TRACE, RAW_TRACE_ERROR, Tokenize, raw_trace_file
from openvlharness_adapters.files.report_store import write_report
from openvlharness_adapters.models.qwen_prompt import prompt_text
from openvlharness_core.agent.raw_trace import RawExchange, RawTraceRecorder
from openvlharness_core.agent.report import ModelName, Report
from openvlharness_core.errors import TokenizerUnavailableError
from openvlharness_core.messages import ImagePart, UserMessage
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing import calling, saying
from tests.support.small_tokenizer import small_tokenizer
from tests.unit.core.agents import QUESTION, ZOOM, agent

PROFILE = ModelProfile(
    alias="qwen3-vl-8b-instruct",
    model_id="q",
    tokenizer="Qwen/Qwen3-VL-8B-Instruct",
    raw_trace_format="native",
    raw_trace_tokenizer_revision="abc123",
)
TOKENIZER = small_tokenizer()


def _native(ids: object, **fields: object) -> str:
    choice = {"index": 0, "message": {"role": "assistant", "content": "<answer>2</answer>"}, "token_ids": ids}
    return json.dumps({"id": "c", "choices": [choice], **fields})


def _tokenizer() -> Tokenize:
    return lambda text: TOKENIZER.encode(text, add_special_tokens=False).ids


Run = tuple[Report, tuple[RawExchange, ...]]


@pytest.fixture(scope="module")
def run() -> Run:
    recorder = RawTraceRecorder()
    replies = [
        attrs.evolve(calling("Zoom_In_Tool", ZOOM), native=_native([7, 8], prompt_token_ids=[1])),
        attrs.evolve(saying("<answer>2</answer>"), native=_native([9])),
    ]
    made = agent(replies, tracer=recorder, model_name=ModelName(alias=PROFILE.alias, model_id="q"))
    report = asyncio.run(made.answer(QUESTION, task_id="t"))
    return report, recorder.take(recorder.question_ids[0])


def _trace(run: Run, profile: ModelProfile = PROFILE) -> dict[str, Any]:
    files = raw_trace_file(run[1], run[0], profile, _tokenizer)
    assert list(files) == [RAW_TRACE]
    trace: dict[str, Any] = json.loads(files[RAW_TRACE])
    return trace


def test_completions_keep_the_servers_ids_and_prompts_are_tokenised_here(run: Run) -> None:
    trace = _trace(run)
    assert trace["tokenizer"] == {"name": "Qwen/Qwen3-VL-8B-Instruct", "revision": "abc123"}
    assert (trace["task_id"], trace["format"]) == ("t", "native")
    first, second = trace["responses"]
    assert (first["completion_token_ids"], second["completion_token_ids"]) == ([7, 8], [9])
    for entry in (first, second):
        text = prompt_text(entry["messages"], entry["tools"])
        assert TOKENIZER.decode(entry["prompt_token_ids"], skip_special_tokens=False) == text
        assert text.endswith("<|im_start|>assistant\n")
    assert first["response"] == json.loads(run[1][0].native or "")
    assert second["messages"][: len(first["messages"])] == first["messages"]
    added = second["messages"][len(first["messages"]) :]
    assert [message["role"] for message in added][:2] == ["assistant", "tool"]


def test_pictures_are_named_by_their_files(run: Run, tmp_path: Path) -> None:
    write_report(run[0], tmp_path)
    named = [
        part["image_url"]["url"]
        for message in _trace(run)["responses"][1]["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    assert len(named) == 2
    assert all((tmp_path / name).is_file() for name in named)


def test_a_picture_that_no_report_holds_is_written_out(run: Run) -> None:
    stray = EncodedImage(data=b"\xff\xd8\xff", media_type="image/jpeg", size_hw=(1, 1))
    message = UserMessage(parts=(ImagePart(handle="x", image=stray), ImagePart(handle="y", url="https://e.com/y.png")))
    exchange = attrs.evolve(run[1][0], request=attrs.evolve(run[1][0].request, messages=(message,)))
    (entry,) = _trace((run[0], (exchange,)))["responses"]
    urls = [part["image_url"]["url"] for part in entry["messages"][0]["content"]]
    assert urls == ["data:image/jpeg;base64,/9j/", "https://e.com/y.png"]


def test_the_report_is_what_it_was(run: Run, tmp_path: Path) -> None:
    write_report(run[0], tmp_path / "without")
    write_report(run[0], tmp_path / "with", beside=raw_trace_file(run[1], run[0], PROFILE, _tokenizer))
    name = "report.json"
    assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes()
    assert b"token_ids" not in (tmp_path / "with" / name).read_bytes()


def _no_tokenizer() -> Tokenize:
    raise TokenizerUnavailableError("Qwen/Qwen3-VL-8B-Instruct", "not in the hub's cache")


@pytest.mark.parametrize(
    ("natives", "profile", "code"),
    [
        ([], PROFILE, "no_replies"),
        ([None], PROFILE, "no_native_reply"),
        (["<html>"], PROFILE, "no_native_reply"),
        (["[]"], PROFILE, "no_native_reply"),
        ([_native(None)], PROFILE, "no_token_ids"),
        ([_native([])], PROFILE, "no_token_ids"),
        ([_native([1, "2"])], PROFILE, "no_token_ids"),
        ([_native([1, -2])], PROFILE, "no_token_ids"),
        ([_native([True])], PROFILE, "no_token_ids"),
        (['{"choices": []}'], PROFILE, "no_token_ids"),
        ([_native([1]), _native(None)], PROFILE, "no_token_ids"),
        ([_native([1])], attrs.evolve(PROFILE, raw_trace_format=None), "no_format"),
    ],
)
def test_without_what_it_takes_there_is_a_reason(
    run: Run, natives: Sequence[str | None], profile: ModelProfile, code: str
) -> None:
    exchanges = [attrs.evolve(run[1][0], native=native) for native in natives]
    files = raw_trace_file(exchanges, run[0], profile, _tokenizer)
    assert list(files) == [RAW_TRACE_ERROR]
    error = json.loads(files[RAW_TRACE_ERROR])["error"]
    assert error["code"] == code
    assert "expected" in error["message"]


def test_without_a_tokenizer_there_is_a_reason(run: Run) -> None:
    files = raw_trace_file(run[1], run[0], PROFILE, _no_tokenizer)
    assert json.loads(files[RAW_TRACE_ERROR])["error"]["code"] == "no_tokenizer"
