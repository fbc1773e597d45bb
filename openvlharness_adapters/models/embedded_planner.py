"""A `ChatModel` without a model: a small rule-based planner, so that a machine with nothing can answer something.

It sees what a model sees and no more, makes the same calls through the same tools, and answers from their evidence. Its
questions are a closed set; outside it says so. It keeps nothing between requests: see `planner`.
"""

from __future__ import annotations

import json
import re

import attrs

from openvlharness_adapters.models.planner.evidence import Conversation, Failed, read_conversation
from openvlharness_adapters.models.planner.looking_up import SEARCH, LookUp
from openvlharness_adapters.models.planner.looks import Answer, Call, Cannot
from openvlharness_adapters.models.planner.places import Place
from openvlharness_adapters.models.planner.plans import plan_for
from openvlharness_adapters.models.planner.questions import FindValue, NotUnderstood, Subtract, understand
from openvlharness_core.messages import ModelReply, ModelRequest, VirtualCall

MODEL_NAME = "embedded-planner"

_TAG = re.compile(r"<(?=/?(?:answer|think(?:ing)?|tool_calls?|function)\b)|<(?=\|)", re.IGNORECASE)


@attrs.frozen(kw_only=True)
class EmbeddedPlanner:
    """Plans by rules; always answers at once, and never fails."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `ChatModel`: one call, or the answer in its tag; what is outside of what it can do begins with `Cannot`."""
        conversation = read_conversation(request)
        try:
            step = _next_step(conversation)
        except (Cannot, NotUnderstood) as reason:
            return _said(
                "This planner works by rules, and none of them leads to an answer here.", f"Cannot answer: {reason}."
            )
        if isinstance(step, Answer):
            return _said(step.grounds, step.text)
        call = VirtualCall(
            id=f"call_{len(conversation.steps) + 1}",
            tool=step.tool,
            arguments=json.dumps(step.arguments, ensure_ascii=False),
        )
        return ModelReply(text=step.reason, calls=(call,), finish_reason="tool_calls", model=MODEL_NAME)


def _said(before: str, answer: str) -> ModelReply:
    text = f"{_harmless(before)}\n<answer>{_harmless(answer)}</answer>"
    return ModelReply(text=text, finish_reason="stop", model=MODEL_NAME)


def _harmless(text: str) -> str:
    """Text of a picture, so that nothing in it is taken for a tag or a fence of ours."""
    return _TAG.sub("‹", text).replace("```", "'''").replace("~~~", "---").strip()


def _next_step(conversation: Conversation) -> Call | Answer:
    """Start the plan anew, feed it what the conversation holds, and return the call it then wants, or its answer."""
    freely = not conversation.pictures and SEARCH in conversation.tools
    if freely and _is_of_pictures(conversation.question):
        raise Cannot("no picture came with the question, and it asks about one")
    plan = plan_for(understand(conversation.question, freely=freely), conversation.pictures)
    steps = list(conversation.steps)
    try:
        wanted = next(plan)
        while True:
            if steps and steps[0].tool == wanted.tool and steps[0].arguments == wanted.arguments:
                wanted = plan.send(steps.pop(0).result)
                continue
            refused = _refusal(wanted, conversation)
            if refused is not None:
                wanted = plan.send(refused)
            elif steps:
                raise Cannot(f"this conversation holds a call of {steps[0].tool} that I did not plan")
            else:
                return wanted
    except StopIteration as end:
        answer: Answer = end.value
        return answer


def _is_of_pictures(question: str) -> bool:
    """Whether a question can only be about a picture; one for a value, as in `What is the capital?`, can be for documents."""
    try:
        ask = understand(question)
    except NotUnderstood:
        return False
    return not isinstance(ask, LookUp) and (not isinstance(ask, FindValue | Subtract) or ask.place != Place())


def _refusal(wanted: Call, conversation: Conversation) -> Failed | None:
    """What a call that cannot be made now comes to."""
    if conversation.is_last or (conversation.steps and not conversation.tools):
        return Failed(code="budget_spent", message="no further call will be made")
    if wanted.tool not in conversation.tools:
        return Failed(code="not_offered", message="no such tool")
    return None
