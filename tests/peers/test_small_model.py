"""A real small model behind a real server, over both protocols: what is asserted is the protocol, not what the model thinks."""

from __future__ import annotations

import json

import pytest

from openvlharness_core import ImageInput, Question
from openvlharness_core.errors import ContextLengthError
from openvlharness_core.messages import ModelReply, ModelRequest, SystemMessage, ToolSpec, UserMessage
from openvlharness_core.seeking import SearchItem
from openvlharness_core.testing import plain_prompts
from tests.peers.asking import BOTH, EITHER_WAY, agent_of, compactions, model_of, model_steps, picture, tool_steps
from tests.peers.conftest import WINDOW_TOKENS

pytestmark = pytest.mark.heavy

# Each token is a hundredth of a second where nobody else wants the processor: texts are as short as they can be, and
# what the tests begin with is the same, so that the server has it in its cache. The words are those of its template.
PROMPTS = plain_prompts(final_instruction="Answer now.")
LOOK_UP = ToolSpec(
    name="Look_Up",
    description="Looks a word up.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string", "maxLength": 20}},
        "required": ["query"],
        "additionalProperties": False,
    },
)
BRIEF = {"temperature": 0.0, "max_tokens": 64}
FOUND = (SearchItem(title="The harbour", url="http://town.example/harbour", snippet="The harbour has nine berths."),)


def said(text: str, *tools: ToolSpec) -> ModelRequest:
    messages = (SystemMessage(text="Be brief."), UserMessage.of_text(text))
    return ModelRequest(messages=messages, tools=tools, tool_choice="required" if tools else None)


def usage_of(reply: ModelReply) -> tuple[int, int]:
    names = (
        ("input_tokens", "output_tokens") if "input_tokens" in reply.usage else ("prompt_tokens", "completion_tokens")
    )
    prompt, completion = (reply.usage[name] for name in names)
    return prompt, completion


@BOTH
@EITHER_WAY
async def test_a_call(small_model: str, alias: str, *, stream: bool) -> None:
    async with model_of(small_model, alias, stream=stream, **BRIEF) as model:
        reply = await model.complete(said("Start now.", LOOK_UP))
    (call,) = reply.calls
    assert (call.tool, call.truncated) == ("Look_Up", False)
    assert set(json.loads(call.arguments)) == {"query"}
    assert call.id
    assert not (reply.text or "").strip()
    prompt, completion = usage_of(reply)
    assert 50 < prompt < WINDOW_TOKENS
    assert 0 < completion < BRIEF["max_tokens"]


@BOTH
@EITHER_WAY
async def test_text(small_model: str, alias: str, *, stream: bool) -> None:
    async with model_of(small_model, alias, stream=stream, **BRIEF) as model:
        reply = await model.complete(said("Answer now."))
    assert (reply.text, reply.calls, reply.finish_reason) == ("<answer>harbour</answer>", (), "stop")


@BOTH
@EITHER_WAY
async def test_more_than_the_window_holds(small_model: str, alias: str, *, stream: bool) -> None:
    async with model_of(small_model, alias, stream=stream, **BRIEF) as model:
        with pytest.raises(ContextLengthError, match=str(WINDOW_TOKENS)):
            await model.complete(said("word " * (WINDOW_TOKENS + 1)))


@BOTH
async def test_a_picture_is_refused_by_a_model_that_sees_none(small_model: str, alias: str) -> None:
    async with agent_of(small_model, alias, tools=("zoom",), prompts=PROMPTS, retry=0, **BRIEF) as agent:
        report = await agent.answer(Question("Start now.", [ImageInput.from_bytes(picture())]))
    assert (report.stop_reason, report.answer, model_steps(report)) == ("model_failed", None, [])
    assert report.error is not None
    assert "image input is not supported" in report.error.message


@BOTH
async def test_a_whole_streamed_question(small_model: str, alias: str) -> None:
    async with agent_of(
        small_model,
        alias,
        tools=("text_search",),
        found=FOUND,
        prompts=PROMPTS,
        max_iterations=2,
        stream=True,
        **BRIEF,
    ) as agent:
        report = await agent.answer(Question("Start now."))
    assert (report.stop_reason, report.answer, report.error) == ("answered", "harbour", None)
    asked, answered = model_steps(report)
    (call,), (step,) = asked.calls, tool_steps(report)
    assert (call.tool, answered.calls) == ("Text_Search_Tool", ())
    assert (step.call_id, step.result.ok) == (call.id, True)
    assert [page.url for page in report.pages] == ["http://town.example/harbour"]
    assert report.usage["total"]["total_tokens"] > 0


async def test_a_history_that_passes_the_window_is_compacted(small_model: str) -> None:
    """Opening and one answer fit, opening and two do not; the third request is refused, and asked again with one of them."""
    pages = tuple(
        SearchItem(title=f"Harbour {n}", url=f"http://town.example/{n}", snippet="harbour berth tide " * 20)
        for n in range(8)
    )
    async with agent_of(
        small_model, "generic-chat", tools=("text_search",), found=pages, prompts=PROMPTS, max_iterations=3, **BRIEF
    ) as agent:
        report = await agent.answer(Question("Start now."))
    assert (report.stop_reason, report.answer, report.error) == ("answered", "harbour", None)
    (compaction,) = compactions(report)
    assert (compaction.iteration, compaction.reason, len(compaction.forms)) == (3, "context_error", 2)
    assert len(set(compaction.forms)) == 2, "the newest turn stays as it is"
    first, second, third = (step.usage["prompt_tokens"] for step in model_steps(report))
    grown = second - first
    assert second + grown > WINDOW_TOKENS - BRIEF["max_tokens"], "the test must ask for more than there is"
    assert third < second + grown // 4
    assert [step.result.ok for step in tool_steps(report)] == [True, True]
    assert len(report.pages) == len(pages)
