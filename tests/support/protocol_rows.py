"""The protocols as rows of a table, for tests that hold for every shape in which a conversation is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs
from tokenizers import Tokenizer

from openvlharness_adapters.models import responses_wire
from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_adapters.models.chat_wire import opening
from openvlharness_adapters.models.encoder import Encoder
from openvlharness_adapters.models.responses_encoder import ResponsesEncoder
from openvlharness_core.errors import ScriptError
from openvlharness_core.messages import ModelReply, ModelRequest
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing import ScriptedModel
from openvlharness_core.testing.models import Scripted
from tests.support.chat_rules import faults_of, picture_fault
from tests.support.sent_tokens import chat_tokens, responses_tokens
from tests.support.small_tokenizer import counting_profile


@attrs.frozen(kw_only=True)
class Protocol:
    """One shape of a conversation.

    Attributes:
        name: for test ids.
        profile: counts, with the picture rule of Qwen3-VL.
        messages: the field of a body that holds the conversation.
        encoder: makes an encoder for the profile.
        faults: what a strict service would refuse in a body.
        tokens: counts a body: itself, tokenizer, patch, pixels.
        merges: whether neighbouring user messages are sent as one.
    """

    name: str
    profile: ModelProfile
    messages: str
    encoder: Callable[[ModelProfile], Encoder[Any]]
    faults: Callable[[dict[str, Any]], Iterator[str]]
    tokens: Callable[[dict[str, Any], Tokenizer, int, tuple[int, int]], int]
    merges: bool = False

    def model(self, replies: list[Scripted]) -> WireModel:
        """A model that meets the conversation as bytes."""
        return WireModel(self.encoder(self.profile), self.faults, replies)

    def said(self, body: bytes) -> bytes:
        """A body from the first sign of its conversation to the last, without the bracket that closes it."""
        text = body.decode()
        start = text.index(f'"{self.messages}":[') + len(self.messages) + 3
        _, end = json.JSONDecoder().raw_decode(text, start)
        return text[start : end - 1].encode()

    def counted(self, body: bytes, tokenizer: Tokenizer) -> int:
        """Tokens of a body, from its JSON alone."""
        assert self.profile.image_token_patch is not None
        assert self.profile.image_token_pixels is not None
        return self.tokens(json.loads(body), tokenizer, self.profile.image_token_patch, self.profile.image_token_pixels)


@attrs.define
class WireModel:
    """Follows a script, and keeps every request as the bytes that would be sent; refuses what a strict service refuses."""

    encoder: Encoder[Any]
    faults: Callable[[dict[str, Any]], Iterator[str]]
    script: ScriptedModel = attrs.field(converter=ScriptedModel)
    bodies: list[bytes] = attrs.field(factory=list, init=False)

    async def complete(self, request: ModelRequest) -> ModelReply:
        body = b"".join(self.encoder.body(request))
        self.bodies.append(body)
        if found := list(self.faults(json.loads(body))):
            raise ScriptError("; ".join(found))
        return await self.script.complete(request)


def _chat(profile: ModelProfile) -> ChatEncoder:
    return ChatEncoder(profile=profile, opening=opening("m", {}, stream=False))


def _responses(profile: ModelProfile) -> ResponsesEncoder:
    return ResponsesEncoder(profile=profile, opening=responses_wire.opening("m", profile, {}, stream=False))


def responses_faults(body: dict[str, Any]) -> Iterator[str]:
    """What a strict Responses service would refuse in the items of a conversation."""
    owed: list[str] = []
    used: set[str] = set()
    for position, item in enumerate(body["input"]):
        place, kind = f"input[{position}]", item.get("type")
        if kind == "function_call":
            if item["call_id"] in used:
                yield f"{place}: call id {item['call_id']!r} again"
            used.add(item["call_id"])
            owed.append(item["call_id"])
            if not isinstance(json.loads(item["arguments"]), dict):
                yield f"{place}: arguments are no object"
        elif kind == "function_call_output":
            if not owed or owed.pop(0) != item["call_id"]:
                yield f"{place}: an output without its call"
        elif owed:
            yield f"{place}: stands between a call and its output"
        elif kind != "message" or item.get("role") not in ("system", "user", "assistant"):
            yield f"{place}: neither message, call nor output"
        content = item.get("output") if kind == "function_call_output" else item.get("content")
        if kind != "function_call" and not content:
            yield f"{place}: empty"
        for part in content if isinstance(content, list) else []:
            if part["type"] == "input_image" and (fault := picture_fault(part["image_url"])):
                yield f"{place}: {fault}"
    if owed:
        yield f"input: ends with open calls {owed}"


PROTOCOLS = (
    Protocol(
        name="chat",
        profile=counting_profile(),
        messages="messages",
        encoder=_chat,
        faults=faults_of,
        tokens=chat_tokens,
    ),
    Protocol(
        name="chat_alternating",
        profile=counting_profile(alternate_roles=True),
        messages="messages",
        encoder=_chat,
        faults=faults_of,
        tokens=chat_tokens,
        merges=True,
    ),
    Protocol(
        name="responses",
        profile=counting_profile(adapter="responses"),
        messages="input",
        encoder=_responses,
        faults=responses_faults,
        tokens=responses_tokens,
    ),
)
