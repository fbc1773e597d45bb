"""Encodes every message and every picture of a conversation once, however often it is sent."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

import attrs
import pybase64

from openvlharness_adapters.models.chat_wire import (
    Base64,
    EncodedMessage,
    Pieces,
    check_pairs,
    closing,
    encode_message,
    joined,
    tools_to_wire,
)
from openvlharness_core.messages import Message, ModelRequest, ToolSpec
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.profile import ModelProfile


def base64_of(image: EncodedImage) -> bytes:
    """The bytes of a picture as base64 text."""
    return pybase64.b64encode(image.data)


@attrs.define(kw_only=True, eq=False)
class ChatEncoder:
    """Makes bodies and remembers what it made, for as long as a conversation holds the message or the picture.

    Attributes:
        profile: how this model wants its messages.
        opening: the bytes in front of the first message.
        encode: makes the pieces of a message.
        base64: makes the text of a picture.
    """

    profile: ModelProfile
    opening: bytes = attrs.field(repr=False)
    encode: Callable[[Message, ModelProfile, Base64], EncodedMessage] = encode_message
    base64: Base64 = base64_of
    _messages: WeakKeyDictionary[Message, EncodedMessage] = attrs.field(
        factory=WeakKeyDictionary, init=False, repr=False
    )
    _pictures: WeakKeyDictionary[EncodedImage, bytes] = attrs.field(factory=WeakKeyDictionary, init=False, repr=False)
    _tools: tuple[tuple[ToolSpec, ...], bytes] = attrs.field(default=((), b"[]"), init=False, repr=False)

    def body(self, request: ModelRequest) -> Pieces:
        """The body of a request, to be sent piece by piece.

        Raises:
            ValueError: a call without its answer, or an answer without its call.
        """
        check_pairs(request.messages)
        encoded = [self._encoded(message) for message in request.messages]
        tools = self._encoded_tools(request.tools) if request.tools else None
        return (self.opening, *joined(encoded, self.profile), closing(request, tools))

    def _encoded(self, message: Message) -> EncodedMessage:
        if (kept := self._messages.get(message)) is None:
            kept = self._messages[message] = self.encode(message, self.profile, self._picture)
        return kept

    def _picture(self, image: EncodedImage) -> bytes:
        if (kept := self._pictures.get(image)) is None:
            kept = self._pictures[image] = self.base64(image)
        return kept

    def _encoded_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        offered, kept = self._tools
        if tools is not offered and tools != offered:
            kept = tools_to_wire(tools)
        self._tools = (tools, kept)
        return kept
