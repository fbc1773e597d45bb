"""Whole questions made up at random: what the model says, how it fails, under which rules, and when somebody gives up."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
from hypothesis import strategies as st

from contracts.ports.sample_question import (
    CODING,
    HISTORY,
    OCR,
    SURVEY,
    ZOOM,
    sample_agent,
    sample_policy,
    sample_question,
)
from openvlharness_core.agent.checkpoint import Checkpoint
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.watch import Cancellation
from openvlharness_core.errors import ContextLengthError, ModelUnavailableError
from openvlharness_core.messages import ModelReply, ModelRequest, VirtualCall
from openvlharness_core.pictures import ImageLimits
from openvlharness_core.question import Question
from openvlharness_core.testing import InMemoryReportStore, WordCounter
from openvlharness_core.testing.models import calling, calling_all, saying

_HANDLES = st.sampled_from(
    [
        "input_image_1",
        "input_image_2",
        "INPUT_IMAGE_3.png",
        "tool_generated_image_1",
        "tool_generated_image_2",
        "nowhere",
    ]
)
_TEXTS = st.text(max_size=80) | st.sampled_from(
    ["<answer>7</answer>", "<answer>", "```\n<answer>no</answer>", "é" * 200]
)
_GRID = st.integers(-5, 1005) | st.sampled_from(["250", 0.5, None])
_ARGUMENTS = st.one_of(
    st.fixed_dictionaries({"image_id": _HANDLES}),
    st.fixed_dictionaries({"image_id": _HANDLES, "coords": st.lists(_GRID, min_size=4, max_size=4)}),
    st.fixed_dictionaries({"image_id": _HANDLES, "coords": st.just([0, 0, 400, 600]), "padding": st.integers(0, 9)}),
    st.fixed_dictionaries({"image_id": _HANDLES, "reason": st.text(max_size=20)}),
    st.fixed_dictionaries({"objective": st.text(max_size=20)}),
    st.sampled_from(["", "{", "[]", '{"image_id": "\\ud800"}', '{"image_id": 1e999}', '{"image_id": "input_image_1"}']),
)
_TOOLS = st.sampled_from([ZOOM, OCR, SURVEY, SURVEY, CODING, "no tool", ""])
_USAGE = st.dictionaries(st.sampled_from(["prompt_tokens", "details.cached"]), st.integers(0, 999) | st.floats(0, 9))


@st.composite
def _replies(draw: st.DrawFn) -> ModelReply:
    kind = draw(st.integers(0, 9))
    if kind < 6:
        reply = calling(draw(_TOOLS), draw(_ARGUMENTS), call_id=draw(st.sampled_from(["", "a", "b"])))
    elif kind < 7:
        reply = calling_all([(draw(_TOOLS), draw(_ARGUMENTS), draw(st.sampled_from(["", "a"]))) for _ in range(2)])
    elif kind < 8:
        call = VirtualCall(id="cut", tool=draw(_TOOLS), arguments='{"image', truncated=True)
        reply = ModelReply(calls=(call,), finish_reason="length")
    else:
        reply = saying(draw(st.none() | _TEXTS))
    return attrs.evolve(
        reply,
        text=reply.text if reply.text is not None else draw(st.none() | _TEXTS),
        reasoning=draw(st.none() | st.text(max_size=20)),
        extras=draw(st.sampled_from(["{}", '{"details": ["é", "\\ud800"]}'])),
        usage=draw(_USAGE),
    )


@attrs.frozen(kw_only=True)
class RandomRun:
    """One question that has been gone through.

    Attributes:
        policy: the rules it went by.
        report: its record.
        requests: what the model was sent.
        history: the checkpoint behind every event.
        limits: what pictures the model took.
    """

    policy: TurnPolicy
    report: Report
    requests: tuple[ModelRequest, ...]
    history: tuple[Checkpoint, ...]
    limits: ImageLimits = ImageLimits()


@attrs.define
class _RandomModel:
    """Follows a script, then answers; throws the switch before reply number `gives_up_at`."""

    script: list[ModelReply | Exception]
    cancellation: Cancellation
    gives_up_at: int | None
    requests: list[ModelRequest] = attrs.field(factory=list, init=False)

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        if len(self.requests) == self.gives_up_at:
            self.cancellation.cancel()
            await asyncio.sleep(0)
        if not self.script:
            return saying("<answer>at last</answer>")
        reply = self.script.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


_FAILURES = st.sampled_from([ContextLengthError("context", "too long"), ModelUnavailableError("timeout", "no reply")])
_RULES: dict[str, st.SearchStrategy[Any]] = {
    "max_iterations": st.integers(1, 9),
    "final_answer": st.sampled_from(["answer_tag", "answer_tag_or_text"]),
    "extra_final_request": st.booleans(),
    "continue_empty_answer": st.booleans(),
    "append_final_message": st.booleans(),
    "context_error_fallback": st.booleans(),
    "count_tokens": st.booleans(),
    "max_context_length": st.sampled_from([None, 300, 600, 1500]),
    "reserved_output_tokens": st.just(50),
    "max_pictures": st.sampled_from([None, 1, 2, 5]),
    "emit_policy": st.sampled_from(["always", "on_change"]),
    "webpage_env_update_limit": st.sampled_from([None, 0, 1]),
    "modules": st.sampled_from([("image", "tool_context", "url"), ("image",), ("image", "url")]),
    "paired_sampling_seed": st.booleans(),
}


@st.composite
def random_runs(draw: st.DrawFn) -> RandomRun:
    """A question that went to its end, whatever that was."""
    failing = draw(st.integers(0, 3)) == 0
    script = draw(st.lists(_replies() | _FAILURES if failing else _replies(), max_size=8))
    gives_up_at = draw(st.none() | st.integers(1, 6)) if draw(st.booleans()) else None
    policy = sample_policy(**{name: draw(rule) for name, rule in _RULES.items()})
    cancellation = Cancellation()
    model = _RandomModel(list(script), cancellation, gives_up_at)
    store = InMemoryReportStore()
    remote = draw(st.sampled_from(["pass_url", "download"]))
    counter = WordCounter(picture_tokens=40) if draw(st.booleans()) else None
    agent = sample_agent([], policy=policy, store=store, model=model, remote_images=remote, token_counter=counter)
    question = sample_question() if draw(st.booleans()) else Question(text="No picture?")
    report = asyncio.run(
        agent.answer(
            question,
            task_id=draw(st.none() | st.just("t")),
            history=HISTORY if draw(st.booleans()) else (),
            cancellation=cancellation,
            checkpoint_to="run",
        )
    )
    return RandomRun(policy=policy, report=report, requests=tuple(model.requests), history=tuple(store.history["run"]))
