"""The conversation as turns, and the three forms in which a turn can be sent.

A turn is a reply, the answers to its calls, the update behind them and whatever we add for the next request. Its
messages are made once and kept, so that an adapter meets the very same values again. Old turns may take shorter
forms: first their pictures become lines that name the handles, then the evidence becomes one line a call. Forms are
pure functions of the turn, and a form never returns.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import attrs

from openvlharness_core.messages import AssistantMessage, ImagePart, Message, Part, TextPart, ToolMessage, UserMessage
from openvlharness_core.prompts import PromptBundle


class Form(IntEnum):
    """How much of a turn is sent; only ever grows."""

    WHOLE = 0
    PICTURES_AS_LINES = 1
    ONE_LINE = 2
    GONE = 3


@attrs.frozen(kw_only=True)
class TurnTokens:
    """Tokens of a turn in each form, the tail included, and of its update."""

    whole: int
    pictures_as_lines: int
    one_line: int
    update: int

    def of(self, form: Form) -> int:
        """Tokens in `form`, without the update."""
        return (self.whole, self.pictures_as_lines, self.one_line, 0)[form]


@attrs.frozen(kw_only=True)
class Turn:
    """One reply and what followed it, up to the next request.

    Attributes:
        assistant: the reply, mended.
        results: one answer a call, in order.
        lines: the same in one line each, for when the evidence has to go.
        update: the Environment Update, if one was due.
        tail: nudge or final instruction, if one was due.
        form: how much of it is sent now.
        update_gone: whether the update has left; like a form, it never returns.
        shown: the messages of that form, without update and tail.
        tokens: counts of its forms, once counted.
    """

    assistant: AssistantMessage
    results: tuple[ToolMessage, ...] = ()
    lines: tuple[str, ...] = ()
    update: UserMessage | None = None
    tail: UserMessage | None = None
    form: Form = Form.WHOLE
    update_gone: bool = False
    shown: tuple[Message, ...] = attrs.field()
    tokens: TurnTokens | None = None

    @shown.default
    def _whole(self) -> tuple[Message, ...]:
        return (self.assistant, *self.results)

    @property
    def pictures(self) -> int:
        """How many pictures are sent with it now."""
        return pictures_in(self.shown)

    def in_form(self, form: Form, prompts: PromptBundle) -> Turn:
        """The turn in a shorter form; one that already is that short stays as it is."""
        if form <= self.form:
            return self
        return attrs.evolve(self, form=form, shown=form_of(self, form, prompts))

    def compacted(self, form: Form, prompts: PromptBundle, *, carries_newest_update: bool) -> Turn:
        """The turn in a shorter form, and without its update unless the turn is whole or the update the newest.

        An update that stays although its turn is compacted leaves with the next compaction, not as soon as there is a
        newer one: in between, what has been sent stays the beginning of what is sent.
        """
        turn = self.in_form(form, prompts)
        if turn.update is None or turn.update_gone or turn.form is Form.WHOLE or carries_newest_update:
            return turn
        return attrs.evolve(turn, update_gone=True)

    def messages(self) -> tuple[Message, ...]:
        """What is sent of it."""
        update = (self.update,) if self.update and not self.update_gone else ()
        tail = (self.tail,) if self.tail and self.form is not Form.GONE else ()
        return (*self.shown, *update, *tail)


def form_of(turn: Turn, form: Form, prompts: PromptBundle) -> tuple[Message, ...]:
    """The messages of one form, without update and tail."""
    match form:
        case Form.WHOLE:
            return (turn.assistant, *turn.results)
        case Form.PICTURES_AS_LINES:
            return (turn.assistant, *(_pictures_as_lines(result, prompts) for result in turn.results))
        case Form.ONE_LINE:
            texts = (*turn.lines, *(result.text for result in turn.results[len(turn.lines) :]))
            pairs = zip(turn.results, texts, strict=True)
            return (turn.assistant, *(attrs.evolve(result, text=text, parts=()) for result, text in pairs))
        case Form.GONE:
            return ()


def _pictures_as_lines(result: ToolMessage, prompts: PromptBundle) -> ToolMessage:
    def line(part: Part) -> Part:
        if isinstance(part, ImagePart):
            return TextPart(text=prompts.text("picture_line", handle=part.handle))
        return part

    return attrs.evolve(result, parts=tuple(line(part) for part in result.parts))


def pictures_in(messages: Iterable[Message]) -> int:
    """How many pictures these messages carry."""
    return sum(
        isinstance(part, ImagePart)
        for message in messages
        if isinstance(message, UserMessage | ToolMessage)
        for part in message.parts
    )


def newest_update(turns: tuple[Turn, ...]) -> int | None:
    """Position of the turn that carries the newest update; `None` when it stands in the opening."""
    for position in range(len(turns) - 1, -1, -1):
        if turns[position].update:
            return position
    return None


def conversation(opening: tuple[Message, ...], turns: tuple[Turn, ...]) -> tuple[Message, ...]:
    """Everything that is sent: the opening, then each turn in its form."""
    return (*opening, *(message for turn in turns for message in turn.messages()))
