"""What other people's code handed back, made fit for the engine and for the record.

A model adapter or a tool that somebody wrote may return anything. The engine works on values that keep the promises of
their types, and the report has to be written whatever happens; so what comes from a port is checked here, once, and
what breaks a promise becomes an ordinary failure of that one request or call.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from openvlharness_core.calls import CapabilityResult, Findings
from openvlharness_core.errors import (
    FAILURE_CODES,
    BackendError,
    FetchError,
    HarnessError,
    MalformedResultError,
    ToolFailure,
)
from openvlharness_core.jsonable import json_ready, read_json
from openvlharness_core.messages import ImagePart, ModelReply, Part, TextPart, VirtualCall
from openvlharness_core.texts import clean_text
from openvlharness_core.usage import Spent, flat_usage


def sound_reply(reply: object) -> ModelReply:
    """The same reply with calls as a tuple, numbers alone in its usage, and extras that are a JSON object.

    Raises:
        TypeError: no `ModelReply`, or one with a field of another type, naming it.
    """
    if not isinstance(reply, ModelReply):
        raise TypeError(f"reply: expected a ModelReply, got {type(reply).__name__}")
    for name in ("text", "reasoning", "finish_reason", "model", "native"):
        value = getattr(reply, name)
        if value is not None and not isinstance(value, str):
            raise TypeError(f"reply.{name}: expected a text or None, got {type(value).__name__}")
    if not isinstance(reply.calls, tuple | list):
        raise TypeError(f"reply.calls: expected a tuple, got {type(reply.calls).__name__}")
    for call in reply.calls:
        if not isinstance(call, VirtualCall):
            raise TypeError(f"reply.calls: expected VirtualCalls, got {type(call).__name__}")
        for name in ("id", "tool", "arguments"):
            if not isinstance(getattr(call, name), str):
                raise TypeError(f"reply.calls.{name}: expected a text, got {type(getattr(call, name)).__name__}")
    return attrs.evolve(
        reply, calls=tuple(reply.calls), usage=flat_usage(reply.usage), extras=_sound_extras(reply.extras)
    )


def _sound_extras(extras: object) -> str:
    if extras == "{}" or not isinstance(extras, str):
        return "{}"
    try:
        return extras if isinstance(read_json(extras), dict) else "{}"
    except ValueError:
        return "{}"


def sound_findings(findings: Findings) -> Findings:
    """The same findings with data that the report can hold.

    Raises:
        MalformedResultError: data that is not JSON, naming the place.
        TypeError: no findings at all; a bug in the tool.
    """
    if not isinstance(findings, Findings):
        raise TypeError(f"perform: expected Findings, got {type(findings).__name__}")
    if not isinstance(findings.data, Mapping):
        raise MalformedResultError("data", f"an object, got {type(findings.data).__name__}")
    return attrs.evolve(
        findings,
        data=json_ready(findings.data, "data"),
        backend=json_ready(findings.backend, "backend"),
        envelope=json_ready(findings.envelope, "envelope"),
        sidecars=json_ready(findings.sidecars, "sidecars"),
        usage=sound_usage(findings.usage),
    )


def sound_evidence(evidence: tuple[Part, ...]) -> tuple[Part, ...]:
    """The same evidence without lone surrogates.

    Raises:
        TypeError: something that is no part of a message, or a picture part without a picture.
    """
    return tuple(_sound_part(part) for part in evidence)


def _sound_part(part: object) -> Part:
    if isinstance(part, TextPart):
        return TextPart(text=clean_text(part.text))
    if isinstance(part, ImagePart) and (part.image is not None or part.url is not None):
        return part
    raise TypeError(f"evidence: expected TextParts and ImageParts with a picture, got {part!r:.80}")


def sound_usage(usage: object) -> tuple[Spent, ...]:
    """What was spent, as far as it can be added up; anything else is left out."""
    if not isinstance(usage, tuple | list):
        return ()
    return tuple(
        attrs.evolve(
            each,
            role=clean_text(str(each.role)),
            model=None if each.model is None else clean_text(str(each.model)),
            usage=flat_usage(each.usage),
        )
        for each in usage
        if isinstance(each, Spent)
    )


def failed_result(error: HarnessError) -> CapabilityResult:
    """What the model is told of an error that a capability or a port raised."""
    if isinstance(error, ToolFailure | BackendError | MalformedResultError):
        code = error.code if error.code in FAILURE_CODES else "tool_execution_error"
        message = str(error.message) if isinstance(error, ToolFailure) else str(error)
        return CapabilityResult.failed(code, message, sound_usage(error.usage))
    if isinstance(error, FetchError):
        return CapabilityResult.failed("backend_unavailable", str(error))
    return CapabilityResult.failed("tool_execution_error", str(error))
