"""Serving a model that reads pictures behind OpenAI's chat endpoint, as vLLM serves the same models.

One picture and one prompt in, a text out, always decoded greedily: a transcription that differs from call to call is of
no use to anybody. What a request asks beyond that is refused by name rather than passed over, but for fields that change
nothing here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from openvlharness_adapters.models.wire_json import json_bytes
from openvlharness_adapters.servers.host import ModelHost
from openvlharness_adapters.servers.pictures import PilImage, Preparing
from openvlharness_adapters.wire.envelopes import BadCallError, ToolCall, invalid_request, object_of
from openvlharness_adapters.wire.failures import Failure
from openvlharness_adapters.wire.fields import Fields, got
from openvlharness_adapters.wire.images import TakeIn, bytes_from_wire
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered

CHAT_TOOL = "chat"
DEFAULT_TOKENS = 4096


@attrs.frozen(kw_only=True)
class Reading:
    """What a model wrote.

    Attributes:
        text: as decoded.
        prompt_tokens: what it read, the picture included.
        completion_tokens: what it wrote.
        finished: whether it came to an end by itself.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    finished: bool


class ReadingModel(Protocol):
    """A loaded reader."""

    def read(self, image: PilImage, prompt: str, max_new_tokens: int) -> Reading:
        """What it writes about the picture, greedily."""
        ...


class ServedReader(Protocol):
    """What the chat endpoint asks."""

    async def complete(self, image: EncodedImage, prompt: str, max_tokens: int | None) -> Answered[Reading]: ...


@attrs.frozen(kw_only=True)
class ReadingService:
    """See `ServedReader`.

    Attributes:
        host: whose model.
        preparing: makes its pictures.
        max_tokens: of one answer, whatever is asked.
    """

    host: ModelHost[ReadingModel]
    preparing: Preparing
    max_tokens: int = DEFAULT_TOKENS

    async def complete(self, image: EncodedImage, prompt: str, max_tokens: int | None) -> Answered[Reading]:
        """Raises what `ModelHost.run` raises, and UnreadableImageError."""
        shown = await self.preparing.prepared(image)
        limit = min(max_tokens or self.max_tokens, self.max_tokens)
        value = await self.host.run(lambda model: model.read(shown, prompt, limit))
        return Answered(value=value, backend=self.host.name)


@attrs.frozen(kw_only=True)
class ChatCall:
    """One request, read; `image` holds the encoded bytes."""

    image: bytes = attrs.field(repr=False)
    prompt: str
    max_tokens: int | None

    async def ask(self, backend: ServedReader, take_in: TakeIn, timeout_seconds: float) -> Answered[Reading]:
        return await backend.complete(await take_in(self.image), self.prompt, self.max_tokens)


def chat_from_wire(body: object) -> ChatCall:
    """Raises MalformedResultError naming the field."""
    fields = Fields.of(body, "")
    for name, allowed in (("stream", (None, False)), ("n", (None, 1)), ("temperature", (None, 0)), ("tools", (None,))):
        value = fields.values.get(name)
        if value not in allowed and value != []:
            raise MalformedResultError(name, f"{' or '.join(map(repr, allowed))} here, got {got(value)}")
    pictures: list[bytes] = []
    texts: list[str] = []
    for message in fields.rows("messages"):
        if message.text("role") not in {"system", "developer", "user"}:
            raise MalformedResultError(f"{message.place}role", f"system or user, got {got(message.value('role'))}")
        content = message.value("content")
        if isinstance(content, str):
            texts.append(content)
            continue
        for part in message.rows("content"):
            kind = part.text("type")
            if kind == "text":
                texts.append(part.text("text"))
            elif kind == "image_url":
                holder = Fields.of(part.value("image_url"), f"{part.place}image_url")
                pictures.append(bytes_from_wire(holder.value("url"), f"{holder.place}url"))
            else:
                raise MalformedResultError(f"{part.place}type", f"text or image_url, got {got(kind)}")
    if len(pictures) != 1:
        raise MalformedResultError("messages", f"one picture, got {len(pictures)}")
    limit = _limit(fields)
    return ChatCall(image=pictures[0], prompt="\n".join(text for text in texts if text.strip()), max_tokens=limit)


def _limit(fields: Fields) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        limit = fields.find_count(name)
        if limit == 0:
            raise MalformedResultError(name, "a whole number from 1, got the number 0")
        if limit is not None:
            return limit
    return None


def _fresh() -> str:
    return f"chatcmpl-{uuid.uuid4().hex}"


@attrs.frozen(kw_only=True)
class ChatShape:
    """The `Shape` of the endpoint.

    Attributes:
        model_id: the name that requests must give.
        wall: seconds since 1970.
        fresh: makes ids.
    """

    model_id: str
    wall: Callable[[], float]
    fresh: Callable[[], str] = _fresh

    def read(self, body: bytes, name: str) -> ToolCall:
        """See `Shape`."""
        asked = object_of(body)
        model = asked.get("model")
        call = ToolCall(tool=CHAT_TOOL, args=asked)
        if model != self.model_id:
            message = f"model: expected {self.model_id!r}, which is served here, got {got(model)}"
            raise BadCallError(call, attrs.evolve(invalid_request(message, 404), code="model_not_found"))
        return call

    def success(self, call: ToolCall, result: Mapping[str, object], meta: Mapping[str, object]) -> bytes:
        head = {"id": self.fresh(), "object": "chat.completion", "created": int(self.wall()), "model": self.model_id}
        return json_bytes(head | dict(result))

    def failure(self, call: ToolCall, failure: Failure) -> bytes:
        told = failure.to_wire()
        return json_bytes({"error": told | {"type": failure.exception_type or failure.code, "param": None}})


def reading_to_wire(reading: Reading) -> dict[str, Any]:
    """Choices and usage of a chat completion."""
    message = {"role": "assistant", "content": reading.text}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop" if reading.finished else "length"}],
        "usage": {
            "prompt_tokens": reading.prompt_tokens,
            "completion_tokens": reading.completion_tokens,
            "total_tokens": reading.prompt_tokens + reading.completion_tokens,
        },
    }
