"""A tracer that remembers, and a counter that counts words instead of tokens."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from openvlharness_core.agent.protocol import Effect, Event
from openvlharness_core.messages import AssistantMessage, Message, TextPart, ToolMessage, ToolSpec, UserMessage


@attrs.define
class RecordingTracer:
    """Keeps every event, effect and note in the order they came."""

    events: list[Event] = attrs.field(factory=list, init=False)
    effects: list[Effect] = attrs.field(factory=list, init=False)
    notes: list[tuple[str, str]] = attrs.field(factory=list, init=False)

    def event(self, question_id: str, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def effect(self, question_id: str, effect: Effect) -> None:
        """Keep it."""
        self.effects.append(effect)

    def note(self, question_id: str, kind: str, text: str) -> None:
        """Keep it."""
        self.notes.append((kind, text))


@attrs.define
class WordCounter:
    """Counts words as tokens, and each picture as `picture_tokens`; remembers how many segments it counted."""

    picture_tokens: int = 100
    counted: int = attrs.field(default=0, init=False)

    def count(self, segments: Sequence[tuple[Message, ...]], tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        """One number a segment, then ten a tool."""
        self.counted += len(segments)
        return (*(sum(map(self._message, segment)) for segment in segments), 10 * len(tools))

    def _message(self, message: Message) -> int:
        match message:
            case UserMessage(parts=parts):
                return self._parts(parts)
            case ToolMessage(text=text, parts=parts):
                return len(text.split()) + self._parts(parts)
            case AssistantMessage(text=text, calls=calls):
                return len((text or "").split()) + sum(len(call.arguments.split()) for call in calls)
            case _:
                return len(message.text.split())

    def _parts(self, parts: Sequence[object]) -> int:
        return sum(len(p.text.split()) if isinstance(p, TextPart) else self.picture_tokens for p in parts)
