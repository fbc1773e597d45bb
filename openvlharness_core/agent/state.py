"""Where a question stands: one immutable value, and the effect that follows from it."""

from __future__ import annotations

from enum import Enum
from typing import Literal

import attrs

from openvlharness_core.agent.conversation import Form, Turn, conversation, form_of
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.protocol import AskModel, CheckedCall, CountTokens, Effect, Finish, RunCall
from openvlharness_core.agent.seeding import paired_seed
from openvlharness_core.agent.steps import Step
from openvlharness_core.agent.turns import MendedReply
from openvlharness_core.errors import TurnOrderError
from openvlharness_core.memory.inventory import Announced
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import Message, ModelRequest
from openvlharness_core.question import Intake

StopReason = Literal[
    "answered", "no_answer", "budget_spent", "model_failed", "context_exceeded", "deadline", "cancelled"
]


class Phase(Enum):
    """What the engine waits for."""

    NEW = "new"
    COUNTING = "counting"
    AWAITING_MODEL = "awaiting_model"
    AWAITING_TOOL = "awaiting_tool"
    DONE = "done"


class Stage(Enum):
    """Which kind of request is out: an ordinary one, the last that counts, or the extra one without tools."""

    REGULAR = "regular"
    LAST = "last"
    EXTRA = "extra"


@attrs.frozen(kw_only=True)
class StopError:
    """Why a question ended without an answer."""

    code: str
    message: str


@attrs.frozen(kw_only=True)
class TurnState:
    """Everything about a question in progress; a checkpoint is this value alone.

    Attributes:
        phase: what is awaited.
        stage: kind of the request that is out or about to be.
        intake: the question, once started.
        workspace: memory.
        opening: system prompt, history, question and first update.
        turns: everything since.
        requests: number of the request that is out or about to be; the extra one does not count.
        retried: whether this request was already sent again after a context error.
        reply: the reply whose call is running.
        call: the call that is running.
        announced: what the newest update depended on.
        fixed_tokens: tokens of opening, tools and framing, once counted.
        steps: the trajectory so far.
        seconds: time spent in the model and in tools so far.
        answer, error, stop_reason: how it ended.
    """

    phase: Phase = Phase.NEW
    stage: Stage = Stage.REGULAR
    intake: Intake | None = None
    workspace: Workspace = Workspace()
    opening: tuple[Message, ...] = ()
    turns: tuple[Turn, ...] = ()
    requests: int = 0
    retried: bool = False
    reply: MendedReply | None = None
    call: CheckedCall | None = None
    announced: Announced | None = None
    fixed_tokens: int | None = None
    steps: tuple[Step, ...] = ()
    seconds: float = 0.0
    answer: str | None = None
    error: StopError | None = None
    stop_reason: StopReason | None = None

    @property
    def iteration(self) -> int:
        """Number of the request that is out or about to be, the extra one included."""
        return self.requests + (self.stage is Stage.EXTRA)

    @property
    def call_ids(self) -> frozenset[str]:
        """Every call id used so far, so that none is used twice."""
        return frozenset(call.id for turn in self.turns for call in turn.assistant.calls)


def stopped(state: TurnState, reason: StopReason, error: StopError | None) -> TurnState:
    """The state at its end."""
    return attrs.evolve(state, phase=Phase.DONE, stop_reason=reason, error=error, reply=None, call=None)


def effect_of(state: TurnState, policy: TurnPolicy) -> Effect:
    """What has to be done next; a function of the state alone.

    Raises:
        TurnOrderError: nothing has started yet.
    """
    match state.phase:
        case Phase.COUNTING:
            return count_effect(state, policy)
        case Phase.AWAITING_MODEL:
            return AskModel(request=request_of(state, policy))
        case Phase.AWAITING_TOOL:
            assert state.call is not None
            return RunCall(call=state.call)
        case Phase.DONE:
            return Finish(answer=state.answer)
    raise TurnOrderError("nothing is to be done before Started")


def request_of(state: TurnState, policy: TurnPolicy) -> ModelRequest:
    """The request that the state stands before."""
    intake = state.intake
    offered = state.stage is not Stage.EXTRA and bool(policy.tools)
    seeded = policy.paired_sampling_seed and intake is not None and intake.task_id is not None
    return ModelRequest(
        messages=conversation(state.opening, state.turns),
        tools=policy.tools if offered else (),
        tool_choice=policy.tool_choice if offered else None,
        seed=paired_seed(intake.task_id or "", state.iteration, policy.sample_index) if seeded and intake else None,
        iteration=state.iteration,
    )


def uncounted(state: TurnState) -> tuple[Turn, ...]:
    """Turns that have no counts yet; they are the newest."""
    return tuple(turn for turn in state.turns if turn.tokens is None)


def count_effect(state: TurnState, policy: TurnPolicy) -> CountTokens:
    """Count what is new: four segments a turn (its three forms and its update), the opening before the first turn."""
    segments: list[tuple[Message, ...]] = [] if state.fixed_tokens is not None else [state.opening]
    for turn in uncounted(state):
        tail = (turn.tail,) if turn.tail else ()
        forms = (Form.WHOLE, Form.PICTURES_AS_LINES, Form.ONE_LINE)
        segments.extend((*form_of(turn, form, policy.prompts), *tail) for form in forms)
        segments.append((turn.update,) if turn.update else ())
    return CountTokens(segments=tuple(segments), tools=policy.tools if state.fixed_tokens is None else ())
