"""What a service says when it gives no reply: error objects of every shape, pages, plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import attrs

from openvlharness_adapters.http.errors import Fault, detail_of
from openvlharness_adapters.http.redaction import Redactor
from openvlharness_adapters.models.wire_json import bounded_depth, json_text, read_json

_CONTEXT_CODE = "context_length_exceeded"
_CONTEXT_TYPE = "exceed_context_size_error"
_CONTEXT_WORDS = "maximum context length"
_ECHOES = frozenset({"input", "body", "request", "messages", "headers", "inputs", "prompt", "params"})
"""Fields in which services send back what they were sent."""

_PAGE = re.compile(rb"\s*<(!doctype|html|head|\?xml)", re.IGNORECASE)
# Every way to fail ends where the next try begins, or at the end: a page of nothing but `<` takes no longer than another.
_TAGS = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)
_LEVELS = 16
_LONGEST_BODY = 64 * 1024


def error_of(payload: object) -> Mapping[str, object] | str | None:
    """The error that a JSON value is or carries; `None` when it carries none."""
    if not isinstance(payload, Mapping):
        return None
    error = payload.get("error")
    if isinstance(error, Mapping | str) and error:
        return error
    if isinstance(error, list) and error:
        return {"message": json_text(error)}
    if payload.get("object") == "error":  # older vLLM
        return payload
    return None


def is_context_error(payload: object) -> bool:
    """Whether a body says that the request is longer than the model's context; `payload` is JSON or plain text."""
    if isinstance(payload, str):
        return _CONTEXT_WORDS in payload.lower()
    return any(
        error.get("code") == _CONTEXT_CODE
        or error.get("type") == _CONTEXT_TYPE
        or any(_CONTEXT_WORDS in text.lower() for text in _messages(error))
        for error in _errors(payload)
    )


def body_fault(fault: Fault, body: bytes, redactor: Redactor) -> Fault:
    """`fault` with what the body says, or the context error that the body tells of."""
    payload, page = _read(body)
    if is_context_error(payload):
        sentence = f"the request is longer than the model's context ({fault.sentence})"
        return Fault(kind="context", code=_CONTEXT_CODE, sentence=sentence, detail=_said(payload, redactor))
    detail = _said(payload, redactor)
    return attrs.evolve(fault, detail=f"an HTML page, {detail}" if page else detail)


def error_fault(error: Mapping[str, object] | str, redactor: Redactor, *, status: int = 200) -> Fault:
    """The fault of an error object that came with a status of success."""
    if is_context_error(error if isinstance(error, str) else {"error": error}):
        sentence = "the request is longer than the model's context"
        return Fault(kind="context", code=_CONTEXT_CODE, sentence=sentence, detail=_said(error, redactor))
    sentence = f"status {status} with an error instead of a reply"
    return Fault(kind="not_a_reply", code="not_a_reply", sentence=sentence, detail=_said(error, redactor))


def garbage_fault(problem: str, body: bytes, redactor: Redactor, *, status: int = 200) -> Fault:
    """The fault of a successful response whose body is no reply, with what the body says."""
    return body_fault(no_reply_fault(problem, status), body, redactor)


def no_reply_fault(problem: str, status: int) -> Fault:
    """The fault of a successful response that is no reply."""
    sentence = f"status {status} that is no reply ({problem})"
    return Fault(kind="not_a_reply", code="not_a_reply", sentence=sentence)


def _read(body: bytes) -> tuple[object, bool]:
    body = body[:_LONGEST_BODY]
    if _PAGE.match(body):
        return _TAGS.sub(" ", body.decode("utf-8", "replace")), True
    try:
        return read_json(body), False
    except ValueError:
        return body.decode("utf-8", "replace"), False


def _errors(payload: object, levels: int = _LEVELS) -> Iterator[Mapping[str, object]]:
    """Every object in which an error may be told: the payload, its error, and errors inside that."""
    if not levels:
        return
    if isinstance(payload, list):  # Google wraps its error in a list
        for item in payload[:10]:
            yield from _errors(item, levels - 1)
    if not isinstance(payload, Mapping):
        return
    yield payload
    for key in ("error", "detail", "innererror"):
        inner = payload.get(key)
        if isinstance(inner, str):
            yield {"message": inner}
        else:
            yield from _errors(inner, levels - 1)


def _messages(error: Mapping[str, object]) -> list[str]:
    return [text for key in ("message", "msg") if isinstance(text := error.get(key), str) and text.strip()]


def _said(payload: object, redactor: Redactor) -> str:
    """The words for a reader: the messages if there are any, else what is left without echoes of the request."""
    if isinstance(payload, str):
        return detail_of(payload.partition('"messages"')[0], redactor)
    found = [(error.get("loc"), text) for error in _errors(payload) for text in _messages(error)]
    if found:
        words = [text if loc is None else f"{json_text(loc)} {text}" for loc, text in found]
        return detail_of("; ".join(dict.fromkeys(words)), redactor)
    return detail_of(json_text(_without_echoes(bounded_depth(payload))), redactor)


def _without_echoes(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_echoes(item) for key, item in value.items() if str(key).lower() not in _ECHOES}
    if isinstance(value, list):
        return [_without_echoes(item) for item in value[:20]]
    return value
