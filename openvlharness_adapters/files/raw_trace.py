"""The raw trace of a question as a file beside its report: what was sent, what came back, and both as token ids.

`raw_trace.json` holds one entry a reply: the messages of its request as they were sent (pictures by their files, which
lie beside the report), the provider's whole reply, and token ids. Those of the completion are the server's own, never
made from its text. Those of the prompt are made here, with the tokenizer and revision of the profile; a picture is one
placeholder in them. Where that is not possible `raw_trace_error.json` says why, and the report is what it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_adapters.models.chat_wire import opening
from openvlharness_adapters.models.pieces import base64_of
from openvlharness_adapters.models.qwen_prompt import prompt_text
from openvlharness_core.agent.raw_trace import RawExchange
from openvlharness_core.agent.report import Report, image_file, sent_file
from openvlharness_core.errors import HarnessError, TokenizerUnavailableError
from openvlharness_core.jsonable import read_json
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.profile import ModelProfile

RAW_TRACE = "raw_trace.json"
RAW_TRACE_ERROR = "raw_trace_error.json"
RAW_TRACE_SCHEMA = "openvlharness.raw_trace/1"
RAW_TRACE_FORMAT = "native"
"""What a profile calls the one format there is."""

_FILE = b"file:"  # no base64 text holds a colon
_NAMED = re.compile(r"data:[^,]*;base64,file:(.*)")

Tokenize = Callable[[str], Sequence[int]]


class RawTraceError(HarnessError):
    """No raw trace can be made of a question.

    Attributes:
        code: short and stable.
        message: what was expected and what came.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def raw_trace_file(
    exchanges: Sequence[RawExchange], report: Report, profile: ModelProfile, open_tokenizer: Callable[[], Tokenize]
) -> dict[str, bytes]:
    """The one file to put beside the report, by name: the trace, or why there is none.

    Args:
        exchanges: what was recorded, in order.
        report: the question's, whose pictures the messages refer to.
        profile: whose tokenizer and revision are named.
        open_tokenizer: gives what turns text into token ids, special tokens read as such and none added; raises
            TokenizerUnavailableError.
    """
    try:
        record = raw_trace(exchanges, report, profile, open_tokenizer)
    except RawTraceError as error:
        failure = {"schema": RAW_TRACE_SCHEMA, "error": {"code": error.code, "message": error.message}}
        return {RAW_TRACE_ERROR: _json_bytes(failure)}
    return {RAW_TRACE: _json_bytes(record)}


def raw_trace(
    exchanges: Sequence[RawExchange], report: Report, profile: ModelProfile, open_tokenizer: Callable[[], Tokenize]
) -> dict[str, Any]:
    """The trace as JSON data; the arguments are those of `raw_trace_file`.

    Raises:
        RawTraceError: why there is none.
    """
    if profile.raw_trace_format != RAW_TRACE_FORMAT:
        raise RawTraceError("no_format", f"profile {profile.alias}: expected one with a raw trace, got one without")
    if not exchanges:
        raise RawTraceError("no_replies", "expected a reply of the model, got none")
    responses = [_response(exchange, number) for number, exchange in enumerate(exchanges, 1)]
    ids = [_completion_ids(response, number) for number, response in enumerate(responses, 1)]
    try:
        tokenize = open_tokenizer()
    except TokenizerUnavailableError as error:
        raise RawTraceError("no_tokenizer", str(error)) from None
    encoder = _encoder(report, profile)
    return {
        "schema": RAW_TRACE_SCHEMA,
        "format": RAW_TRACE_FORMAT,
        "task_id": report.task_id,
        "model": {"alias": profile.alias, "model_id": report.model.model_id},
        "tokenizer": {"name": profile.tokenizer, "revision": profile.raw_trace_tokenizer_revision},
        "responses": [
            _entry(exchange, response, completion, encoder, tokenize)
            for exchange, response, completion in zip(exchanges, responses, ids, strict=True)
        ],
    }


def _response(exchange: RawExchange, number: int) -> Mapping[str, Any]:
    if exchange.native is None:
        raise RawTraceError("no_native_reply", f"reply {number}: expected one kept as it came, got none")
    try:
        response = read_json(exchange.native)
    except ValueError as error:
        raise RawTraceError("no_native_reply", f"reply {number}: expected JSON: {error}") from None
    if not isinstance(response, dict):
        raise RawTraceError("no_native_reply", f"reply {number}: expected a JSON object, got another value")
    return response


def _completion_ids(response: Mapping[str, Any], number: int) -> list[int]:
    match response:
        case {"choices": [{"token_ids": [*ids]}, *_]} if ids and all(type(each) is int and each >= 0 for each in ids):
            return ids
    wanted = "token ids at choices[0].token_ids, which vLLM sends when asked with return_token_ids"
    raise RawTraceError("no_token_ids", f"reply {number}: expected {wanted}, got none")


def _entry(
    exchange: RawExchange,
    response: Mapping[str, Any],
    completion: Sequence[int],
    encoder: ChatEncoder,
    tokenize: Tokenize,
) -> dict[str, Any]:
    body = orjson.loads(b"".join(encoder.body(exchange.request)))
    for message in body["messages"]:
        _name_files(message["content"])
    try:
        prompt = tokenize(prompt_text(body["messages"], body.get("tools", ())))
    except ValueError as error:
        raise RawTraceError("no_prompt", str(error)) from None
    return {
        "iteration": exchange.request.iteration,
        "messages": body["messages"],
        "tools": body.get("tools", []),
        "response": response,
        "prompt_token_ids": list(prompt),
        "completion_token_ids": list(completion),
    }


def _encoder(report: Report, profile: ModelProfile) -> ChatEncoder:
    """What makes the bodies again, but with the name of its file for the text of each picture."""
    files = {
        record.picture.sent: sent_file(record) or image_file(record)
        for record in report.images
        if record.picture is not None
    }

    def name_of(image: EncodedImage) -> bytes:
        file = files.get(image)
        return base64_of(image) if file is None else _FILE + file.encode()

    return ChatEncoder(profile=profile, opening=opening(report.model.model_id, {}, stream=False), base64=name_of)


def _name_files(content: object) -> None:
    """Have pictures that lie in files named by them alone, in place."""
    for part in content if isinstance(content, list) else ():
        if part["type"] == "image_url" and (found := _NAMED.fullmatch(part["image_url"]["url"])):
            part["image_url"]["url"] = found[1]


def _json_bytes(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode()
