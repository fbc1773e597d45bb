"""Programs without a model: the planner's closed set of objectives, each filled into a template.

A program reads the bindings that its objective names; nothing is pasted in but values that the objective itself states.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

import attrs

from openvlharness_adapters.models.planner import numbers
from openvlharness_adapters.models.planner.objectives import Objective, Operation, Source, parse_objective
from openvlharness_core.errors import ToolExecutionError, UnsupportedQueryError
from openvlharness_core.results import Answered, Attempt
from openvlharness_core.texts import excerpt

NAME = "embedded_code"

_RESULTS: dict[Operation, str] = {
    "sum": "sum(numbers)",
    "average": "sum(numbers) / len(numbers)",
    "largest": "max(numbers)",
    "smallest": "min(numbers)",
    "difference": "numbers[0] - numbers[1]",
    "count": "Decimal(len(numbers))",
}

_VALUES = """
values = {values!r}
mark = decimal_mark("\\n".join(values))
numbers = [find_number(value, mark) for value in values]
unclear = [value for value, number in zip(values, numbers) if number is None]
"""

_ALL = """
numbers, unclear = [], []
for text in ({texts},):
    found, doubtful = numbers_of(text)
    numbers += found
    unclear += doubtful
"""

_ON_LINES = """
numbers, unclear = [], []
for text, chosen in ({pairs},):
    lines, mark = text.split("\\n"), decimal_mark(text)
    for position in chosen:
        found, doubtful = numbers_of(lines[position - 1], mark)
        if not found:
            raise ValueError(f"line {{position}} holds no number: {{lines[position - 1]!r}}")
        numbers.append(found[-1])
"""

_TELL = """
if unclear:
    print("unclear:", *unclear)
elif len(numbers) < {least}:
    print("too few numbers:", len(numbers))
else:
    print("{operation}:", shown({result}))
"""

_COUNT = """
{kind} = [part for text in ({texts},) for part in {split} if part.strip()]
print("count:", len({kind}))
"""


@attrs.frozen(kw_only=True)
class TemplateCodeGenerator:
    """The `CodeGenerator` that needs no model."""

    async def write(
        self,
        objective: str,
        descriptors: Mapping[str, Mapping[str, object]],
        attempts: Sequence[Attempt] = (),
        *,
        timeout_seconds: float,
    ) -> Answered[str]:
        """See `CodeGenerator`.

        Raises:
            UnsupportedQueryError: an objective outside the set, or a binding that does not exist.
            ToolExecutionError: the program for this objective was tried and failed; there is no other.
        """
        try:
            wanted = parse_objective(objective)
        except ValueError as error:
            raise UnsupportedQueryError(NAME, f"objective: {error}; got {excerpt(objective)!r}") from None
        unknown = [source.binding for source in wanted.sources if source.binding not in descriptors]
        if unknown:
            known = ", ".join(sorted(descriptors)) or "none"
            raise UnsupportedQueryError(NAME, f"objective: expected bindings that exist ({known}), got {unknown[0]!r}")
        if attempts:
            raise ToolExecutionError(NAME, f"its only program for this failed: {excerpt(attempts[-1].error)}")
        return Answered(value=program_for(wanted), backend=NAME)


def program_for(objective: Objective) -> str:
    """The program; it prints one line, `<what>: <value>`."""
    if objective.kind != "numbers":
        split = 'text.split("\\n")' if objective.kind == "lines" else "text.split()"
        return _COUNT.format(kind=objective.kind, texts=_texts(objective.sources), split=split).lstrip("\n")
    operation = objective.operation
    least = {"count": 0, "difference": 2}.get(operation, 1)
    return _HELPERS + _gather(objective) + _TELL.format(operation=operation, result=_RESULTS[operation], least=least)


def _gather(objective: Objective) -> str:
    if objective.values:
        return _VALUES.format(values=list(objective.values))
    if objective.sources[0].lines is None:
        return _ALL.format(texts=_texts(objective.sources))
    pairs = ", ".join(f'({source.binding}["text"], {list(source.lines or ())})' for source in objective.sources)
    return _ON_LINES.format(pairs=pairs)


def _texts(sources: tuple[Source, ...]) -> str:
    return ", ".join(f'{source.binding}["text"]' for source in sources)


_HELPERS = inspect.getsource(numbers).split('"""', 2)[2].lstrip("\n")
