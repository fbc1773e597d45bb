"""Stopping and answers, rule by rule, by plain calls.

===== ==================================================================== ============================================
rule  what it says                                                         test
===== ==================================================================== ============================================
1     `max_iterations` counts requests; the last asks for the answer       test_the_last_request_asks_for_the_answer
2     a call there is refused, not run; then the extra request             test_a_call_in_the_last_request_is_refused
3     without an extra request the budget ends it                          test_without_an_extra_request_the_budget_ends_it
4     a call beside a complete tag wins                                    test_a_call_beside_a_complete_tag_wins
5     except in the last request, where the tag counts                     test_in_the_last_request_the_tag_beside_a_call_counts
6     the extra request and a retry do not count                           test_extra_request_and_retry_do_not_count
7     the final instruction replaces the nudge                             test_the_final_instruction_replaces_the_nudge
8     `answer_tag`: the last complete tag                                  test_under_answer_tag_text_alone_is_empty
9     `answer_tag_or_text`: else the text                                  test_under_answer_tag_or_text_the_text_answers
10    `extra_final_request` withholds tools                                test_the_extra_request_withholds_tools
11    `continue_empty_answer`: an empty answer is nudged, or ends it       test_an_empty_answer_is_nudged_or_ends_it
12    `append_final_message`                                               test_the_answering_reply_is_appended_if_asked_for
13    `context_error_fallback`: compact and retry once                     test_a_context_error_compacts_and_retries_once
14    one request may be the first and the last                            test_one_request_is_first_and_last
15    every stop reason                                                    test_every_stop_reason_is_reached
===== ==================================================================== ============================================
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openvlharness_core.agent.protocol import AskModel, Cancelled, DeadlinePassed, RunCall
from openvlharness_core.agent.seeding import paired_seed
from openvlharness_core.agent.state import Phase, StopReason
from openvlharness_core.agent.steps import CompactionStep
from openvlharness_core.messages import AssistantMessage, ToolMessage
from tests.unit.core.kit import LOOK_AT_1, PROMPTS, Talk, breaches, rules, text_of

FINAL, NUDGE, EXTRA = (PROMPTS.text(key) for key in ("final_instruction", "nudge", "extra_final_instruction"))


def test_the_last_request_asks_for_the_answer() -> None:
    talk = Talk(rules(max_iterations=3)).start().calls().finds("a")
    assert FINAL not in map(text_of, talk.messages)
    talk.calls().finds("b")
    assert text_of(talk.messages[-1]) == FINAL
    assert [text_of(message) for message in talk.messages].count(FINAL) == 1
    assert (talk.request.iteration, len(talk.request.tools)) == (3, 2), "tools are still offered"
    assert talk.says("<answer>3</answer>").answer == "3"


def test_a_call_in_the_last_request_is_refused() -> None:
    talk = Talk(rules(max_iterations=2)).start().calls().finds().calls(call_id="last")
    assert isinstance(talk.effect, AskModel), "not run"
    assistant, refusal, instruction = talk.new_messages()
    assert isinstance(assistant, AssistantMessage)
    assert refusal == ToolMessage(call_id="last", tool="Look_Tool", text="Error budget_spent: budget spent")
    assert text_of(instruction) == EXTRA
    assert talk.failures == [None, "budget_spent"]


def test_several_calls_in_the_last_request_are_all_refused() -> None:
    talk = Talk(rules(max_iterations=1)).start().calls_all(("Look_Tool", LOOK_AT_1, "a"), ("Rest_Tool", {}, "b"))
    assert talk.failures == ["budget_spent", "budget_spent"]
    assert breaches(talk.messages) == []


def test_without_an_extra_request_the_budget_ends_it() -> None:
    talk = Talk(rules(max_iterations=2, extra_final_request=False)).start().calls().finds().calls()
    assert (talk.answer, talk.state.stop_reason) == (None, "budget_spent")
    assert talk.state.error is not None
    assert talk.state.error.message == "no answer within 2 requests"
    assert talk.failures == [None, "budget_spent"], "the refused call is recorded"


def test_a_call_beside_a_complete_tag_wins() -> None:
    talk = Talk().start().calls(text="<answer>early</answer>")
    assert isinstance(talk.effect, RunCall)
    assert talk.finds().says("<answer>late</answer>").answer == "late"


def test_in_the_last_request_the_tag_beside_a_call_counts() -> None:
    talk = Talk(rules(max_iterations=2)).start().calls().finds().calls(text="<answer>4</answer>")
    assert (talk.answer, talk.state.stop_reason) == ("4", "answered")
    assert talk.failures == [None, "budget_spent"]


@pytest.mark.parametrize(
    "text",
    [
        "4",
        "<answer></answer>",
        "<answer>4",
        "```\n<answer>4</answer>\n```",
        "<tool_call><answer>4</answer></tool_call>",
    ],
)
def test_in_the_last_request_only_a_complete_tag_beside_a_call_counts(text: str) -> None:
    talk = Talk(rules(max_iterations=1)).start().calls(text=text)
    assert text_of(talk.messages[-1]) == EXTRA


def test_extra_request_and_retry_do_not_count() -> None:
    talk = Talk(rules(max_iterations=3)).start().calls().finds("a").calls().finds("b")
    talk.model_fails("context_length_exceeded", "too long", context=True)
    assert [request.iteration for request in talk.requests] == [1, 2, 3, 3]
    talk.says("")
    assert [request.iteration for request in talk.requests] == [1, 2, 3, 3, 4]
    assert talk.says("<answer>done</answer>").answer == "done"


def test_the_final_instruction_replaces_the_nudge() -> None:
    talk = Talk(rules(max_iterations=3)).start().says("")
    assert text_of(talk.messages[-1]) == NUDGE
    talk.says("")
    assert [text_of(message) for message in talk.new_messages()] == [PROMPTS.text("empty_reply"), FINAL]
    talk.says("")
    assert [text_of(message) for message in talk.new_messages()] == [PROMPTS.text("empty_reply"), EXTRA]


def test_under_answer_tag_text_alone_is_empty() -> None:
    talk = Talk(rules(final_answer="answer_tag")).start().says("It is four.")
    assert text_of(talk.messages[-1]) == NUDGE
    assert talk.says("<answer>3</answer> no, <answer>4</answer>").answer == "4"


def test_under_answer_tag_or_text_the_text_answers() -> None:
    assert Talk(rules(final_answer="answer_tag_or_text")).start().says(" It is four. ").answer == "It is four."


def test_the_extra_request_withholds_tools() -> None:
    talk = Talk(rules(max_iterations=1)).start().says("")
    assert (talk.request.tools, talk.request.tool_choice) == ((), None)
    assert talk.says("four").answer == "four"


def test_a_call_in_the_extra_request_is_refused_and_its_text_counts() -> None:
    talk = Talk(rules(max_iterations=1)).start().says("").calls(text="<answer>4</answer>")
    assert (talk.answer, talk.failures) == ("4", ["budget_spent"])
    talk = Talk(rules(max_iterations=1)).start().says("").calls()
    assert (talk.answer, talk.state.stop_reason) == (None, "budget_spent")


@pytest.mark.parametrize("text", [None, "", "<answer> </answer>", "<think>hm</think>", "<answer>"])
def test_an_empty_answer_is_nudged_or_ends_it(text: str | None) -> None:
    talk = Talk(rules(continue_empty_answer=True)).start().says(text)
    assert text_of(talk.messages[-1]) == NUDGE
    ended = Talk(rules(continue_empty_answer=False)).start().says(text)
    assert (ended.answer, ended.state.stop_reason) == (None, "no_answer")


@pytest.mark.parametrize("appended", [True, False])
def test_the_answering_reply_is_appended_if_asked_for(appended: bool) -> None:
    talk = Talk(rules(append_final_message=appended)).start().says("<answer>4</answer>")
    said = [turn.assistant for turn in talk.state.turns]
    assert said == ([AssistantMessage(text="<answer>4</answer>")] if appended else [])


def test_an_appended_reply_has_its_refused_call_paired() -> None:
    policy = rules(append_final_message=True, max_iterations=1)
    talk = Talk(policy).start().calls(call_id="a", text="<answer>4</answer>")
    (turn,) = talk.state.turns
    assert [result.call_id for result in turn.results] == [call.id for call in turn.assistant.calls] == ["a"]


def test_a_context_error_compacts_and_retries_once() -> None:
    talk = Talk().start().calls(call_id="a").finds("one").calls(call_id="b").finds("two")
    before = talk.request
    talk.model_fails("context_length_exceeded", "too long", context=True)
    assert talk.request.messages[:3] == before.messages[:3], "the opening stays"
    assert (
        ToolMessage(call_id="a", tool="Look_Tool", text="call line tool=Look_Tool outcome=tool_generated_image_1")
        in talk.messages
    )
    assert talk.request.messages[-3:] == before.messages[-3:], "the newest turn stays word for word"
    assert breaches(talk.messages) == []
    assert talk.state.steps[-1] == CompactionStep(iteration=3, reason="context_error", forms=("one_line", "whole"))
    talk.model_fails("context_length_exceeded", "still too long", context=True)
    assert (talk.answer, talk.state.stop_reason) == (None, "context_exceeded")
    assert talk.state.error is not None
    assert (talk.state.error.code, talk.state.error.message) == ("context_length_exceeded", "still too long")


def test_each_request_may_be_retried_once() -> None:
    talk = Talk().start()
    for content in "abc":
        talk.calls().finds(content)
    talk.model_fails(context=True).calls().finds("d").model_fails(context=True)
    assert isinstance(talk.effect, AskModel)
    assert breaches(talk.messages) == []


def test_a_context_error_with_nothing_to_shorten_ends_it() -> None:
    assert Talk().start().model_fails(context=True).state.stop_reason == "context_exceeded"
    assert Talk().start().calls().finds("a").model_fails(context=True).state.stop_reason == "context_exceeded"


def test_without_the_fallback_a_context_error_ends_it() -> None:
    talk = (
        Talk(rules(context_error_fallback=False))
        .start()
        .calls()
        .finds("a")
        .calls()
        .finds("b")
        .model_fails(context=True)
    )
    assert talk.state.stop_reason == "context_exceeded"


def test_a_compaction_before_the_extra_request_names_that_request() -> None:
    talk = (
        Talk(rules(max_iterations=3)).start().calls().finds("a").calls().finds("b").says("").model_fails(context=True)
    )
    step = talk.state.steps[-1]
    assert isinstance(step, CompactionStep)
    assert step.iteration == talk.request.iteration == 4


def test_one_request_is_first_and_last() -> None:
    talk = Talk(rules(max_iterations=1)).start()
    assert text_of(talk.messages[-1]) == FINAL
    assert len(talk.request.tools) == 2
    talk.calls(call_id="a")
    assert [request.iteration for request in talk.requests] == [1, 2]
    assert talk.failures == ["budget_spent"]


def _ends(reason: StopReason) -> Talk:
    start: Callable[..., Talk] = lambda **fields: Talk(rules(**fields)).start()  # noqa: E731
    match reason:
        case "answered":
            return start().says("4")
        case "no_answer":
            return start(continue_empty_answer=False).says("")
        case "budget_spent":
            return start(max_iterations=1, extra_final_request=False).says("")
        case "model_failed":
            return start().model_fails("http_401", "wrong key")
        case "context_exceeded":
            return start().model_fails(context=True)
        case "deadline":
            return start().tell(DeadlinePassed())
        case "cancelled":
            return start().tell(Cancelled())


@pytest.mark.parametrize(
    "reason",
    ["answered", "no_answer", "budget_spent", "model_failed", "context_exceeded", "deadline", "cancelled"],
)
def test_every_stop_reason_is_reached(reason: StopReason) -> None:
    talk = _ends(reason)
    assert talk.ended
    assert talk.state.phase is Phase.DONE
    assert talk.state.stop_reason == reason
    assert (talk.state.error is None) == (reason == "answered") == (talk.answer is not None)


def test_a_model_error_is_reported_as_it_came() -> None:
    error = Talk().start().model_fails("http_401", "wrong \ud83dkey").state.error
    assert error is not None
    assert (error.code, error.message) == ("http_401", "wrong \ufffdkey")


@pytest.mark.parametrize("event", [Cancelled(), DeadlinePassed()])
def test_a_call_that_was_running_is_recorded_as_cancelled(event: Cancelled | DeadlinePassed) -> None:
    talk = Talk().start().calls(call_id="a").tell(event)
    assert (talk.failures, talk.tool_steps[0].call_id) == (["cancelled"], "a")
    assert talk.state.call is None


def test_seeds_follow_the_task_and_the_request() -> None:
    policy = rules(paired_sampling_seed=True, sample_index=2, max_iterations=2)
    talk = Talk(policy).start(task_id="t1").says("").says("")
    assert [request.seed for request in talk.requests] == [paired_seed("t1", number, 2) for number in (1, 2, 3)]
    assert [request.seed for request in Talk(policy).start().requests] == [None], "only with a task id"
    assert [request.seed for request in Talk(rules()).start(task_id="t1").requests] == [None], "only if asked for"


def test_a_seed_is_the_first_bytes_of_a_digest() -> None:
    # sha256("task\n1") begins 4c15e904, sha256("task\n8") b7c967ab, of which the sign bit is left out
    assert (paired_seed("task", 1), paired_seed("task", 8)) == (0x4C15E904, 0x37C967AB)
    assert paired_seed("task", 1, 1) == (paired_seed("task", 1) + 1_000_003) % 2**31
    assert paired_seed("t\ud83d", 1) == paired_seed("t?", 1), "a task id that cannot be encoded still has a seed"
    assert all(0 <= paired_seed("x", number, 9999) < 2**31 for number in range(50))
