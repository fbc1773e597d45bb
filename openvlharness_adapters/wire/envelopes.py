"""The envelopes of `POST /execute`: a named call with an id, and a success or a structured failure for that id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import attrs
import orjson

from openvlharness_adapters.models.wire_json import json_bytes, read_json
from openvlharness_adapters.wire.failures import Failure, wire_usage
from openvlharness_adapters.wire.fields import got
from openvlharness_adapters.wire.usage import usage_from_wire
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.texts import excerpt

_FIELDS = ("tool_name", "args", "tool_call_id")


@attrs.frozen(kw_only=True)
class ToolCall:
    """One call as it came.

    Attributes:
        tool: concrete name, such as `ocr`; `None` where nobody could read one.
        args: unchecked arguments.
        call_id: the caller's own; it recurs, and identifies nothing but the answer to this request.
    """

    tool: str | None
    args: object = attrs.field(default=None, repr=False)
    call_id: str | None = None


class BadCallError(Exception):
    """A body that is no call; carries the answer's facts."""

    def __init__(self, call: ToolCall, failure: Failure) -> None:
        super().__init__(failure.message)
        self.call = call
        self.failure = failure


@attrs.frozen(kw_only=True)
class Success:
    """A result as it came, unchecked but for being an object.

    Attributes:
        result: see the module of the capability.
        meta: backend, seconds, usage and what else the server tells.
    """

    result: Mapping[str, object] = attrs.field(repr=False)
    meta: Mapping[str, object]


def invalid_request(message: str, status: int) -> Failure:
    """The failure of a request that is none."""
    kind = "InvalidRequestError"
    return Failure(code="invalid_request", message=message, exception_type=kind, client_error=True, status=status)


def call_to_wire(tool: str, args: Mapping[str, object], call_id: str) -> bytes:
    return json_bytes({"tool_name": tool, "args": args, "tool_call_id": call_id})


def object_of(body: bytes) -> dict[str, object]:
    """The JSON object that a body is. Raises BadCallError."""
    try:
        value = orjson.loads(body)
    except ValueError as error:
        message = f"the body: expected a JSON object, got something that is no JSON ({excerpt(str(error), 80)})"
        raise BadCallError(ToolCall(tool=None), invalid_request(message, 400)) from None
    if not isinstance(value, dict):
        message = f"the body: expected a JSON object, got {got(value)}"
        raise BadCallError(ToolCall(tool=None), invalid_request(message, 400))
    return value


def call_from_wire(body: bytes) -> ToolCall:
    """The call; its `args` are an object.

    Raises:
        BadCallError: no JSON object, a field missing, of another kind or unknown.
    """
    fields = object_of(body)
    tool, call_id, args = fields.get("tool_name"), fields.get("tool_call_id"), fields.get("args")
    known = ToolCall(
        tool=tool if isinstance(tool, str) else None, call_id=call_id if isinstance(call_id, str) else None
    )
    for name, value in (("tool_name", tool), ("tool_call_id", call_id)):
        if not isinstance(value, str) or not value:
            raise BadCallError(known, invalid_request(f"{name}: expected a text, got {got(value)}", 422))
    if (other := next((name for name in fields if name not in _FIELDS), None)) is not None:
        message = f"{other}: no such field; there are {', '.join(_FIELDS)}"
        raise BadCallError(known, invalid_request(message, 422))
    if not isinstance(args, dict):
        message = f"args: expected an object, got {got(args)}"
        kind = "InvalidArgumentsError"
        failure = Failure(code="invalid_tool_arguments", message=message, exception_type=kind, client_error=True)
        raise BadCallError(known, failure)
    return attrs.evolve(known, args=args)


def success_to_wire(call: ToolCall, result: Mapping[str, object], meta: Mapping[str, object]) -> bytes:
    return json_bytes(
        {"ok": True, "tool_name": call.tool, "tool_call_id": call.call_id, "result": result, "meta": meta}
    )


def failure_to_wire(call: ToolCall, failure: Failure) -> bytes:
    """With `meta` where something was spent."""
    envelope = {"ok": False, "tool_name": call.tool, "tool_call_id": call.call_id, "error": failure.to_wire()}
    meta = wire_usage(failure)
    return json_bytes(envelope | {"meta": meta} if meta else envelope)


def reply_from_wire(status: int, body: bytes, tool: str, call_id: str) -> Success | Failure | None:
    """What a response says of this call; `None` when it is neither a success nor a structured failure for it.

    Raises:
        MalformedResultError: status 200 and no envelope of this call.
    """
    try:
        envelope = read_json(body)
    except ValueError:
        envelope = None
    if isinstance(envelope, Mapping) and envelope.get("tool_call_id") == call_id:
        if envelope.get("ok") is False and (failure := _failure(envelope, status)) is not None:
            return failure
        if status == 200:
            return _success(envelope, tool)
    if status != 200:
        return None
    if not isinstance(envelope, Mapping):
        raise MalformedResultError("envelope", "a JSON object, got something else")
    raise MalformedResultError("tool_call_id", f"{call_id!r}, got {got(envelope.get('tool_call_id'))}")


def _success(envelope: Mapping[str, object], tool: str) -> Success:
    if envelope.get("ok") is not True:
        raise MalformedResultError("ok", f"true, or false with an error, got {got(envelope.get('ok'))}")
    if envelope.get("tool_name") != tool:
        raise MalformedResultError("tool_name", f"{tool!r}, got {got(envelope.get('tool_name'))}")
    for name in ("result", "meta"):
        if not isinstance(envelope.get(name), Mapping):
            raise MalformedResultError(name, f"an object, got {got(envelope.get(name))}")
    result, meta = (cast("Mapping[str, object]", envelope[name]) for name in ("result", "meta"))
    return Success(result=result, meta=meta)


def _failure(envelope: Mapping[str, object], status: int) -> Failure | None:
    meta = envelope.get("meta")
    usage = usage_from_wire(meta) if isinstance(meta, Mapping) else ()
    failure = find_failure(envelope.get("error"), status)
    return None if failure is None else attrs.evolve(failure, usage=usage)


def find_failure(error: object, status: int) -> Failure | None:
    """The failure behind an `error` object; `None` where it has no code and message."""
    if not isinstance(error, Mapping):
        return None
    code, message, details = error.get("code"), error.get("message"), error.get("details")
    if not isinstance(code, str) or not isinstance(message, str):
        return None
    told = details if isinstance(details, Mapping) else {}
    kind = told.get("exception_type")
    return Failure(
        code=code,
        message=message,
        exception_type=kind if isinstance(kind, str) else "",
        client_error=told.get("client_error") is True,
        facts={name: told[name] for name in ("backend", "field", "expected") if isinstance(told.get(name), str)},
        status=status,
    )
