"""The Chat Completions protocol as a ChatModel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_adapters.models.chat_reply import choice_error, reply_from_wire
from openvlharness_adapters.models.chat_stream import gathered, is_last
from openvlharness_adapters.models.chat_wire import OWN_FIELDS, RESERVED_OPTIONS, opening
from openvlharness_adapters.models.provider_errors import error_of
from openvlharness_adapters.models.served import Dialect, ServedModel
from openvlharness_core.messages import ModelReply
from openvlharness_core.profile import ModelProfile

ENDPOINT = "/chat/completions"
"""What `endpoint_of` joins to a base for this protocol."""


def _encoder(profile: ModelProfile, model_id: str, options: Mapping[str, object], *, stream: bool) -> ChatEncoder:
    return ChatEncoder(profile=profile, opening=opening(model_id, options, stream=stream))


def _error_of(payload: object) -> Mapping[str, object] | str | None:
    return error_of(payload) or choice_error(payload)


def _reply(payload: object, _: Mapping[str, object], native: str | None) -> ModelReply:
    return reply_from_wire(payload, native=native)


@attrs.frozen(kw_only=True)
class ChatCompletionsModel(ServedModel):
    """A model behind a Chat Completions endpoint, from `endpoint_of(base, ENDPOINT)`; see `ServedModel`.

    Options are sent as they are.
    """

    dialect: ClassVar[Dialect] = Dialect(
        reserved=RESERVED_OPTIONS,
        encoder=_encoder,
        gathered=gathered,
        is_last=is_last,
        error_of=_error_of,
        reply=_reply,
    )

    def __attrs_post_init__(self) -> None:
        if own := sorted(OWN_FIELDS & set(self.profile.replay_fields)):
            wanted = "expected fields beside the message's own"
            raise ValueError(f"profile.replay_fields: {wanted}, got {', '.join(own)}")
