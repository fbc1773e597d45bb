"""From messages to the body of a Chat Completions request.

A message becomes pieces of bytes once; bodies are made by putting pieces in a row. Pictures are pieces of their own, so
that the base64 text of a picture exists once however often it is sent. The order inside a body is chosen for prompt
caches: what may differ from request to request (seed, tools, tool choice) stands behind the messages, so that a body up
to the end of its messages begins with the previous body up to the end of its own.

A tool message of this protocol holds text only. Evidence therefore follows in a user message; and since no other
message may stand between the tool messages of one turn, all evidence follows the last of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
import orjson

from openvlharness_adapters.models.pieces import Base64, Pieces, fused
from openvlharness_adapters.models.wire_json import json_bytes
from openvlharness_core.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelRequest,
    Part,
    SystemMessage,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
    VirtualCall,
)
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.profile import ModelProfile

REASONING_FIELDS = ("reasoning_content", "reasoning")
OWN_FIELDS = frozenset({"role", "content", "tool_calls"})
"""Fields of an assistant message that are made here, never replayed from elsewhere."""

RESERVED_OPTIONS = frozenset({"model", "messages", "stream", "stream_options", "seed", "tools", "tool_choice"})
"""Fields of a body that are no generation options."""


@attrs.frozen
class UserContent:
    """What a user message shows: one text, or parts separated by commas.

    Attributes:
        text: a JSON string, quotes included; `None` when there are pictures.
        parts: content parts as JSON, without the brackets; empty when there is a text.
        alone: the wire message of this content alone, behind a comma.
    """

    text: bytes | None = None
    parts: Pieces = ()
    alone: Pieces = attrs.field(init=False)

    @alone.default
    def _alone(self) -> Pieces:
        return _user((self,))

    def as_parts(self) -> Pieces:
        return self.parts if self.text is None else (b'{"type":"text","text":' + self.text + b"}",)


@attrs.frozen
class EncodedMessage:
    """One message, ready for any body.

    Attributes:
        own: a whole wire message behind a comma; `None` for a user message.
        user: what is shown as the user's: a user message, or the evidence of a tool message.
        is_answer: whether `own` is a tool message, which must stand next to its call.
    """

    own: bytes | None = None
    user: UserContent | None = None
    is_answer: bool = False


def encode_message(message: Message, profile: ModelProfile, base64: Base64) -> EncodedMessage:
    """The pieces of one message; `base64` gives the text of a picture, which may be kept."""
    match message:
        case SystemMessage(text=text):
            return EncodedMessage(own=b"," + json_bytes({"role": "system", "content": text}))
        case UserMessage(parts=parts):
            return EncodedMessage(user=_user_content(parts, base64))
        case AssistantMessage():
            return EncodedMessage(own=b"," + json_bytes(_assistant(message, profile)))
        case ToolMessage(parts=parts):
            own = b"," + json_bytes({"role": "tool", "tool_call_id": message.call_id, "content": message.text})
            return EncodedMessage(own=own, user=_user_content(parts, base64) if parts else None, is_answer=True)
    raise TypeError(f"message: expected a message, got {type(message).__name__}")


def message_to_wire(message: Message, profile: ModelProfile, base64: Base64) -> list[dict[str, object]]:
    """The wire messages that one message becomes when it stands alone, as JSON values."""
    encoded = encode_message(message, profile, base64)
    wire: list[dict[str, object]] = orjson.loads(b"".join((b"[", *joined([encoded], profile), b"]")))
    return wire


def joined(messages: Sequence[EncodedMessage], profile: ModelProfile) -> list[bytes]:
    """The wire messages of a whole conversation, comma-separated, without brackets.

    Where the profile wants users and assistants to take turns, neighbouring user messages become one.
    """
    pieces: list[bytes] = []
    shown: list[UserContent] = []
    for message in messages:
        if message.own is not None:
            if shown and not message.is_answer:
                pieces += _user_messages(shown, profile)
                shown = []
            pieces.append(message.own)
        if message.user is not None:
            shown.append(message.user)
    pieces += _user_messages(shown, profile)
    if pieces:
        pieces[0] = pieces[0].removeprefix(b",")
    return pieces


def _user_messages(shown: Sequence[UserContent], profile: ModelProfile) -> Iterator[bytes]:
    if profile.alternate_roles and len(shown) > 1:
        yield from _user(shown)
    else:
        for content in shown:
            yield from content.alone


def opening(model_id: str, options: Mapping[str, object], *, stream: bool) -> bytes:
    """A body up to its first message; the same in every request of one model."""
    head: dict[str, object] = {"model": model_id}
    if stream:
        head |= {"stream": True, "stream_options": {"include_usage": True}}
    return json_bytes({**head, **options})[:-1] + b',"messages":['


def closing(request: ModelRequest, tools: bytes | None) -> bytes:
    """A body behind its last message; `tools` as `tools_to_wire` made them, `None` when they are withheld."""
    tail = [b"]"]
    if request.seed is not None:
        tail.append(b',"seed":%d' % request.seed)
    if tools is not None:
        tail += [b',"tools":', tools]
        if request.tool_choice is not None:
            tail += [b',"tool_choice":', json_bytes(request.tool_choice)]
    return b"".join((*tail, b"}"))


def tools_to_wire(tools: Sequence[ToolSpec]) -> bytes:
    """The `tools` array."""
    return json_bytes(
        [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in tools
        ]
    )


def _user_content(parts: Sequence[Part], base64: Base64) -> UserContent:
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    if len(texts) == len(parts):
        # One a line, as servers join text parts themselves.
        return UserContent(text=json_bytes("\n".join(texts)))
    pieces: list[bytes] = []
    for part in parts:
        pieces += [b",", *_part(part, base64)]
    return UserContent(parts=fused(pieces[1:]))


def _part(part: Part, base64: Base64) -> Pieces:
    match part:
        case TextPart(text=text):
            return (json_bytes({"type": "text", "text": text}),)
        case ImagePart(image=EncodedImage() as image):
            head = b'{"type":"image_url","image_url":{"url":"data:' + json_bytes(image.media_type)[1:-1] + b";base64,"
            return head, base64(image), b'"}}'
        case ImagePart(url=str(url)):
            return (json_bytes({"type": "image_url", "image_url": {"url": url}}),)
    raise ValueError(f"parts: expected a text or a picture with bytes or a URL, got {part!r}")


def _user(run: Sequence[UserContent]) -> Pieces:
    texts = [content.text for content in run if content.text is not None]
    if len(texts) == len(run):
        # Inside JSON strings: an empty line between what were messages of their own.
        return (b',{"role":"user","content":"' + b"\\n\\n".join(text[1:-1] for text in texts) + b'"}',)
    pieces = [b',{"role":"user","content":[']
    for position, content in enumerate(run):
        if position:
            pieces.append(b",")
        pieces += content.as_parts()
    return fused([*pieces, b"]}"])


def _assistant(message: AssistantMessage, profile: ModelProfile) -> dict[str, object]:
    content: str | None = message.text or ""
    if not content and message.calls and profile.empty_content == "null":
        content = None
    wire: dict[str, object] = {"role": "assistant", "content": content, **_replayed(message, profile)}
    if message.calls:
        wire["tool_calls"] = [_call(call) for call in message.calls]
    return wire


def _replayed(message: AssistantMessage, profile: ModelProfile) -> dict[str, object]:
    if not profile.replay_fields:
        return {}
    kept: dict[str, object] = orjson.loads(message.extras)
    if message.reasoning is not None:
        kept |= {name: message.reasoning for name in REASONING_FIELDS if name not in kept}
    return {name: kept[name] for name in profile.replay_fields if name in kept}


def _call(call: VirtualCall) -> dict[str, object]:
    return {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
