"""What the engine is told (events) and what it asks for (effects)."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from openvlharness_core.calls import CapabilityResult
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import Message, ModelReply, ModelRequest, ToolSpec
from openvlharness_core.question import Intake


@attrs.frozen(kw_only=True)
class Started:
    """The question has been taken in."""

    intake: Intake
    workspace: Workspace = Workspace()


@attrs.frozen(kw_only=True)
class TokensCounted:
    """Answers `CountTokens`: one number a segment, then one for tools and framing."""

    counts: tuple[int, ...]


@attrs.frozen(kw_only=True)
class ModelReplied:
    """The model said something."""

    reply: ModelReply
    seconds: float = 0.0


@attrs.frozen(kw_only=True)
class ModelFailed:
    """The model gave no usable reply, its adapter's retries included.

    Attributes:
        code: short and stable.
        message: what happened.
        context: whether the request was longer than the model's context.
    """

    code: str
    message: str
    context: bool = False
    seconds: float = 0.0


@attrs.frozen(kw_only=True)
class CallFinished:
    """A call ended, well or not. The workspace is the new one, on failure too: a downloaded picture stays."""

    result: CapabilityResult
    workspace: Workspace
    seconds: float = 0.0


@attrs.frozen
class Cancelled:
    """Whoever asked no longer wants the answer."""


@attrs.frozen
class DeadlinePassed:
    """The time of the whole question is over."""


Event = Started | TokensCounted | ModelReplied | ModelFailed | CallFinished | Cancelled | DeadlinePassed


@attrs.frozen(kw_only=True)
class CountTokens:
    """Count each of these segments, and the tools with the framing once."""

    segments: tuple[tuple[Message, ...], ...]
    tools: tuple[ToolSpec, ...]


@attrs.frozen(kw_only=True)
class AskModel:
    """Send this request."""

    request: ModelRequest


@attrs.frozen(kw_only=True)
class CheckedCall:
    """A call that may run: a known tool, arguments that fit its schema.

    Attributes:
        id: unique in this question.
        tool: public name.
        arguments: as converted.
        notes: what was converted, for the trace.
    """

    id: str
    tool: str
    arguments: Mapping[str, object] = attrs.field(hash=False)
    notes: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class RunCall:
    """Perform this call."""

    call: CheckedCall


@attrs.frozen(kw_only=True)
class Finish:
    """The question has ended; `answer` is plain text or nothing."""

    answer: str | None


Effect = CountTokens | AskModel | RunCall | Finish
