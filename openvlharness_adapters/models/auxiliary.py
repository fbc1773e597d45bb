"""Summaries, page extraction and verdicts, over the `openai` SDK and the Chat Completions protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import httpx
import pybase64

from openvlharness_adapters.http.endpoints import bearer_headers, checked_url, shown
from openvlharness_adapters.http.errors import FOREIGN_ERRORS, Fault, model_error
from openvlharness_adapters.http.redaction import Redactor
from openvlharness_adapters.models.chat_reply import choice_error, reply_from_wire
from openvlharness_adapters.models.provider_errors import error_fault, error_of, garbage_fault
from openvlharness_adapters.models.reply_values import NotAReplyError
from openvlharness_adapters.models.service import HttpReply
from openvlharness_adapters.models.wire_json import read_json
from openvlharness_core.messages import ModelReply
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.auxiliary import Written
from openvlharness_core.ports.clock import Clock
from openvlharness_core.texts import clean_text
from openvlharness_core.usage import Spent
from openvlharness_core.waiting import within

if TYPE_CHECKING:
    from openvlharness_adapters.models.openai_sdk import QuietClient

ENDPOINT = "/chat/completions"
"""What `endpoint_of` joins to a base for auxiliary calls."""

AUXILIARY_TOKENS = 8192


def _count(_: object, field: attrs.Attribute[int], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{field.name}: expected a whole number from 0, got {value!r}")


def _seconds(_: object, field: attrs.Attribute[float], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError(f"{field.name}: expected seconds above 0, got {value!r}")


@attrs.frozen(kw_only=True)
class OpenAIAuxiliary:
    """An auxiliary model behind a Chat Completions endpoint. Any number of calls at once, on one event loop.

    Which failures are tried again, and after how long, is the SDK's own policy (408, 409, 429, every 5xx, timeouts and
    broken connections; a Retry-After up to two minutes). Nothing here repeats a call, so attempts never multiply.

    Attributes:
        client: from `open_client`; whoever opened it closes it.
        endpoint: full address, from `endpoint_of(base, ENDPOINT)`.
        model_id: what the service calls the model.
        key: bearer key; blank or `empty` sends none.
        retry: attempts after the first.
        timeout_seconds: the SDK's limit of one attempt between two pieces of an answer; connecting is given 5 s of it.
        clock: ends a whole call that drips on for ever: after all the attempts, and all the waits, there can be.
        role: under what the cost is told: `auxiliary`, or `judge`.
        max_tokens: output limit of one call.
        temperature: 0 is greedy; `None` leaves it to the service, for models that refuse the option.

    Raises:
        ValueError: a setting that cannot be, named; a key or an address with credentials is not shown.
        ModuleNotFoundError: the extra `models` is not installed.
    """

    client: httpx.AsyncClient = attrs.field(repr=False)
    endpoint: str = attrs.field(repr=shown)
    model_id: str = attrs.field()
    key: str | None = attrs.field(default=None, repr=False)
    retry: int = attrs.field(default=2, validator=_count)
    timeout_seconds: float = attrs.field(default=600.0, validator=_seconds)
    clock: Clock = attrs.field(repr=False)
    role: str = "auxiliary"
    max_tokens: int = AUXILIARY_TOKENS
    temperature: float | None = 0.0
    _redactor: Redactor = attrs.field(init=False, repr=False)
    _sdk: QuietClient = attrs.field(init=False, repr=False)

    @endpoint.validator
    def _called(self, _: object, endpoint: str) -> None:
        if not checked_url(endpoint, name="endpoint").path.endswith(ENDPOINT):
            raise ValueError(f"endpoint: expected an address ending in {ENDPOINT}, got {shown(endpoint)}")

    @model_id.validator
    def _named(self, _: object, model_id: str) -> None:
        if not model_id:
            raise ValueError("model_id: expected what the service calls the model, got nothing")

    @_redactor.default
    def _of_key(self) -> Redactor:
        return Redactor((self.key.strip(),)) if self.key and bearer_headers(self.key) else Redactor()

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_sdk", self._opened())  # here, since validators run after defaults

    def _opened(self) -> QuietClient:
        try:
            from openvlharness_adapters.models.openai_sdk import open_sdk
        except ModuleNotFoundError as missing:
            if missing.name != "openai":
                raise
            message = "auxiliary models are asked over the openai SDK: pip install 'openvlharness[models]'"
            raise ModuleNotFoundError(message, name="openai") from None
        return open_sdk(
            self.client,
            self.endpoint,
            headers=bearer_headers(self.key),
            retry=self.retry,
            timeout_seconds=self.timeout_seconds,
        )

    async def write(self, prompt: str, *, system: str | None = None, images: Sequence[EncodedImage] = ()) -> Written:
        """Return what the model writes; see the port.

        Raises:
            ModelUnavailableError: unreachable, timed out or failing, the SDK's retries included.
            ModelRefusedError: the service refused the request, or what came is no reply.
            ContextLengthError: the prompt does not fit the model's context.
        """
        outcome = await self._ask(_messages(prompt, system, images))
        if isinstance(
            outcome, Fault
        ):  # raised here, where no exception of the SDK is its context: those hold the request
            raise model_error(outcome, shown(self.endpoint))
        hide = self._redactor.hide  # a service may send the key back, and reports hold what is written
        usage = {hide(name): number for name, number in outcome.usage.items()}
        spent = Spent(role=self.role, model=hide(outcome.model or self.model_id), usage=usage)
        return Written(text=hide(outcome.text or ""), spent=spent, cut=outcome.finish_reason == "length")

    async def _ask(self, messages: list[Any]) -> ModelReply | Fault:
        from openai import OpenAIError

        from openvlharness_adapters.models.openai_sdk import LONGEST_WAIT_SECONDS, sdk_fault

        limit = (self.retry + 1) * self.timeout_seconds + self.retry * LONGEST_WAIT_SECONDS
        try:
            reply = await within(self.clock, limit, self._post(messages))
        except TimeoutError:
            return Fault(kind="timeout", code="timeout", sentence=f"no whole answer within {limit:g} s", transient=True)
        except (OpenAIError, *FOREIGN_ERRORS) as error:
            return sdk_fault(error, self._redactor, wall_seconds=self.clock.wall())
        return reply if isinstance(reply, Fault) else self._read(reply)

    async def _post(self, messages: list[Any]) -> HttpReply | Fault:
        from openvlharness_adapters.models.openai_sdk import reply_of

        options: dict[str, Any] = {} if self.temperature is None else {"temperature": self.temperature}
        raw = await self._sdk.chat.completions.with_raw_response.create(
            model=self.model_id, messages=messages, max_tokens=self.max_tokens, **options
        )
        return reply_of(raw)

    def _read(self, reply: HttpReply) -> ModelReply | Fault:
        try:
            payload = read_json(reply.body)
            if (error := error_of(payload) or choice_error(payload)) is None:
                return reply_from_wire(payload)
            return error_fault(error, self._redactor, status=reply.status)
        except NotAReplyError as problem:
            return garbage_fault(str(problem), reply.body, self._redactor, status=reply.status)
        except (ValueError, RecursionError):
            kind = "an empty body" if not reply.body.strip() else "not JSON"
            return garbage_fault(kind, reply.body, self._redactor, status=reply.status)


def _messages(prompt: str, system: str | None, images: Sequence[EncodedImage]) -> list[Any]:
    """Lone surrogates are replaced: the SDK could not encode them."""
    messages: list[Mapping[str, object]] = []
    if system is not None:
        messages.append({"role": "system", "content": clean_text(system)})
    content: object = clean_text(prompt)
    if images:
        content = [{"type": "text", "text": content}, *map(_picture, images)]
    messages.append({"role": "user", "content": content})
    return messages


def _picture(image: EncodedImage) -> Mapping[str, object]:
    url = f"data:{image.media_type};base64,{pybase64.b64encode(image.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}
