"""From the errors of the domain to structured failures, and back on the other side of the wire.

A backend behind the router must fail in the words in which it would fail in process, since the model reads them. So a
failure carries the error's own facts beside its code, and the client builds the same error again.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from openvlharness_adapters.wire.usage import usage_to_wire
from openvlharness_core.errors import (
    BackendError,
    BackendTimeoutError,
    BackendUnavailableError,
    CapabilityUnavailableError,
    FetchError,
    HarnessError,
    MalformedResultError,
    ToolExecutionError,
    ToolFailure,
    UnreadableImageError,
    UnsupportedQueryError,
)
from openvlharness_core.texts import clean_text
from openvlharness_core.usage import Spent

STATUS_OF: Mapping[str, int] = {
    "invalid_request": 422,
    "invalid_tool_arguments": 422,
    "unsupported_query": 422,
    "unknown_reference": 422,
    "unknown_tool": 404,
    "tool_execution_error": 500,
    "out_of_memory": 507,
    "backend_unavailable": 502,
    "malformed_result": 502,
    "capability_unavailable": 503,
    "backend_timeout": 504,
}
"""HTTP status by code; any other code is a 500."""

_BACKEND_ERRORS: Mapping[str, type[BackendError]] = {
    kind.__name__: kind
    for kind in (
        BackendUnavailableError,
        BackendTimeoutError,
        UnsupportedQueryError,
        CapabilityUnavailableError,
        ToolExecutionError,
    )
}
_BY_CODE: Mapping[str, type[BackendError]] = {kind.code: kind for kind in _BACKEND_ERRORS.values()}


class OutOfMemoryError(HarnessError):
    """A model server's device had no room for this call; smaller ones may fit. Callers read it as a failed tool."""


@attrs.frozen(kw_only=True)
class Failure:
    """A failed call as a value.

    Attributes:
        code: one of the closed list that models can meet, or `invalid_request`, or a model server's `out_of_memory`.
        message: what happened, in words for the model, with nothing secret in it.
        exception_type: the error's class.
        client_error: whether the caller could mend it.
        facts: further texts: `backend`, or `field` and `expected` of a malformed result.
        usage: what was spent all the same.
        status: HTTP status.
    """

    code: str
    message: str
    exception_type: str = "HarnessError"
    client_error: bool = False
    facts: Mapping[str, str] = attrs.field(factory=dict)
    usage: tuple[Spent, ...] = ()
    status: int = attrs.field()

    @status.default
    def _of_code(self) -> int:
        return STATUS_OF.get(self.code, 500)

    def to_wire(self) -> dict[str, object]:
        """The `error` object of an envelope."""
        details = {"exception_type": self.exception_type, "client_error": self.client_error} | dict(self.facts)
        return {"code": self.code, "message": self.message, "details": details}


def failure_of(error: BaseException) -> Failure:
    """The failure behind an error of the domain; a bug of a backend is named by its class alone."""
    name = type(error).__name__
    match error:
        case MalformedResultError():
            facts = {"field": error.field, "expected": error.expected}
            return Failure(
                code=error.code, message=str(error), exception_type=name, facts=_clean(facts), usage=error.usage
            )
        case BackendError():
            client = isinstance(error, UnsupportedQueryError)
            facts = _clean({"backend": error.backend})
            message = clean_text(error.reason)
            return Failure(
                code=error.code,
                message=message,
                exception_type=name,
                client_error=client,
                facts=facts,
                usage=error.usage,
            )
        case ToolFailure():
            client = STATUS_OF.get(error.code, 500) < 500
            message = clean_text(error.message)
            return Failure(
                code=error.code, message=message, exception_type=name, client_error=client, usage=error.usage
            )
        case UnreadableImageError():
            message = clean_text(error.problem)
            return Failure(code="invalid_tool_arguments", message=message, exception_type=name, client_error=True)
        case FetchError():
            return Failure(code="backend_unavailable", message=clean_text(str(error)), exception_type=name)
        case OutOfMemoryError():
            return Failure(code="out_of_memory", message=clean_text(str(error)), exception_type=name)
        case HarnessError():
            return Failure(code="tool_execution_error", message=clean_text(str(error)), exception_type=name)
    message = f"a bug in the backend: {name}; its traceback is in the log of whoever serves it"
    return Failure(code="tool_execution_error", message=message, exception_type=name)


def bad_arguments(error: MalformedResultError) -> Failure:
    """The failure of a call whose arguments break the wire."""
    message = clean_text(f"{error.field}: expected {error.expected}")
    kind = "InvalidArgumentsError"
    return Failure(code="invalid_tool_arguments", message=message, exception_type=kind, client_error=True)


def error_of(failure: Failure, backend: str) -> HarnessError:
    """The domain's error behind a failure.

    Args:
        failure: as it came.
        backend: whom to name where the failure does not.
    """
    named = failure.facts.get("backend", backend)
    if failure.code == "malformed_result":
        field, expected = failure.facts.get("field"), failure.facts.get("expected")
        if field is None or expected is None:
            field, expected = named, f"a sound result, got: {failure.message}"
        return MalformedResultError(field, expected, usage=failure.usage)
    if failure.exception_type == UnreadableImageError.__name__:
        return UnreadableImageError(failure.message)
    if failure.code in {"invalid_tool_arguments", "unknown_tool", "unknown_reference"}:
        return ToolFailure(failure.code, f"{named}: {failure.message}", usage=failure.usage)  # type: ignore[arg-type]
    kind = _BY_CODE.get(failure.code, ToolExecutionError)  # `invalid_request` is nothing that a model could mend
    return kind(named, failure.message, usage=failure.usage)


def wire_usage(failure: Failure) -> dict[str, object]:
    """The `meta` of a failure; empty where nothing was spent."""
    return usage_to_wire(failure.usage)


def _clean(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: clean_text(str(fact)) for name, fact in facts.items()}
