"""An independent implementation of both protocols: pictures, ids that find their way back, reasoning, refusals."""

from __future__ import annotations

import pytest

from openvlharness_core import ImageInput, Question
from openvlharness_core.seeking import SearchItem
from tests.peers.asking import BOTH, EITHER_WAY, agent_of, compactions, model_steps, picture, tool_steps

pytestmark = pytest.mark.heavy


@BOTH
@EITHER_WAY
async def test_a_whole_question(scripted: str, alias: str, *, stream: bool) -> None:
    async with agent_of(scripted, alias, model_id="looks", tools=("zoom", "ocr"), stream=stream) as agent:
        report = await agent.answer(Question("What is the total?", [ImageInput.from_bytes(picture())]))
    assert (report.stop_reason, report.answer, report.error) == ("answered", "12.50", None)
    crop, _, answer = model_steps(report)
    assert (crop.text, answer.text) == ("Closer.", "<answer>12.50</answer>")
    assert [step.call_id for step in tool_steps(report)] == ["call_crop", "call_read"]
    assert [step.result.ok for step in tool_steps(report)] == [True, True]
    assert [record.handle for record in report.images] == ["input_image_1", "tool_generated_image_1"]
    if alias == "generic-responses":  # the other protocol has no such thing there
        assert crop.reasoning == "It is small."
    if not stream:  # its chat streams count only on request, in a way of their own
        assert report.usage["total"]["total_tokens"] == 3 * 77


@BOTH
@EITHER_WAY
async def test_a_refused_history_is_compacted_and_asked_again(scripted: str, alias: str, *, stream: bool) -> None:
    found = tuple(
        SearchItem(title=f"Harbour {n}", url=f"http://town.example/{n}", snippet="berth tide " * 50) for n in range(8)
    )
    async with agent_of(
        scripted, alias, model_id="narrow", tools=("text_search",), found=found, stream=stream
    ) as agent:
        report = await agent.answer(Question("Where do ships land?"))
    assert (report.stop_reason, report.answer, report.error) == ("answered", "harbour", None)
    assert [(step.iteration, step.reason) for step in compactions(report)] == [(3, "context_error")]
    assert [step.call_id for step in tool_steps(report)] == ["call_a", "call_b"]


@BOTH
@EITHER_WAY
@pytest.mark.parametrize(
    ("model_id", "words"), [("limited", "no credit left"), ("unheard-of", "no rule of this model")]
)
async def test_a_refusal_is_told(scripted: str, alias: str, model_id: str, words: str, *, stream: bool) -> None:
    async with agent_of(scripted, alias, model_id=model_id, tools=("zoom",), stream=stream) as agent:
        report = await agent.answer(Question("What is it?"))
    assert (report.stop_reason, report.answer) == ("model_failed", None)
    assert report.error is not None
    assert words in report.error.message
