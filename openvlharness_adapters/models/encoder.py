"""Encodes every message and every picture of a conversation once, however often it is sent.

One class for every protocol: what a message looks like on the wire is given to it as functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import attrs

from openvlharness_adapters.models.kept import KeptByIdentity
from openvlharness_adapters.models.pairing import check_pairs
from openvlharness_adapters.models.pieces import Base64, Pieces, base64_of
from openvlharness_core.messages import Message, ModelRequest, ToolSpec
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.profile import ModelProfile

Encoded = TypeVar("Encoded")


@attrs.define(kw_only=True, eq=False)
class Encoder(Generic[Encoded]):
    """Makes bodies and remembers what it made, for as long as a conversation holds the message or the picture.

    Attributes:
        profile: how this model wants its messages.
        opening: the bytes in front of the first message.
        encode: makes the pieces of a message.
        join: puts the messages of a whole conversation in a row, without brackets.
        close: makes the bytes behind the last message; its tools are `None` when they are withheld.
        tools: makes the list of tools.
        base64: makes the text of a picture.
    """

    profile: ModelProfile
    opening: bytes = attrs.field(repr=False)
    encode: Callable[[Message, ModelProfile, Base64], Encoded]
    join: Callable[[Sequence[Encoded], ModelProfile], list[bytes]]
    close: Callable[[ModelRequest, bytes | None], bytes]
    tools: Callable[[Sequence[ToolSpec]], bytes]
    base64: Base64 = base64_of
    _same: KeptByIdentity[Message, Encoded] = attrs.field(factory=KeptByIdentity, init=False, repr=False)
    _messages: WeakKeyDictionary[Message, Encoded] = attrs.field(factory=WeakKeyDictionary, init=False, repr=False)
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
        return (self.opening, *self.join(encoded, self.profile), self.close(request, tools))

    def _encoded(self, message: Message) -> Encoded:
        # Turn after turn the same objects come; one that is only equal is a conversation read back from a checkpoint.
        if (kept := self._same.get(message)) is None:
            if (kept := self._messages.get(message)) is None:
                kept = self._messages[message] = self.encode(message, self.profile, self._picture)
            self._same.keep(message, kept)
        return kept

    def _picture(self, image: EncodedImage) -> bytes:
        if (kept := self._pictures.get(image)) is None:
            kept = self._pictures[image] = self.base64(image)
        return kept

    def _encoded_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        offered, kept = self._tools
        if tools is not offered and tools != offered:
            kept = self.tools(tools)
        self._tools = (tools, kept)
        return kept
