"""What passes between us and a model, in the words of neither protocol.

A message is a value: it hashes, so that an adapter can keep the bytes it made of it, and it is never changed once it
is in the conversation. What a provider adds of its own is carried as JSON text for that reason.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from openvlharness_core.pictures import EncodedImage
from openvlharness_core.readonly import read_only
from openvlharness_core.usage import Usage


@attrs.frozen(kw_only=True)
class TextPart:
    """Some text, free of lone surrogates."""

    text: str


@attrs.frozen(kw_only=True)
class ImagePart:
    """A picture under its handle: as bytes, or by the URL it has where the profile passes URLs."""

    handle: str
    image: EncodedImage | None = None
    url: str | None = None


Part = TextPart | ImagePart


@attrs.frozen(kw_only=True)
class VirtualCall:
    """One tool call, as the model made it or as it is replayed.

    Attributes:
        id: the provider's call id; empty when none came.
        tool: the name the model wrote.
        arguments: the argument text the model wrote, which may be anything.
        truncated: whether the reply was cut inside the call.
    """

    id: str
    tool: str
    arguments: str
    truncated: bool = False


@attrs.frozen(kw_only=True)
class SystemMessage:
    """The system prompt."""

    text: str


@attrs.frozen(kw_only=True)
class UserMessage:
    """Texts and pictures shown to the model by the user's side."""

    parts: tuple[Part, ...]

    @classmethod
    def of_text(cls, text: str) -> UserMessage:
        """A message of text alone."""
        return cls(parts=(TextPart(text=text),))


@attrs.frozen(kw_only=True)
class AssistantMessage:
    """A reply as it is replayed: its calls are valid and their ids unique.

    Attributes:
        text: what the model said; `None` when there was nothing beside the calls.
        calls: mended calls.
        reasoning: reasoning text that came with it; sent back only where the profile says so.
        extras: a JSON object of further fields that came with it, as text.
    """

    text: str | None = None
    calls: tuple[VirtualCall, ...] = ()
    reasoning: str | None = None
    extras: str = "{}"


@attrs.frozen(kw_only=True)
class ToolMessage:
    """The answer to one call.

    Chat Completions sends `text` as the tool's message and `parts` as a user message behind it; Responses sends both
    inside one function output.

    Attributes:
        call_id: the id of the call in the message before.
        tool: its tool name as replayed.
        text: an acknowledgement, an error, or the one line that is left of old evidence.
        parts: evidence; empty for a failed call.
    """

    call_id: str
    tool: str
    text: str
    parts: tuple[Part, ...] = ()


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


@attrs.frozen(kw_only=True)
class ToolSpec:
    """What a model is told of a tool.

    Attributes:
        name: public name, 1 to 64 of `[A-Za-z0-9_-]`.
        description: when to use it and what comes back.
        parameters: JSON Schema of its arguments, an object schema; a copy that nobody can change.
    """

    name: str
    description: str
    parameters: Mapping[str, object] = attrs.field(converter=read_only, hash=False)


@attrs.frozen(kw_only=True)
class ModelRequest:
    """Everything of one request that the engine decides; generation options belong to the adapter.

    Attributes:
        messages: the conversation so far; a prefix of the next request's, but for compaction.
        tools: offered tools, sorted by public name; empty when they are withheld.
        tool_choice: sent as it is when tools are offered.
        seed: sampling seed, for protocols that take one.
        iteration: which request of the question this is, from 1; 0 outside a question.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str | None = None
    seed: int | None = None
    iteration: int = 0


@attrs.frozen(kw_only=True)
class ModelReply:
    """What a model said, in whatever state it came.

    Attributes:
        text: assistant text; `None` when there was none.
        calls: tool calls in the order they came, unmended.
        reasoning: reasoning text, if the provider shows it.
        finish_reason: the provider's word, such as `stop`, `tool_calls`, `length` or `content_filter`.
        usage: flat usage; empty when the provider gave none.
        extras: a JSON object of further fields of the message, as text.
        model: the model id that the provider says it used.
        native: the provider's whole reply as JSON text, where a raw trace asks for it.
    """

    text: str | None = None
    calls: tuple[VirtualCall, ...] = ()
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: Usage = attrs.field(factory=dict, hash=False)
    extras: str = "{}"
    model: str | None = None
    native: str | None = attrs.field(default=None, repr=False)
