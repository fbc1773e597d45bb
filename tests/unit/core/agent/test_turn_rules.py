"""Turn order, rule by rule, by plain calls.

===== ==================================================================== ==========================================
rule  what it says                                                         test
===== ==================================================================== ==========================================
1.1   counted requests are counted before they are sent                    test_a_counting_profile_counts_first
1.2   a reply without a call goes to the answer policy                     test_no_call_is_an_answer
1.3   one call runs                                                        test_one_call_runs
1.4   of several calls none runs; each is told so, in order                test_of_several_calls_none_runs
2.1   an unknown tool is told the available ones                           test_an_unknown_tool_is_told_the_available_ones
2.2   missing and repeated ids become fresh ones, used in both places      test_missing_and_repeated_ids_are_made_fresh
2.3   what is replayed is valid, the trace keeps the raw text              test_broken_arguments_are_not_run_and_not_replayed
2.4   a call name that cannot be replayed is mended                        test_a_name_that_servers_refuse_is_mended
2.5   call markup in content is neither answer nor executed                test_call_markup_in_text_is_no_call_and_no_answer
2.6   a call that was cut off is told so                                   test_a_truncated_call_is_told_so
2.7   unknown, missing and mistyped arguments are told, all at once        test_wrong_arguments_are_told_all_at_once
3.1   after success: acknowledgement with evidence, then one update        test_after_success_evidence_then_one_update
3.2   under `always` an update comes though nothing changed                test_always_updates_though_nothing_changed
3.3   under `on_change` only if sources, pages or bindings changed         test_on_change_updates_only_after_a_change
4.1   after failure: the error in the tool's place, no update              test_after_failure_the_error_and_no_update
4.2   a download of a failed call stays                                    test_what_a_failed_call_downloaded_stays
5.1   text, reasoning and extras beside a call are kept                    test_what_came_with_a_call_is_kept
5.2   an empty reply is replayed as the bundle's text, its extras dropped  test_an_empty_reply_is_replayed_as_a_text
5.3   lone surrogates are replaced everywhere                              test_lone_surrogates_are_replaced
===== ==================================================================== ==========================================
"""

from __future__ import annotations

import attrs
import pytest

from openvlharness_core.agent.engine import advance
from openvlharness_core.agent.protocol import (
    AskModel,
    CallFinished,
    CountTokens,
    ModelReplied,
    RunCall,
    Started,
    TokensCounted,
)
from openvlharness_core.agent.state import TurnState
from openvlharness_core.agent.steps import EnvironmentUpdateStep, ModelStep
from openvlharness_core.calls import CapabilityResult, NewBinding, NewPage
from openvlharness_core.messages import (
    AssistantMessage,
    ImagePart,
    ModelReply,
    TextPart,
    ToolMessage,
    UserMessage,
    VirtualCall,
)
from openvlharness_core.pictures import RemotePicture
from openvlharness_core.question import Exchange, Intake
from openvlharness_core.testing import saying
from tests.unit.core.kit import LOOK, LOOK_AT_1, PROMPTS, REST, Talk, breaches, picture, rules, text_of


def test_the_first_request_has_prompt_question_and_update_in_this_order() -> None:
    first, second = picture("a"), picture("b", 10, 20)
    talk = Talk().start("Compare", first, "with", second)
    system, question, update = talk.messages
    assert text_of(system) == PROMPTS.text("system")
    assert isinstance(question, UserMessage)
    assert [part.text if isinstance(part, TextPart) else part.image for part in question.parts] == [
        "user prefix",
        "Compare",
        "input_image_1:",
        first.sent,
        "with",
        "input_image_2:",
        second.sent,
    ]
    assert text_of(update) == talk.state.steps[0].text  # type: ignore[union-attr]
    assert "- input_image_2: question, 20x10 px" in text_of(update)
    assert (talk.request.iteration, talk.request.tools, talk.request.tool_choice) == (1, (LOOK, REST), "auto")


def test_notes_of_a_picture_follow_it() -> None:
    noted = attrs.evolve(picture("a"), notes=("first of 12 frames of an animation",))
    question = Talk().start("What?", noted).messages[1]
    assert text_of(question).endswith(
        "<input_image_1>\nimage note handle=input_image_1 note=first of 12 frames of an animation"
    )


def test_a_remote_picture_is_shown_by_its_url_and_its_size_is_unknown() -> None:
    talk = Talk().start("What?", RemotePicture(url="https://example.com/a.png"))
    question, update = talk.messages[1:]
    assert isinstance(question, UserMessage)
    assert question.parts[-1] == ImagePart(handle="input_image_1", url="https://example.com/a.png")
    assert "- input_image_1: question, size unknown" in text_of(update)


def test_earlier_exchanges_come_as_text_before_the_question() -> None:
    history = (Exchange(question="one?", answer="1"), Exchange(question="two?", answer=""))
    talk = Talk().start("three?", history=history)
    said = [text_of(message).strip() for message in talk.messages[:6]]
    assert said[:5] == ["system", "one?", "1", "two?", PROMPTS.text("empty_reply")]
    assert breaches(talk.messages) == []


def test_blank_texts_are_not_sent() -> None:
    talk = Talk(rules(prompts=attrs.evolve(PROMPTS, texts={**PROMPTS.texts, "user_prefix": " "}))).start(
        "", "what?", "\n"
    )
    assert text_of(talk.messages[1]) == "what?"


def test_a_counting_profile_counts_first() -> None:
    policy = rules(count_tokens=True, max_context_length=10_000)
    state, effect = advance(TurnState(), Started(intake=Intake(parts=("What?",))), policy)
    assert isinstance(effect, CountTokens)
    assert effect.tools == (LOOK, REST)
    assert len(effect.segments) == 1
    state, effect = advance(state, TokensCounted(counts=(50, 20)), policy)
    assert isinstance(effect, AskModel)
    state, effect = advance(state, ModelReplied(reply=ModelReply(text="")), policy)
    assert isinstance(effect, CountTokens)
    assert (len(effect.segments), effect.tools) == (4, ()), (
        "only the new turn is counted, in three forms and its update"
    )


def test_no_call_is_an_answer() -> None:
    talk = Talk().start().says("<answer>three</answer>")
    assert (talk.answer, talk.state.stop_reason, talk.state.error) == ("three", "answered", None)


def test_one_call_runs() -> None:
    talk = Talk().start().calls("Look_Tool", {"image_id": "input_image_1", "times": "2"}, call_id="c1")
    assert isinstance(talk.effect, RunCall)
    call = talk.effect.call
    assert (call.id, call.tool, dict(call.arguments)) == ("c1", "Look_Tool", {"image_id": "input_image_1", "times": 2})
    assert call.notes == ("times: numeric text '2' taken as a number",)


def test_a_call_without_text_arguments_gets_the_defaults() -> None:
    talk = Talk().start().calls()
    assert isinstance(talk.effect, RunCall)
    assert talk.effect.call.arguments == {"image_id": "input_image_1", "times": 1}


def test_of_several_calls_none_runs() -> None:
    talk = Talk().start().calls_all(("Look_Tool", LOOK_AT_1, "a"), ("Nothing", "{broken", "b"), ("Rest_Tool", {}, "c"))
    assistant, *results = talk.new_messages()
    assert isinstance(assistant, AssistantMessage)
    assert [call.id for call in assistant.calls] == ["a", "b", "c"]
    told = "Error one_call_per_turn: one call per turn count=3"
    assert results == [
        ToolMessage(call_id="a", tool="Look_Tool", text=told),
        ToolMessage(call_id="b", tool="Nothing", text=told),
        ToolMessage(call_id="c", tool="Rest_Tool", text=told),
    ]
    assert talk.failures == ["one_call_per_turn"] * 3
    assert len(talk.steps_of(EnvironmentUpdateStep)) == 1, "no update but the opening's"
    talk.calls().finds("seen")
    reply, result, update = talk.new_messages()
    assert isinstance(reply, AssistantMessage)
    assert isinstance(result, ToolMessage)
    assert isinstance(update, UserMessage)


def test_an_unknown_tool_is_told_the_available_ones() -> None:
    talk = Talk().start().calls("Fly_Tool", {}, call_id="a")
    told = "Error unknown_tool: unknown tool tool=Fly_Tool available=Look_Tool, Rest_Tool"
    assert talk.new_messages()[1] == ToolMessage(call_id="a", tool="Fly_Tool", text=told)
    assert talk.failures == ["unknown_tool"]


def test_without_any_tools_a_call_is_unknown_too() -> None:
    talk = Talk(rules(tools=())).start()
    assert (talk.request.tools, talk.request.tool_choice) == ((), None)
    assert "available=none" in text_of(talk.calls().new_messages()[1])


@pytest.mark.parametrize("call_id", ["", "  ", "zoom:0"])
def test_missing_and_repeated_ids_are_made_fresh(call_id: str) -> None:
    talk = Talk().start()
    for content in ("first", "second", "third"):
        talk.calls(call_id=call_id).finds(content)
    calls = [call for message in talk.messages if isinstance(message, AssistantMessage) for call in message.calls]
    results = [message for message in talk.messages if isinstance(message, ToolMessage)]
    ids = [call.id for call in calls]
    assert len(set(ids)) == 3
    assert all(each.strip() for each in ids)
    assert [result.call_id for result in results] == ids
    assert [step.call_id for step in talk.tool_steps] == ids
    assert [call.id for step in talk.steps_of(ModelStep) for call in step.calls] == ids  # type: ignore[attr-defined]
    assert len(talk.state.workspace.images.records) == 4, "all three ran"
    assert breaches(talk.messages) == []


def test_a_fresh_id_never_meets_one_that_comes_later() -> None:
    talk = Talk().start().calls_all(("Rest_Tool", {}, ""), ("Rest_Tool", {}, "call_1_1"), ("Rest_Tool", {}, "call_1_1"))
    talk.calls("Rest_Tool", {}, call_id="call_1_2").finds()
    assert breaches(talk.messages) == []


@pytest.mark.parametrize(
    "raw", ['{"image_id": "input_image_1", "coords": [10, 20', "null", "[]", '"x"', "", "{} {}", "{'a': 1}"]
)
def test_broken_arguments_are_not_run_and_not_replayed(raw: str) -> None:
    talk = Talk().start().hear(ModelReply(calls=(VirtualCall(id="a", tool="Look_Tool", arguments=raw),)))
    assistant, result = talk.new_messages()
    assert isinstance(assistant, AssistantMessage)
    assert assistant.calls[0].arguments == "{}"
    assert text_of(result).startswith("Error invalid_tool_arguments: expected one JSON object")
    assert "character" in text_of(result)
    assert talk.tool_steps[0].arguments == raw
    assert talk.steps_of(ModelStep)[0].calls[0].arguments == raw  # type: ignore[attr-defined]
    assert talk.calls().finds().says("<answer>1</answer>").answer == "1", "the question goes on"


@pytest.mark.parametrize(
    ("name", "replayed"),
    [
        ("zoom in", "zoom_in"),
        ("функция", "_______"),
        ("", "unknown"),
        ("a" * 70, "a" * 64),
        ("f.x:0", "f_x_0"),
        ("\ud83d", "_"),
    ],
)
def test_a_name_that_servers_refuse_is_mended(name: str, replayed: str) -> None:
    talk = Talk().start().calls(name, {}, call_id="a")
    assistant, result = talk.new_messages()
    assert isinstance(assistant, AssistantMessage)
    assert isinstance(result, ToolMessage)
    assert (assistant.calls[0].tool, result.tool) == (replayed, replayed)
    assert talk.tool_steps[0].tool == name.replace("\ud83d", "\ufffd")
    assert breaches(talk.messages) == []


@pytest.mark.parametrize("said", ["", "Let me look closer. "])
def test_call_markup_in_text_is_no_call_and_no_answer(said: str) -> None:
    markup = said + '<tool_call>{"name": "Look_Tool", "arguments": {"image_id": "input_image_1"}}</tool_call>'
    talk = Talk().start().says(markup)
    assert text_of(talk.new_messages()[1]) == PROMPTS.text("nudge")
    assert talk.tool_steps == []


def test_a_truncated_call_is_told_so() -> None:
    cut = VirtualCall(id="a", tool="Look_Tool", arguments='{"image_id": "in', truncated=True)
    talk = Talk().start().hear(ModelReply(calls=(cut,), finish_reason="length"))
    assert text_of(talk.new_messages()[1]) == "Error arguments_truncated: arguments truncated"
    assert breaches(talk.messages) == []


def test_wrong_arguments_are_told_all_at_once() -> None:
    talk = Talk().start().calls("Look_Tool", {"times": True, "zoom": 2})
    told = text_of(talk.new_messages()[1])
    assert told.startswith("Error invalid_tool_arguments: ")
    assert "zoom: expected one of the known arguments (image_id, times), got an unknown one" in told
    assert "image_id: expected a text that is not blank, got nothing" in told
    assert "times: expected a whole number, got true" in told


def test_after_success_evidence_then_one_update() -> None:
    talk = Talk().start().calls(call_id="a", text="let me look").finds("crop", seconds=2.5)
    assistant, result, update = talk.new_messages()
    assert assistant == AssistantMessage(
        text="let me look", calls=(VirtualCall(id="a", tool="Look_Tool", arguments='{"image_id": "input_image_1"}'),)
    )
    sent = talk.state.workspace.images.records[1].picture
    assert sent is not None
    assert result == ToolMessage(
        call_id="a",
        tool="Look_Tool",
        text="acknowledgement tool=Look_Tool",
        parts=(TextPart(text="evidence"), ImagePart(handle="tool_generated_image_1", image=sent.sent)),
    )
    assert "- tool_generated_image_1: Look_Tool, 60x40 px" in text_of(update)
    assert talk.state.steps[-1] == EnvironmentUpdateStep(text=text_of(update))
    assert (talk.tool_steps[0].seconds, talk.state.seconds) == (2.5, 2.5)
    assert talk.request.iteration == 2


def test_always_updates_though_nothing_changed() -> None:
    talk = Talk(rules(emit_policy="always")).start().calls().finds()
    first = text_of(talk.messages[-1])
    assert first == talk.state.steps[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("found", "changed"),
    [
        ({}, False),
        ({"bindings": [NewBinding(stem="n", fields={"n": 1})]}, True),
        ({"pages": [NewPage(url="https://example.com")]}, True),
    ],
)
def test_on_change_updates_only_after_a_change(found: dict[str, object], changed: bool) -> None:
    talk = Talk(rules(emit_policy="on_change")).start().calls().finds(**found)  # type: ignore[arg-type]
    assert isinstance(talk.messages[-1], UserMessage if changed else ToolMessage)
    talk.calls().finds(**found)  # type: ignore[arg-type]
    assert isinstance(talk.messages[-1], ToolMessage), "the same again changes nothing"
    talk.calls().finds("new picture")
    assert isinstance(talk.messages[-1], UserMessage)


def test_on_change_tells_a_change_that_a_failed_call_left_behind() -> None:
    talk = Talk(rules(emit_policy="on_change")).start("What?", RemotePicture(url="https://example.com/a.png")).calls()
    downloaded = talk.state.workspace.with_download("input_image_1", picture("far"))
    talk.tell(CallFinished(result=CapabilityResult.failed("backend_timeout", "slow"), workspace=downloaded))
    assert isinstance(talk.messages[-1], ToolMessage)
    talk.calls().finds()
    assert "- input_image_1: question, 60x40 px" in text_of(talk.messages[-1])


def test_after_failure_the_error_and_no_update() -> None:
    talk = Talk().start().calls(call_id="a").fails("backend_timeout", "no answer within 3 s")
    assert talk.new_messages()[1:] == (
        ToolMessage(call_id="a", tool="Look_Tool", text="Error backend_timeout: no answer within 3 s"),
    )
    assert len(talk.steps_of(EnvironmentUpdateStep)) == 1


def test_what_a_failed_call_downloaded_stays() -> None:
    talk = Talk().start("What?", RemotePicture(url="https://example.com/a.png")).calls()
    downloaded = talk.state.workspace.with_download("input_image_1", picture("far"))
    talk.tell(CallFinished(result=CapabilityResult.failed("backend_timeout", "slow"), workspace=downloaded))
    assert talk.state.workspace.images.records[0].picture == picture("far")


def test_what_came_with_a_call_is_kept() -> None:
    call = VirtualCall(id="a", tool="Rest_Tool", arguments="{}")
    reply = ModelReply(text=" hm ", calls=(call,), reasoning="because", extras='{"vendor": [1]}', usage={"total": 3.0})
    talk = Talk().start().hear(reply, seconds=1.5).finds()
    assert talk.new_messages()[0] == AssistantMessage(
        text=" hm ", calls=(call,), reasoning="because", extras='{"vendor": [1]}'
    )
    step = talk.steps_of(ModelStep)[0]
    assert isinstance(step, ModelStep)
    assert (step.text, step.reasoning, step.usage, step.seconds) == (" hm ", "because", {"total": 3.0}, 1.5)


@pytest.mark.parametrize("text", [None, "", " \n\t"])
def test_an_empty_reply_is_replayed_as_a_text(text: str | None) -> None:
    talk = Talk().start().hear(ModelReply(text=text, reasoning="long thoughts", extras='{"items": [1]}'))
    assert talk.new_messages()[0] == AssistantMessage(text=PROMPTS.text("empty_reply"))


def test_lone_surrogates_are_replaced() -> None:
    talk = Talk().start("a\ufffd b", picture("q"))
    call = VirtualCall(id="\ud83d1", tool="Look_Tool", arguments='{"image_id": "\\ud83d x"}')
    reply = ModelReply(text="\ud83d 😀", calls=(call,), reasoning="\udc00", extras='{"a": "\ud83d"}')
    talk.hear(reply)
    assert isinstance(talk.effect, RunCall)
    assert talk.effect.call.arguments["image_id"] == "\ufffd x"
    talk.fails("tool_execution_error", "\ud83d")
    assert breaches(talk.messages) == []
    assistant = talk.new_messages()[0]
    assert isinstance(assistant, AssistantMessage)
    assert (assistant.text, assistant.reasoning, assistant.extras) == ("\ufffd 😀", "\ufffd", '{"a": "\ufffd"}')
    assert assistant.calls[0].arguments == '{"image_id": "\ufffd x"}'


def test_each_request_continues_the_one_before() -> None:
    talk = (
        Talk().start().says("").calls().finds("a").calls("None").calls_all(("Rest_Tool", {}, ""), ("Rest_Tool", {}, ""))
    )
    talk.calls().fails().says("<answer>x</answer>")
    for before, now in zip(talk.requests, talk.requests[1:], strict=False):
        assert now.messages[: len(before.messages)] == before.messages
        assert breaches(now.messages) == []
    assert [request.iteration for request in talk.requests] == [1, 2, 3, 4, 5, 6]


def test_a_reply_that_only_thinks_is_kept_as_it_came() -> None:
    thought = "<think>so many</think>"
    assert Talk().start().hear(saying(thought)).new_messages()[0] == AssistantMessage(text=thought)
