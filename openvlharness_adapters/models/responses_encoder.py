"""The encoder of Responses bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from openvlharness_adapters.models.encoder import Encoder
from openvlharness_adapters.models.pieces import Base64
from openvlharness_adapters.models.responses_wire import EncodedItems, closing, encode_message, joined, tools_to_wire
from openvlharness_core.messages import Message, ModelRequest, ToolSpec
from openvlharness_core.profile import ModelProfile


@attrs.define(kw_only=True, eq=False)
class ResponsesEncoder(Encoder[EncodedItems]):
    """See `Encoder`; everything but the profile and the opening is the protocol's."""

    encode: Callable[[Message, ModelProfile, Base64], EncodedItems] = encode_message
    join: Callable[[Sequence[EncodedItems], ModelProfile], list[bytes]] = joined
    close: Callable[[ModelRequest, bytes | None], bytes] = closing
    tools: Callable[[Sequence[ToolSpec]], bytes] = tools_to_wire
