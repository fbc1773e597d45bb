"""The Responses protocol as a ChatModel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from openvlharness_adapters.models.responses_encoder import ResponsesEncoder
from openvlharness_adapters.models.responses_reply import reply_from_wire, response_error
from openvlharness_adapters.models.responses_stream import gathered, is_last
from openvlharness_adapters.models.responses_wire import LIMIT_OPTION, RESERVED_OPTIONS, opening, options_to_wire
from openvlharness_adapters.models.served import Dialect, ServedModel
from openvlharness_core.messages import ModelReply
from openvlharness_core.profile import ModelProfile

ENDPOINT = "/responses"
"""What `endpoint_of` joins to a base for this protocol."""


def _encoder(profile: ModelProfile, model_id: str, options: Mapping[str, object], *, stream: bool) -> ResponsesEncoder:
    return ResponsesEncoder(profile=profile, opening=opening(model_id, profile, options, stream=stream))


def _reply(payload: object, options: Mapping[str, object], native: str | None) -> ModelReply:
    return reply_from_wire(payload, limit=options_to_wire(options).get(LIMIT_OPTION), native=native)


@attrs.frozen(kw_only=True)
class ResponsesModel(ServedModel):
    """A model behind a Responses endpoint, from `endpoint_of(base, ENDPOINT)`; see `ServedModel`.

    Stateless: the service stores nothing, and its reasoning items travel in the extras of replies and messages.
    `max_tokens` and `reasoning_effort` are sent under this protocol's names, other options as they are. Profiles'
    `replay_fields` and `empty_content` have no meaning here.
    """

    dialect: ClassVar[Dialect] = Dialect(
        reserved=RESERVED_OPTIONS,
        encoder=_encoder,
        gathered=gathered,
        is_last=is_last,
        error_of=response_error,
        reply=_reply,
    )
