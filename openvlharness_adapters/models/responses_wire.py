"""From messages to the body of a Responses request.

Nothing is left with the service (`store: false`): every request says the whole conversation as a list of items, and
what only the service can read, its encrypted reasoning, goes back to it (`responses_items`). A function output of this
protocol holds texts and pictures, so that evidence stands where its call is answered.

The system prompt is the first item, not `instructions`: the conversation stays one list, whose bytes begin with those
of the request before, and a service gets it in the same place whichever of the two it would have preferred.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
import orjson

from openvlharness_adapters.models.pieces import Base64, Pieces, fused
from openvlharness_adapters.models.responses_items import items_of
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

RESERVED_OPTIONS = frozenset(
    {"model", "input", "instructions", "stream", "stream_options", "store", "include", "tools", "tool_choice", "seed"}
    | {"previous_response_id", "conversation", "background", "prompt"}
)
"""Fields of a body that are no generation options."""

LIMIT_OPTION = "max_output_tokens"
_ENCRYPTED_REASONING = "reasoning.encrypted_content"


@attrs.frozen
class EncodedItems:
    """One message as items, ready for any body; every item but a user's stands behind a comma.

    Attributes:
        own: whole items; empty for a user message.
        user: content parts of a user message, without brackets; `None` for others.
        text: the JSON string of a user message that is text alone, quotes included.
        ids: item ids inside `own`.
        plain: the same without ids, for a conversation in which one of them stood before.
        alone: the item of a user message that is not joined to its neighbours.
    """

    own: Pieces = ()
    user: Pieces | None = None
    text: bytes | None = None
    ids: frozenset[str] = frozenset()
    plain: Pieces = ()
    alone: Pieces = attrs.field(init=False, repr=False)

    @alone.default
    def _alone(self) -> Pieces:
        return () if self.user is None else _user((self,))


def encode_message(message: Message, _: ModelProfile, base64: Base64) -> EncodedItems:
    """The pieces of one message; `base64` gives the text of a picture, which may be kept."""
    match message:
        case SystemMessage(text=text):
            return EncodedItems(own=(b"," + json_bytes({"type": "message", "role": "system", "content": text}),))
        case UserMessage(parts=parts):
            return EncodedItems(user=_parts(parts, base64), text=_text_alone(parts))
        case AssistantMessage():
            return _assistant(message)
        case ToolMessage():
            return EncodedItems(own=_function_output(message, base64))
    raise TypeError(f"message: expected a message, got {type(message).__name__}")


def message_to_wire(message: Message, profile: ModelProfile, base64: Base64) -> list[dict[str, object]]:
    """The items that one message becomes when it stands alone, as JSON values."""
    items = joined([encode_message(message, profile, base64)], profile)
    wire: list[dict[str, object]] = orjson.loads(b"".join((b"[", *items, b"]")))
    return wire


def joined(messages: Sequence[EncodedItems], profile: ModelProfile) -> list[bytes]:
    """The items of a whole conversation, comma-separated, without brackets.

    Where the profile wants users and assistants to take turns, neighbouring user messages become one. Where a service
    gives an item id a second time, the later message goes without ids: a list with one id twice would be refused.
    """
    pieces: list[bytes] = []
    shown: list[EncodedItems] = []
    seen: set[str] = set()
    for message in messages:
        if message.user is not None:
            shown.append(message)
            continue
        pieces += _user_messages(shown, profile)
        shown = []
        pieces += message.own if seen.isdisjoint(message.ids) else message.plain
        seen |= message.ids
    pieces += _user_messages(shown, profile)
    if pieces:
        pieces[0] = pieces[0].removeprefix(b",")
    return pieces


def opening(model_id: str, profile: ModelProfile, options: Mapping[str, object], *, stream: bool) -> bytes:
    """A body up to its first item; the same in every request of one model.

    Encrypted reasoning is asked for where the profile is of one model that knows levels of reasoning, or where an effort
    is set: services refuse to give it for models that do not reason, and a profile for any model cannot tell.

    Raises:
        ValueError: two options that mean the same field.
    """
    head: dict[str, object] = {"model": model_id}
    if stream:
        head["stream"] = True
    head["store"] = False
    wire = options_to_wire(options)
    if profile.reasoning_efforts and (profile.model_id or "reasoning" in wire):
        head["include"] = [_ENCRYPTED_REASONING]
    return json_bytes({**head, **wire})[:-1] + b',"input":['


def options_to_wire(options: Mapping[str, object]) -> dict[str, object]:
    """Generation options under the names of this protocol, in their order.

    Raises:
        ValueError: two options that mean the same field.
    """
    wire: dict[str, object] = {}
    for name, value in options.items():
        field = {"max_tokens": LIMIT_OPTION, "reasoning_effort": "reasoning"}.get(name, name)
        meant: object = {"effort": value} if name == "reasoning_effort" else value
        kept = wire.get(field)
        if isinstance(kept, Mapping) and isinstance(meant, Mapping) and not kept.keys() & meant.keys():
            meant = {**kept, **meant}  # an effort beside other wishes about the reasoning
        elif field in wire:
            raise ValueError(f"options: expected each field once, got {field} and {name} for the same")
        wire[field] = meant
    return wire


def closing(request: ModelRequest, tools: bytes | None) -> bytes:
    """A body behind its last item; this protocol takes no seed."""
    tail = [b"]"]
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
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in tools
        ]
    )


def _user_messages(shown: Sequence[EncodedItems], profile: ModelProfile) -> Iterator[bytes]:
    if profile.alternate_roles and len(shown) > 1:
        yield from _user(shown)
    else:
        for message in shown:
            yield from message.alone


def _user(run: Sequence[EncodedItems]) -> Pieces:
    texts = [message.text for message in run if message.text is not None]
    if len(texts) == len(run):
        # Inside JSON strings: an empty line between what were messages of their own.
        text = b"\\n\\n".join(text[1:-1] for text in texts)
        return (b',{"type":"message","role":"user","content":"' + text + b'"}',)
    pieces = [b',{"type":"message","role":"user","content":[']
    for position, message in enumerate(run):
        if position:
            pieces.append(b",")
        pieces += message.user or ()
    return fused([*pieces, b"]}"])


def _assistant(message: AssistantMessage) -> EncodedItems:
    plain = _items_to_wire(_plain_items(message))
    items = items_of(message)
    if items is None:
        return EncodedItems(own=plain)
    ids = frozenset(str(item["id"]) for item in items if "id" in item)
    return EncodedItems(own=_items_to_wire(items), ids=ids, plain=plain)


def _plain_items(message: AssistantMessage) -> list[dict[str, object]]:
    said: list[dict[str, object]] = []
    if message.text or not message.calls:
        said.append({"type": "message", "role": "assistant", "content": message.text or ""})
    return said + [_call(call) for call in message.calls]


def _call(call: VirtualCall) -> dict[str, object]:
    return {"type": "function_call", "call_id": call.id, "name": call.tool, "arguments": call.arguments}


def _items_to_wire(items: Sequence[Mapping[str, object]]) -> Pieces:
    return (b"," + json_bytes(items)[1:-1],)


def _function_output(message: ToolMessage, base64: Base64) -> Pieces:
    """The answer to a call with all that belongs to it: one text where there are no pictures, else parts."""
    head = b',{"type":"function_call_output","call_id":' + json_bytes(message.call_id) + b',"output":'
    parts: tuple[Part, ...] = (TextPart(text=message.text), *message.parts) if message.text else message.parts
    if (text := _text_alone(parts)) is not None:
        return (head + text + b"}",)
    return fused([head, b"[", *_parts(parts, base64), b"]}"])


def _text_alone(parts: Sequence[Part]) -> bytes | None:
    """The JSON string of parts that are texts, one a line; `None` when there are pictures."""
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return json_bytes("\n".join(texts)) if len(texts) == len(parts) else None


def _parts(parts: Sequence[Part], base64: Base64) -> Pieces:
    pieces: list[bytes] = []
    for part in parts:
        pieces += [b",", *_part(part, base64)]
    return fused(pieces[1:])


def _part(part: Part, base64: Base64) -> Pieces:
    match part:
        case TextPart(text=text):
            return (json_bytes({"type": "input_text", "text": text}),)
        case ImagePart(image=EncodedImage() as image):
            head = b'{"type":"input_image","image_url":"data:' + json_bytes(image.media_type)[1:-1] + b";base64,"
            return head, base64(image), b'","detail":"auto"}'
        case ImagePart(url=str(url)):
            return (json_bytes({"type": "input_image", "image_url": url, "detail": "auto"}),)
    raise ValueError(f"parts: expected a text or a picture with bytes or a URL, got {part!r}")
