"""Everything that callers of the library may catch, as one tree.

::

    HarnessError
    ├── InvalidQuestionError        a part of the question cannot be taken in
    ├── UnreadableImageError        bytes that are no picture we can show
    ├── MalformedResultError        a backend answered with data that breaks its contract
    ├── BackendError                a backend gave no usable answer
    │   ├── BackendUnavailableError
    │   ├── BackendTimeoutError
    │   ├── UnsupportedQueryError
    │   ├── CapabilityUnavailableError
    │   └── ToolExecutionError
    ├── ToolFailure                 a capability refuses a call, in words for the model
    ├── ModelError                  the model gave no usable reply
    │   ├── ModelUnavailableError
    │   ├── ModelRefusedError
    │   └── ContextLengthError
    ├── FetchError                  a path or URL gave no bytes
    ├── TokenizerUnavailableError   tokens cannot be counted here; the provider enforces its limit
    └── SavedFileError              a saved report or checkpoint cannot be read

`ConfigurationError` of the app hangs off the same root. A bug stays an ordinary exception: `TurnOrderError` is one,
and `ScriptError` is how a scripted double fails a test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, get_args

if TYPE_CHECKING:
    from openvlharness_core.usage import Spent

FailureCode = Literal[
    "invalid_tool_arguments",
    "arguments_truncated",
    "unknown_tool",
    "unknown_reference",
    "one_call_per_turn",
    "budget_spent",
    "unsupported_query",
    "capability_unavailable",
    "backend_unavailable",
    "backend_timeout",
    "malformed_result",
    "tool_execution_error",
    "cancelled",
]
"""Every code that a model can meet in a failed call; the list is closed."""

FAILURE_CODES: tuple[FailureCode, ...] = get_args(FailureCode)


class HarnessError(Exception):
    """Root of what callers may catch."""


class InvalidQuestionError(HarnessError):
    """A text or picture of the question itself cannot be taken in; raised before any request.

    Attributes:
        part: which part, such as `image 2 (photo.jpg)` or `text`.
        problem: what was expected and what came.
    """

    def __init__(self, part: str, problem: str) -> None:
        super().__init__(f"{part}: {problem}")
        self.part = part
        self.problem = problem


class UnreadableImageError(HarnessError):
    """Bytes that are no picture we can show: unknown format, truncated, empty or too large."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class MalformedResultError(HarnessError):
    """A backend answered with data that breaks its contract; nothing was registered."""

    code: ClassVar[FailureCode] = "malformed_result"

    def __init__(self, field: str, expected: str, *, usage: tuple[Spent, ...] = ()) -> None:
        super().__init__(f"{field}: expected {expected}")
        self.field = field
        self.expected = expected
        self.usage = usage


class BackendError(HarnessError):
    """A backend gave no usable answer, its adapter's own retries included.

    Attributes:
        backend: the backend's name.
        reason: what happened, in a sentence without keys or addresses that hold credentials.
        usage: what was spent all the same.
    """

    code: ClassVar[FailureCode] = "backend_unavailable"

    def __init__(self, backend: str, reason: str, *, usage: tuple[Spent, ...] = ()) -> None:
        super().__init__(f"{backend}: {reason}")
        self.backend = backend
        self.reason = reason
        self.usage = usage


class BackendUnavailableError(BackendError):
    """The backend could not be reached or kept failing."""


class BackendTimeoutError(BackendError):
    """The backend did not answer in time."""

    code: ClassVar[FailureCode] = "backend_timeout"


class UnsupportedQueryError(BackendError):
    """The backend does not understand this kind of query; the reason says which it does."""

    code: ClassVar[FailureCode] = "unsupported_query"


class CapabilityUnavailableError(BackendError):
    """Nothing here can do this at all; the reason says why."""

    code: ClassVar[FailureCode] = "capability_unavailable"


class ToolExecutionError(BackendError):
    """The backend ran and failed, for a reason that the model may be able to act on."""

    code: ClassVar[FailureCode] = "tool_execution_error"


class ToolFailure(HarnessError):
    """A capability refuses or fails a call; the model reads the message as a failed result.

    A user's own tool raises it to tell the model what went wrong and what to try.
    """

    def __init__(self, code: FailureCode, message: str, *, usage: tuple[Spent, ...] = ()) -> None:
        if code not in FAILURE_CODES:
            raise ValueError(f"code: expected one of {', '.join(FAILURE_CODES)}, got {code!r}")
        super().__init__(message)
        self.code: FailureCode = code
        self.message = message
        self.usage = usage


class ModelError(HarnessError):
    """The model gave no usable reply, the adapter's own retries included.

    Attributes:
        code: short and stable, such as `http_401`, `timeout`, `connection`, `not_a_reply`.
        message: what happened, with nothing secret in it.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ModelUnavailableError(ModelError):
    """The service could not be reached, timed out or kept failing."""


class ModelRefusedError(ModelError):
    """The service refused the request; sending it again would not help."""


class ContextLengthError(ModelError):
    """The request is longer than the model's context."""


class FetchError(HarnessError):
    """A path or URL gave no bytes; the reason names neither keys nor credentials."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


class TokenizerUnavailableError(HarnessError):
    """A model's tokenizer cannot be loaded, so nothing is counted here and the provider enforces its limit.

    Attributes:
        tokenizer: what the profile calls it.
        reason: what was expected and what came, with nothing secret in it.
    """

    def __init__(self, tokenizer: str, reason: str) -> None:
        super().__init__(f"{tokenizer}: {reason}")
        self.tokenizer = tokenizer
        self.reason = reason


class SavedFileError(HarnessError):
    """A saved report or checkpoint cannot be written or read back.

    Attributes:
        file: which file.
        problem: what was expected there and what came.
    """

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file}: {problem}")
        self.file = file
        self.problem = problem


class TurnOrderError(Exception):
    """An event that cannot occur in the state it met: a bug in whoever drives the engine."""


class ScriptError(AssertionError):
    """A scripted double was asked what its script does not say: a failed test, which no report must hide."""
