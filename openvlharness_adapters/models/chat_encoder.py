"""The encoder of Chat Completions bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from openvlharness_adapters.models.chat_wire import EncodedMessage, closing, encode_message, joined, tools_to_wire
from openvlharness_adapters.models.encoder import Encoder
from openvlharness_adapters.models.pieces import Base64
from openvlharness_core.messages import Message, ModelRequest, ToolSpec
from openvlharness_core.profile import ModelProfile


@attrs.define(kw_only=True, eq=False)
class ChatEncoder(Encoder[EncodedMessage]):
    """See `Encoder`; everything but the profile and the opening is the protocol's."""

    encode: Callable[[Message, ModelProfile, Base64], EncodedMessage] = encode_message
    join: Callable[[Sequence[EncodedMessage], ModelProfile], list[bytes]] = joined
    close: Callable[[ModelRequest, bytes | None], bytes] = closing
    tools: Callable[[Sequence[ToolSpec]], bytes] = tools_to_wire
