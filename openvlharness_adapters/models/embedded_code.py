"""Programs without a model: the planner's closed set of objectives, each filled into a template.

A program reads the bindings that its objective names; nothing is pasted in but values that the objective itself states.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

import attrs

from openvlharness_adapters.models.planner import numbers
from openvlharness_adapters.models.planner.measures import UNDERSTOOD as MEASURES
from openvlharness_adapters.models.planner.measures import Measure, Objects, Quantity, find_measure
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
        wanted: Measure | Objective | None = find_measure(objective)
        if wanted is None:
            try:
                wanted = parse_objective(objective)
            except ValueError as error:
                message = f"objective: {error}; or {MEASURES}; got {excerpt(objective)!r}"
                raise UnsupportedQueryError(NAME, message) from None
        unknown = [binding for binding in wanted.bindings if binding not in descriptors]
        if unknown:
            known = ", ".join(sorted(descriptors)) or "none"
            raise UnsupportedQueryError(NAME, f"objective: expected bindings that exist ({known}), got {unknown[0]!r}")
        if attempts:
            raise ToolExecutionError(NAME, f"its only program for this failed: {excerpt(attempts[-1].error)}")
        program = measuring_program(wanted) if isinstance(wanted, Measure) else program_for(wanted)
        return Answered(value=program, backend=NAME)


def program_for(objective: Objective) -> str:
    """The program; it prints one line, `<what>: <value>`."""
    if objective.kind != "numbers":
        split = 'text.split("\\n")' if objective.kind == "lines" else "text.split()"
        return _COUNT.format(kind=objective.kind, texts=_texts(objective.sources), split=split).lstrip("\n")
    operation = objective.operation
    least = {"count": 0, "difference": 2}.get(operation, 1)
    return _HELPERS + _gather(objective) + _TELL.format(operation=operation, result=_RESULTS[operation], least=least)


_MEASURED: dict[Quantity, str] = {
    "areas": "int(mask.sum()) if mask is not None else (x2 - x1) * (y2 - y1)",
    "distances": "hypot((x1 + x2 - a1 - a2) / 2, (y1 + y2 - b1 - b2) / 2)",
    "gaps": "hypot(max(x1 - a2, a1 - x2, 0), max(y1 - b2, b1 - y2, 0))",
    "depths": "median_depth(mask, x1, y1, x2, y2)",
}

_HEAD = """
from math import hypot

import numpy as np

from openvlharness_core.code_helpers import decode_masks


def corners(binding, number):
    return [float(value) for value in binding["pred_boxes"][number - 1]]

"""

_DEPTH = """
plane = np.asarray({depth}["depth_meters"])


def median_depth(mask, x1, y1, x2, y2):
    if mask is not None:
        return float(np.median(plane[mask]))
    width, height = (x2 - x1) / 4, (y2 - y1) / 4
    left, top, right, bottom = (round(v) for v in (x1 + width, y1 + height, x2 - width, y2 - height))
    return float(np.median(plane[top : max(bottom, top + 1), left : max(right, left + 1)]))

"""

_EACH = """
values = []
for binding, numbers, use_masks in ({objects},):
    masks = decode_masks(binding) if use_masks else None
    for number in numbers:
        mask = masks[number - 1] if use_masks else None
        x1, y1, x2, y2 = corners(binding, number)
        values.append({value})
print("{what}:", *(f"{{value:.9g}}" for value in values))
"""


def measuring_program(measure: Measure) -> str:
    """The program; it prints one line, `<what>: <value> <value> …`."""
    start = measure.start
    begin = f"a1, b1, a2, b2 = corners({start.binding}, {start.rows[0]})" if start else ""
    depth = _DEPTH.format(depth=measure.depth) if measure.depth else ""
    each = _EACH.format(objects=_objects(measure.objects), value=_MEASURED[measure.what], what=measure.what)
    return (_HEAD + depth + begin + each).lstrip("\n")


def _objects(objects: Sequence[Objects]) -> str:
    return ", ".join(f"({each.binding}, {list(each.rows)}, {each.outline == 'masks'})" for each in objects)


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
