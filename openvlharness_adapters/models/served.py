"""A model behind an HTTP endpoint: the settings, the request and the reading, whatever protocol is spoken.

A protocol is a `Dialect`: a handful of pure functions. What is here is the same for all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Protocol

import attrs
import httpx

from openvlharness_adapters.http.errors import AttemptFailed, Fault
from openvlharness_adapters.http.redaction import Redactor
from openvlharness_adapters.http.retry import RetryPolicy, Wait
from openvlharness_adapters.models.encoder import Encoder
from openvlharness_adapters.models.event_stream import is_event_stream, stream_events
from openvlharness_adapters.models.provider_errors import error_fault, garbage_fault
from openvlharness_adapters.models.reply_values import NotAReplyError, StreamCutError
from openvlharness_adapters.models.service import HttpReply, ModelService
from openvlharness_adapters.models.wire_json import json_text, read_json
from openvlharness_core.messages import ModelReply, ModelRequest
from openvlharness_core.ports.clock import Clock
from openvlharness_core.profile import ModelProfile


class EncoderOf(Protocol):
    """Makes the encoder of one model."""

    def __call__(
        self, profile: ModelProfile, model_id: str, options: Mapping[str, object], *, stream: bool
    ) -> Encoder[Any]:
        """An encoder with nothing kept; `options` hold no reserved field."""
        ...


@attrs.frozen(kw_only=True)
class Dialect:
    """A protocol, as pure functions.

    Attributes:
        reserved: fields of a body that are no generation options.
        encoder: makes the encoder of one model.
        gathered: puts the events of a stream together; raises StreamCutError or NotAReplyError.
        is_last: whether an event of a stream is one behind which `gathered` looks at nothing more.
        error_of: the error that a payload carries instead of a reply.
        reply: reads a payload without one, given the generation options and the body as text where that is kept; raises
            NotAReplyError.
    """

    reserved: frozenset[str]
    encoder: EncoderOf
    gathered: Callable[[Iterable[object]], object]
    is_last: Callable[[object], bool]
    error_of: Callable[[object], Mapping[str, object] | str | None]
    reply: Callable[[object, Mapping[str, object], str | None], ModelReply]

    def read(
        self, reply: HttpReply, options: Mapping[str, object], redactor: Redactor, *, keep_native: bool
    ) -> ModelReply:
        """The reply that a successful response holds. Raises AttemptFailed for everything else."""
        try:
            payload, native = self._payload(reply, keep_native=keep_native)
            if (error := self.error_of(payload)) is None:
                return self.reply(payload, options, native)
            fault = error_fault(error, redactor, status=reply.status)
        except StreamCutError as cut:
            fault = Fault(kind="connection", code="connection", sentence=str(cut), transient=True)
        except NotAReplyError as problem:
            fault = garbage_fault(str(problem), reply.body, redactor, status=reply.status)
        except (ValueError, RecursionError):
            kind = "an empty body" if not reply.body.strip() else "not JSON"
            fault = garbage_fault(kind, reply.body, redactor, status=reply.status)
        raise AttemptFailed(fault)

    def _payload(self, reply: HttpReply, *, keep_native: bool) -> tuple[object, str | None]:
        if is_event_stream(reply.content_type, reply.body):
            payload = self.gathered(stream_events(reply.body))
            return payload, json_text(payload) if keep_native else None
        payload = read_json(reply.body)
        return payload, reply.body.decode("utf-8", "replace").removeprefix("\ufeff") if keep_native else None


def _unheard(_: Wait) -> None:
    """For whoever does not watch."""


@attrs.frozen(kw_only=True)
class ServedModel:
    """A model behind an endpoint. Serves any number of questions at once, on one event loop.

    Attributes:
        client: from `open_client`; whoever opened it closes it.
        endpoint: full address, from `endpoint_of`.
        profile: how the model wants its messages.
        model_id: what the service calls it; by default what the profile says.
        key: bearer key; blank or `empty` sends none.
        options: generation options, in the order they are sent.
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

    dialect: ClassVar[Dialect]

    client: httpx.AsyncClient = attrs.field(repr=False)
    endpoint: str = attrs.field(repr=False)
    profile: ModelProfile = attrs.field(repr=lambda profile: profile.alias)
    model_id: str = attrs.field()
    key: str | None = attrs.field(default=None, repr=False)
    options: Mapping[str, object] = attrs.field(factory=dict)
    timeout_seconds: float = 600.0
    retry: int = 8
    clock: Clock = attrs.field(repr=False)
    share: Callable[[], float] = attrs.field(default=random.random, repr=False)
    on_wait: Callable[[Wait], None] = attrs.field(default=_unheard, repr=False)
    stream: bool = False
    keep_native: bool = False
    encoder: Encoder[Any] = attrs.field(repr=False)
    _service: ModelService = attrs.field(init=False)

    @model_id.default
    def _of_profile(self) -> str:
        return self.profile.model_id

    @model_id.validator
    def _named(self, _: object, model_id: str) -> None:
        if not model_id:
            raise ValueError(f"model_id: expected a name, got none, and profile {self.profile.alias} has none")

    @options.validator
    def _unreserved(self, _: object, options: Mapping[str, object]) -> None:
        if reserved := sorted(self.dialect.reserved & options.keys()):
            raise ValueError(f"options: expected generation options, got {', '.join(reserved)}")

    @encoder.default
    def _own_encoder(self) -> Encoder[Any]:
        return self.dialect.encoder(self.profile, self.model_id, self.options, stream=self.stream)

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
        return await self._service.post(self.encoder.body(request), self._read, is_last=self.dialect.is_last)

    def _read(self, reply: HttpReply) -> ModelReply:
        redactor = self._service.redactor
        return _without_key(self.dialect.read(reply, self.options, redactor, keep_native=self.keep_native), redactor)


def _without_key(reply: ModelReply, redactor: Redactor) -> ModelReply:
    """`reply` without the key, which a service or a gateway may send back: reports and consoles show what it holds."""

    def hidden(text: str | None) -> str | None:
        return None if text is None else redactor.hide(text)

    calls = [
        attrs.evolve(
            call, id=redactor.hide(call.id), tool=redactor.hide(call.tool), arguments=redactor.hide(call.arguments)
        )
        for call in reply.calls
    ]
    return attrs.evolve(
        reply,
        text=hidden(reply.text),
        calls=tuple(calls),
        reasoning=hidden(reply.reasoning),
        finish_reason=hidden(reply.finish_reason),
        usage={redactor.hide(name): number for name, number in reply.usage.items()},
        extras=redactor.hide(reply.extras),
        model=hidden(reply.model),
        native=hidden(reply.native),
    )
