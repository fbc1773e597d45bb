"""The `TokenCounter` for models whose tokenizer can be loaded here.

What is counted are the messages as the protocol sends them: Chat Completions sends the evidence of a tool in a user
message of its own, Responses sends every call as an item of its own. The count of a message does not depend on its
neighbours, so counts of segments may be added. Where neighbouring user messages are sent as one, the sum is a few tokens
too high. What a service keeps encrypted in a reply, nobody here can count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import attrs
import orjson

from openvlharness_adapters.models import chat_wire, responses_wire
from openvlharness_adapters.tokens.picture_rule import PictureRule
from openvlharness_core.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    Part,
    SystemMessage,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
    VirtualCall,
)
from openvlharness_core.profile import ModelProfile
from openvlharness_core.texts import clean_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MESSAGE_TOKENS = 5
"""Begin, role, line break, end and line break around each message."""

PICTURE_TOKENS = 2
"""Begin and end around each picture."""

_UNKNOWN_SIZE_HW = (1024, 1024)
"""Taken for a picture that is sent by its URL: too low is mended by the provider's own limit, too high by nothing."""


@attrs.frozen(kw_only=True, eq=False)
class TokenizerCounter:
    """Counts with a tokenizer; any thread may, several at a time.

    Each message is counted once for as long as somebody holds it. Text is counted without the tokens that a tokenizer
    puts around a whole text; names of special tokens inside a text count as those, since servers read them so.

    Attributes:
        tokenizer: the model's own; it is set to cut nothing off and to pad nothing.
        profile: says how messages are sent and what pictures cost.

    Raises:
        ValueError: a profile without a rule for pictures.
    """

    tokenizer: Tokenizer = attrs.field(repr=False)
    profile: ModelProfile = attrs.field(repr=lambda profile: profile.alias)
    _pictures: PictureRule = attrs.field(init=False, repr=False)
    _messages: WeakKeyDictionary[Message, int] = attrs.field(factory=WeakKeyDictionary, init=False, repr=False)

    @_pictures.default
    def _of_profile(self) -> PictureRule:
        return PictureRule.of(self.profile)

    @property
    def _as_items(self) -> bool:
        return self.profile.adapter == "responses"

    def __attrs_post_init__(self) -> None:
        # Files written for training or for embeddings may limit or fill up every text.
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def count(self, segments: Sequence[tuple[Message, ...]], tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        """See `TokenCounter`."""
        return (*(sum(map(self._message, segment)) for segment in segments), self._tools(tools))

    def _tools(self, tools: Sequence[ToolSpec]) -> int:
        """Templates write the offered tools with Python's own separators, not as compactly as they are sent."""
        if not tools:
            return 0
        wire = responses_wire.tools_to_wire(tools) if self._as_items else chat_wire.tools_to_wire(tools)
        return self._text(json.dumps(orjson.loads(wire)))

    def _message(self, message: Message) -> int:
        if (kept := self._messages.get(message)) is None:
            kept = self._messages[message] = self._counted(message)
        return kept

    def _counted(self, message: Message) -> int:
        match message:
            case SystemMessage(text=text):
                return MESSAGE_TOKENS + self._text(text)
            case UserMessage(parts=parts):
                return MESSAGE_TOKENS + self._parts(parts)
            case AssistantMessage():
                return self._assistant(message)
            case ToolMessage(text=text, parts=parts):
                return self._answer(text, parts)
        raise TypeError(f"message: expected a message, got {type(message).__name__}")

    def _answer(self, text: str, parts: tuple[Part, ...]) -> int:
        """The answer to a call: one item that holds the evidence too, or a message with a user message behind it."""
        if self._as_items:
            return MESSAGE_TOKENS + self._parts((TextPart(text=text), *parts) if text else parts)
        return MESSAGE_TOKENS + self._text(text) + (MESSAGE_TOKENS + self._parts(parts) if parts else 0)

    def _assistant(self, message: AssistantMessage) -> int:
        """One message; or, as items, what is said, what was thought and each call."""
        said = [message.text] if message.text else []
        said += self._replayed(message)
        items = max(1, len(said) + len(message.calls)) if self._as_items else 1
        return MESSAGE_TOKENS * items + sum(map(self._text, said)) + sum(map(self._call, message.calls))

    def _call(self, call: VirtualCall) -> int:
        """A call as templates of this family write it; its id is not shown to the model."""
        return self._text(f'<tool_call>\n{{"name": "{call.tool}", "arguments": {call.arguments}}}\n</tool_call>')

    def _replayed(self, message: AssistantMessage) -> Iterable[str]:
        """Fields of a reply that are sent back, each as text."""
        if self._as_items:
            if message.reasoning is not None:
                yield message.reasoning
            return
        if not self.profile.replay_fields:
            return
        kept: dict[str, object] = orjson.loads(message.extras)
        if message.reasoning is not None:
            kept |= {name: message.reasoning for name in chat_wire.REASONING_FIELDS if name not in kept}
        for name in self.profile.replay_fields:
            if name in kept:
                yield value if isinstance(value := kept[name], str) else json.dumps(value)

    def _parts(self, parts: Sequence[Part]) -> int:
        texts = [part.text for part in parts if isinstance(part, TextPart)]
        if len(texts) == len(parts):
            return self._text("\n".join(texts))  # as it is sent, and as servers join texts themselves
        return sum(map(self._text, texts)) + sum(self._picture(part) for part in parts if isinstance(part, ImagePart))

    def _picture(self, part: ImagePart) -> int:
        size_hw = part.image.size_hw if part.image is not None else _UNKNOWN_SIZE_HW
        return PICTURE_TOKENS + self._pictures.tokens(size_hw)

    def _text(self, text: str) -> int:
        return len(self.tokenizer.encode(clean_text(text), add_special_tokens=False))
