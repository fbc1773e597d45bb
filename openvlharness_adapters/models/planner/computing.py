"""Having the coding tool compute something, and reading what it printed."""

from __future__ import annotations

from openvlharness_adapters.models.planner.looks import CODING, Answer, Call, Cannot, Plan, made
from openvlharness_adapters.models.planner.measures import Measure
from openvlharness_adapters.models.planner.objectives import Objective, Operation


def run_objective(objective: Objective, over: str) -> Plan[Answer]:
    """What a program computes. Raises Cannot if it does not say."""
    call = Call(tool=CODING, arguments={"objective": objective.sentence}, reason=f"Computing over {over}.")
    output = (yield from made(call)).output
    what, _, value = (output or "").strip().partition(": ")
    if what == objective.operation and value:
        return Answer(text=value, grounds=f"A program computed this over {over}.")
    if what in ("unclear", "too few numbers"):
        raise Cannot(f"the program could not tell the numbers ({what}: {value})")
    raise Cannot("the program did not print a result")


def count_of(operation: Operation, counts: tuple[int, ...], over: str) -> Plan[int]:
    """The sum of counts, or their difference, by a program."""
    objective = Objective(operation=operation, values=tuple(map(str, counts)))
    answer = yield from run_objective(objective, over)
    try:
        return int(answer.text)
    except ValueError:
        raise Cannot(f"the program printed {answer.text}, which is no count") from None


def run_measure(measure: Measure, over: str) -> Plan[list[float]]:
    """The measured values, in the order of the measure's objects."""
    call = Call(tool=CODING, arguments={"objective": measure.sentence}, reason=f"Measuring {over}.")
    output = (yield from made(call)).output
    what, _, values = (output or "").strip().partition(": ")
    try:
        found = [float(value) for value in values.split()]
    except ValueError:
        found = []
    if what != measure.what or len(found) != measure.length:
        raise Cannot("the program did not print what was to be measured")
    return found
