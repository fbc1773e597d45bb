"""The trajectory as it is recorded: one value a thing that happened, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from openvlharness_core.calls import CapabilityResult
from openvlharness_core.messages import VirtualCall
from openvlharness_core.usage import Usage

if TYPE_CHECKING:
    from openvlharness_core.agent.report import Report


@attrs.frozen(kw_only=True)
class ModelStep:
    """A reply, with its calls as the model wrote them but under the ids that are used."""

    iteration: int
    text: str | None
    reasoning: str | None
    calls: tuple[VirtualCall, ...]
    finish_reason: str | None
    usage: Usage
    seconds: float


@attrs.frozen(kw_only=True)
class ToolStep:
    """A call and what became of it; `arguments` is the text that came where it was no JSON object."""

    call_id: str
    tool: str
    arguments: Mapping[str, object] | str
    result: CapabilityResult
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


@attrs.frozen(kw_only=True)
class EnvironmentUpdateStep:
    """An inventory that the model was shown."""

    text: str


@attrs.frozen(kw_only=True)
class CompactionStep:
    """History was shortened before request number `iteration`.

    Attributes:
        iteration: the request that is about to be sent.
        reason: `tokens`, `pictures` or `context_error`.
        forms: form of each turn afterwards, by name.
    """

    iteration: int
    reason: str
    forms: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Finished:
    """The last thing a stream yields: the whole record."""

    report: Report


Step = ModelStep | ToolStep | EnvironmentUpdateStep | CompactionStep
