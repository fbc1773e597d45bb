"""Code generation: ``{objective, descriptors, attempts}`` and back a program; values never travel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from openvlharness_adapters.wire.fields import Fields, got
from openvlharness_adapters.wire.images import TakeIn
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.ports.code import CodeGenerator
from openvlharness_core.results import Answered, Attempt


@attrs.frozen(kw_only=True)
class WriteCall:
    """What a caller asks."""

    objective: str
    descriptors: Mapping[str, Mapping[str, object]]
    attempts: tuple[Attempt, ...] = ()

    async def ask(self, backend: CodeGenerator, take_in: TakeIn, timeout_seconds: float) -> Answered[str]:
        return await backend.write(self.objective, self.descriptors, self.attempts, timeout_seconds=timeout_seconds)


def args_to_wire(
    objective: str, descriptors: Mapping[str, Mapping[str, object]], attempts: Sequence[Attempt]
) -> dict[str, object]:
    return {
        "objective": objective,
        "descriptors": {name: dict(descriptor) for name, descriptor in descriptors.items()},
        "attempts": [attrs.asdict(attempt) for attempt in attempts],
    }


def args_from_wire(args: object) -> WriteCall:
    """`descriptors` and `attempts` may be left out. Raises MalformedResultError."""
    fields = Fields.of(args, "").only("objective", "descriptors", "attempts")
    descriptors = Fields.of(fields.values.get("descriptors") or {}, "descriptors")
    for name, descriptor in descriptors.values.items():
        if not isinstance(descriptor, Mapping):
            raise MalformedResultError(f"descriptors.{name}", f"an object, got {got(descriptor)}")
    attempts = fields.rows("attempts") if fields.values.get("attempts") is not None else ()
    return WriteCall(
        objective=fields.text("objective"),
        descriptors={name: Fields.of(value, name).values for name, value in descriptors.values.items()},
        attempts=tuple(
            Attempt(program=row.text("program"), error=row.text("error"), stdout=row.text("stdout", ""))
            for row in attempts
        ),
    )


def result_to_wire(program: str) -> dict[str, object]:
    return {"program": program}


def result_from_wire(result: object) -> str:
    """Raises MalformedResultError."""
    return Fields.of(result, "").filled_text("program")
