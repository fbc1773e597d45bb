"""What every remote backend calls through: arguments out, a checked envelope back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import attrs

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.results import Answered
from openvlharness_core.usage import Spent

T = TypeVar("T")

_SHOWN_LETTERS = 2000


@attrs.frozen(kw_only=True)
class Reply:
    """A result that has come back.

    Attributes:
        result: unchecked but for being an object.
        backend: who answered, as the other side says.
        usage: what was spent there.
        sidecars: what it tells for the trace.
        envelope: the whole answer for the trace, pictures and arrays in it cut.
    """

    result: Mapping[str, object] = attrs.field(repr=False)
    backend: str
    usage: tuple[Spent, ...] = ()
    sidecars: Mapping[str, object] = attrs.field(factory=dict)
    envelope: Mapping[str, object] | None = attrs.field(default=None, repr=False)

    def answered(self, decode: Callable[[object], T]) -> Answered[T]:
        """The domain value with what the trace wants to know.

        Raises:
            MalformedResultError: what `decode` raises, with what was spent.
        """
        try:
            value = decode(self.result)
        except MalformedResultError as error:
            raise MalformedResultError(error.field, error.expected, usage=self.usage) from None
        return Answered(
            value=value, backend=self.backend, envelope=self.envelope, sidecars=self.sidecars, usage=self.usage
        )


class Caller(Protocol):
    """One tool of one server."""

    async def call(self, args: Mapping[str, object], *, timeout_seconds: float) -> Reply:
        """Have it done, retries included.

        Raises:
            HarnessError: the very error that the backend raised behind the wire.
            BackendUnavailableError: no answer, retries included.
            MalformedResultError: an answer that breaks the wire.
        """
        ...


def without_bulk(value: object) -> object:
    """JSON with its long texts cut: a trace is to be read, and what pictures and arrays held is kept elsewhere."""
    if isinstance(value, str) and len(value) > _SHOWN_LETTERS:
        return f"{value[:80]}… [{len(value)} characters]"
    if isinstance(value, Mapping):
        return {name: without_bulk(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_bulk(each) for each in value]
    return value
