"""The Chat Completions protocol as a ChatModel."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import attrs
import httpx

from openvlharness_adapters.http.errors import AttemptFailed, Fault
from openvlharness_adapters.http.retry import RetryPolicy, Wait
from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_adapters.models.chat_reply import NotAReplyError, choice_error, reply_from_wire
from openvlharness_adapters.models.chat_stream import StreamCutError, gathered
from openvlharness_adapters.models.chat_wire import OWN_FIELDS, RESERVED_OPTIONS, opening
from openvlharness_adapters.models.event_stream import is_event_stream, stream_events
from openvlharness_adapters.models.provider_errors import error_fault, error_of, garbage_fault
from openvlharness_adapters.models.service import HttpReply, ModelService
from openvlharness_adapters.models.wire_json import json_text, read_json
from openvlharness_core.messages import ModelReply, ModelRequest
from openvlharness_core.ports.clock import Clock
from openvlharness_core.profile import ModelProfile

ENDPOINT = "/chat/completions"
"""What `endpoint_of` joins to a base for this protocol."""


def _unheard(_: Wait) -> None:
    """For whoever does not watch."""


def _options(_: object, field: attrs.Attribute[Mapping[str, object]], options: Mapping[str, object]) -> None:
    if reserved := sorted(RESERVED_OPTIONS & options.keys()):
        raise ValueError(f"{field.name}: expected generation options, got {', '.join(reserved)}")


def _replayable(_: object, field: attrs.Attribute[ModelProfile], profile: ModelProfile) -> None:
    if own := sorted(OWN_FIELDS & set(profile.replay_fields)):
        raise ValueError(f"{field.name}.replay_fields: expected fields beside the message's own, got {', '.join(own)}")


@attrs.frozen(kw_only=True)
class ChatCompletionsModel:
    """A model behind a Chat Completions endpoint. Serves any number of questions at once, on one event loop.

    Attributes:
        client: from `open_client`; whoever opened it closes it.
        endpoint: full address, from `endpoint_of(base, ENDPOINT)`.
        profile: how the model wants its messages.
        model_id: what the service calls it; by default what the profile says.
        key: bearer key; blank or `empty` sends none.
        options: generation options, sent as they are and in their order.
        timeout_seconds: limit of each attempt as a whole.
        retry: attempts after the first.
        clock: measures the limit and waits between attempts.
        share: a random number from 0 to 1 for each backoff.
        on_wait: told of each wait before it begins; it must not raise.
        stream: whether the reply is asked for as an event stream; it comes out the same.
        keep_native: whether replies keep the service's whole answer as text.
        encoder: makes the bodies; given by tests that count.

    Raises:
        ValueError: a setting that cannot be, named; a key or an address with credentials is not shown.
    """

    client: httpx.AsyncClient = attrs.field(repr=False)
    endpoint: str = attrs.field(repr=False)
    profile: ModelProfile = attrs.field(validator=_replayable, repr=lambda profile: profile.alias)
    model_id: str = attrs.field()
    key: str | None = attrs.field(default=None, repr=False)
    options: Mapping[str, object] = attrs.field(factory=dict, validator=_options)
    timeout_seconds: float = 600.0
    retry: int = 8
    clock: Clock = attrs.field(repr=False)
    share: Callable[[], float] = attrs.field(default=random.random, repr=False)
    on_wait: Callable[[Wait], None] = attrs.field(default=_unheard, repr=False)
    stream: bool = False
    keep_native: bool = False
    encoder: ChatEncoder = attrs.field(repr=False)
    _service: ModelService = attrs.field(init=False)

    @model_id.default
    def _of_profile(self) -> str:
        return self.profile.model_id

    @model_id.validator
    def _named(self, _: object, model_id: str) -> None:
        if not model_id:
            raise ValueError(f"model_id: expected a name, got none, and profile {self.profile.alias} has none")

    @encoder.default
    def _own_encoder(self) -> ChatEncoder:
        return ChatEncoder(profile=self.profile, opening=opening(self.model_id, self.options, stream=self.stream))

    @_service.default
    def _one_service(self) -> ModelService:
        return ModelService(
            client=self.client,
            endpoint=self.endpoint,
            key=self.key,
            policy=RetryPolicy(retry=self.retry, timeout_seconds=self.timeout_seconds, share=self.share),
            clock=self.clock,
            on_wait=self.on_wait,
        )

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer a conversation; see the port.

        Raises:
            ModelUnavailableError: unreachable, timed out or failing, retries included.
            ModelRefusedError: the service refused the request, or what came is no reply.
            ContextLengthError: the request does not fit the model's context.
            ValueError: a conversation in which calls and answers do not pair, which would be a bug of its builder.
        """
        return await self._service.post(self.encoder.body(request), self._read)

    def _read(self, reply: HttpReply) -> ModelReply:
        redactor = self._service.redactor
        try:
            payload, native = self._payload(reply)
            if (error := error_of(payload) or choice_error(payload)) is None:
                return reply_from_wire(payload, native=native if self.keep_native else None)
            fault = error_fault(error, redactor)
        except StreamCutError as cut:
            fault = Fault(kind="connection", code="connection", sentence=str(cut), transient=True)
        except NotAReplyError as problem:
            fault = garbage_fault(str(problem), reply.body, redactor)
        except (ValueError, RecursionError):
            kind = "an empty body" if not reply.body.strip() else "not JSON"
            fault = garbage_fault(kind, reply.body, redactor)
        raise AttemptFailed(fault)

    def _payload(self, reply: HttpReply) -> tuple[object, str | None]:
        if is_event_stream(reply.content_type, reply.body):
            payload = gathered(stream_events(reply.body))
            return payload, json_text(payload) if self.keep_native else None
        payload = read_json(reply.body)
        if not self.keep_native:
            return payload, None
        return payload, reply.body.decode("utf-8", "replace").removeprefix("\ufeff")
