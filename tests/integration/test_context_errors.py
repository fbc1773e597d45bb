"""A service that says, in any of the forms services use, that a request is too long: compacted and asked once more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.models.chat_completions import ChatCompletionsModel
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.steps import CompactionStep
from openvlharness_core.profile import ModelProfile
from openvlharness_core.question import Question
from openvlharness_core.testing import FakeClock
from tests.support.chat_server import ChatServer, Respond, Step, calls, says
from tests.unit.core.agents import Own, agent

WORDS = "This model's maximum context length is 4096 tokens; you asked for 5000."
FORMS: dict[str, object] = {
    "code": {"error": {"message": "too long", "code": "context_length_exceeded"}},
    "type": {"error": {"message": "too long", "type": "exceed_context_size_error", "code": 400}},
    "words": {"error": {"message": WORDS, "code": None}},
    "words_at_the_top": {"object": "error", "message": WORDS, "code": 400},
    "words_as_detail": {"detail": WORDS},
    "words_as_error": {"error": WORDS.upper()},
    "inside_another": {"error": {"message": "upstream", "innererror": {"code": "context_length_exceeded"}}},
    "in_a_list": [{"error": {"message": WORDS}}],
    "plain_text": WORDS,
}
STATUSES = (400, 413, 422, 429, 500, 503, 200)


def full(form: str, status: int = 400) -> Respond:
    said = FORMS[form]
    return Respond(status, said.encode() if isinstance(said, str) else json.dumps(said).encode(), {"Retry-After": "1"})


async def run(script: list[Step], *, fallback: bool = True) -> tuple[Report, list[dict[str, Any]]]:
    """Ask over the wire; the tool of the script gives one line of evidence."""
    clock = FakeClock()
    async with open_client() as client, ChatServer(script, strict=True, prefix=False) as server:
        model = ChatCompletionsModel(
            client=client,
            endpoint=server.endpoint,
            profile=ModelProfile(alias="p", model_id="m"),
            clock=clock,
            retry=3,
            share=lambda: 0.0,
        )
        made = agent(model, Own(), clock=clock, rules={"context_error_fallback": fallback})
        report = await made.answer(Question("How many?"))
    server.assert_spent()
    return report, [request.json for request in server.requests]


def looks(number: int) -> Step:
    return calls(("Own_Tool", {}), ids=[f"call_{number}"])


def reasons(report: Report) -> list[str]:
    return [step.reason for step in report.steps if isinstance(step, CompactionStep)]


def evidence_in(body: dict[str, Any]) -> int:
    return json.dumps(body).count("own evidence")


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("form", FORMS)
async def test_every_form_under_every_status(form: str, status: int) -> None:
    script = [looks(1), looks(2), looks(3), full(form, status), says("<answer>7</answer>")]
    report, bodies = await run(script)
    assert (report.answer, report.stop_reason, reasons(report)) == ("7", "answered", ["context_error"])
    assert [evidence_in(body) for body in bodies] == [0, 1, 2, 3, 1], "every turn but the newest in one line"
    assert bodies[-1]["messages"][-2:] == bodies[-2]["messages"][-2:]


async def test_a_second_error_for_the_same_request_ends_it() -> None:
    report, bodies = await run([looks(1), looks(2), full("code"), full("words")])
    assert (report.stop_reason, reasons(report), len(bodies)) == ("context_exceeded", ["context_error"], 4)
    assert report.error is not None
    assert report.error.code == "context_length_exceeded"


async def test_a_later_request_may_be_compacted_again() -> None:
    script = [looks(1), looks(2), full("code"), looks(3), full("type"), says("<answer>7</answer>")]
    report, bodies = await run(script)
    assert (report.answer, reasons(report)) == ("7", ["context_error"] * 2)
    assert [evidence_in(body) for body in bodies] == [0, 1, 2, 1, 2, 1]


async def test_where_nothing_can_be_shortened_nothing_is_asked_again() -> None:
    for script in ([full("code")], [looks(1), full("code")]):
        report, bodies = await run(list(script))
        assert (report.stop_reason, reasons(report), len(bodies)) == ("context_exceeded", [], len(script))


async def test_a_profile_without_the_fallback_ends() -> None:
    report, bodies = await run([looks(1), looks(2), full("code")], fallback=False)
    assert (report.stop_reason, reasons(report), len(bodies)) == ("context_exceeded", [], 3)


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "the context is long", "code": "invalid_request_error"}},
        {"error": {"message": "no such model", "type": "context_length_exceeded_maybe"}},
        {"error": {"message": "bad", "input": WORDS}},
    ],
)
async def test_other_refusals_are_no_context_errors(error: dict[str, object]) -> None:
    refused = Respond(400, json.dumps(error).encode())
    report, bodies = await run([looks(1), looks(2), refused])
    assert (report.stop_reason, reasons(report), len(bodies)) == ("model_failed", [], 3)
