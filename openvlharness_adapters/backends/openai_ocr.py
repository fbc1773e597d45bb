"""Models that read pictures behind an OpenAI chat endpoint: vLLM, or our own raw servers, with PaddleOCR-VL or DeepSeek-OCR."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from openvlharness_adapters.models.chat_reply import reply_from_wire
from openvlharness_adapters.models.provider_errors import error_of as error_in
from openvlharness_adapters.models.reply_values import NotAReplyError
from openvlharness_adapters.models.wire_json import read_json
from openvlharness_adapters.router_client.caller import Caller
from openvlharness_adapters.wire.envelopes import find_failure
from openvlharness_adapters.wire.failures import STATUS_OF, Failure
from openvlharness_adapters.wire.images import image_to_wire
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered, Transcription

ENDPOINT = "/chat/completions"
DEFAULT_MODEL_ID = "PaddlePaddle/PaddleOCR-VL-1.5"
PROMPT = "OCR:"
"""The task prompt of PaddleOCR-VL for plain text."""
DEEPSEEK_MODEL_ID = "deepseek-ai/DeepSeek-OCR-2"
DEEPSEEK_PROMPT = "Free OCR."
"""The task prompt of DeepSeek-OCR for text without layout."""
MAX_TOKENS = 4096


@attrs.frozen(kw_only=True)
class OpenAIOcrBackend:
    """The `OcrBackend` behind a chat endpoint: text alone, no places.

    Attributes:
        caller: posts a body to the endpoint; see `chat_result`.
        model_id: as the server names it.
        prompt: the model's task prompt.
    """

    caller: Caller
    model_id: str = DEFAULT_MODEL_ID
    prompt: str = PROMPT

    async def read(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[Transcription]:
        """See `OcrBackend`. A transcription that the token limit cut says so in the sidecars (`finish_reason`)."""
        content = [
            {"type": "image_url", "image_url": {"url": image_to_wire(image)}},
            {"type": "text", "text": self.prompt},
        ]
        body = {
            "model": self.model_id,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": MAX_TOKENS,
            "temperature": 0,
        }
        reply = await self.caller.call(body, timeout_seconds=timeout_seconds)
        answered = reply.answered(_read)
        text, finish_reason = answered.value
        return Answered(
            value=Transcription(text=text),
            backend=answered.backend,
            envelope=answered.envelope,
            sidecars={**answered.sidecars, "finish_reason": finish_reason, "model": self.model_id},
            usage=answered.usage,
        )


def _read(completion: object) -> tuple[str, str | None]:
    try:
        reply = reply_from_wire(completion)
    except NotAReplyError as error:
        place, _, expected = str(error).partition(": expected ")
        raise MalformedResultError(place, expected or "a chat completion") from None
    if reply.calls:
        raise MalformedResultError("choices[0].message", "a transcription, got tool calls")
    return (reply.text or "").strip(), reply.finish_reason


def chat_result(status: int, body: bytes) -> Mapping[str, object] | Failure | None:
    """What a response of a chat endpoint says of this call, for `RawCaller`; `None` for one that says nothing.

    Raises:
        MalformedResultError: status 200 and no chat completion.
    """
    try:
        value = read_json(body)
    except ValueError:
        value = None
    if status == 200:
        if not isinstance(value, Mapping):
            raise MalformedResultError("completion", "a JSON object, got something else")
        if error_in(value) is not None:
            raise MalformedResultError("completion", "a chat completion, got status 200 with an error")
        return value
    failure = find_failure(value.get("error"), status) if isinstance(value, Mapping) else None
    # Codes of our own servers are final; whatever others put there, their status says whether to come again.
    return failure if failure is not None and failure.code in STATUS_OF else None
