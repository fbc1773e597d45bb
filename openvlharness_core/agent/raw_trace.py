"""What a raw trace is made of: every reply as the provider sent it, with the request that it answered.

The record is kept beside the question, by a tracer: neither the trajectory nor the report knows of it.
"""

from __future__ import annotations

import attrs

from openvlharness_core.agent.protocol import AskModel, Effect, Event, ModelFailed, ModelReplied
from openvlharness_core.messages import ModelRequest
from openvlharness_core.ports.tracer import Tracer


@attrs.frozen(kw_only=True)
class RawExchange:
    """One request and the reply to it.

    Attributes:
        request: as the engine made it, after every compaction.
        native: the provider's whole reply as text; `None` where the model adapter keeps none.
    """

    request: ModelRequest
    native: str | None = attrs.field(repr=False)


@attrs.define(eq=False)
class RawTraceRecorder:
    """A tracer that keeps the exchanges of each question until they are taken, and tells another one everything.

    A request that got no reply is not an exchange: the one sent in its place, with less context, is.

    Attributes:
        inner: sees what this one sees.
    """

    inner: Tracer | None = None
    _asked: dict[str, ModelRequest] = attrs.field(factory=dict, init=False, repr=False)
    _exchanges: dict[str, list[RawExchange]] = attrs.field(factory=dict, init=False, repr=False)

    def event(self, question_id: str, event: Event) -> None:
        """Keep a reply with its request."""
        if isinstance(event, ModelReplied | ModelFailed):
            request = self._asked.pop(question_id, None)
            if request is not None and isinstance(event, ModelReplied):
                exchange = RawExchange(request=request, native=event.reply.native)
                self._exchanges.setdefault(question_id, []).append(exchange)
        if self.inner is not None:
            self.inner.event(question_id, event)

    def effect(self, question_id: str, effect: Effect) -> None:
        """Remember a request that is about to be sent."""
        if isinstance(effect, AskModel):
            self._asked[question_id] = effect.request
        if self.inner is not None:
            self.inner.effect(question_id, effect)

    def note(self, question_id: str, kind: str, text: str) -> None:
        """For the other tracer."""
        if self.inner is not None:
            self.inner.note(question_id, kind, text)

    @property
    def question_ids(self) -> tuple[str, ...]:
        """Questions of which something is kept, in the order of their first replies."""
        return tuple(self._exchanges)

    def take(self, question_id: str) -> tuple[RawExchange, ...]:
        """The exchanges of one question in order, which are forgotten then; none for a question without replies."""
        self._asked.pop(question_id, None)
        return tuple(self._exchanges.pop(question_id, ()))
