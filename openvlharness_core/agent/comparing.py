"""Where two records of the same question differ, by the place that a reader of `report.json` would look up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from openvlharness_core.agent.report import step_to_dict
from openvlharness_core.agent.steps import ModelStep, Step
from openvlharness_core.texts import excerpt

NOTHING = "nothing"
"""Stands for a value that one of the two does not have."""
_AROUND = 24  # characters shown around the first difference of two texts


@attrs.frozen(kw_only=True)
class Difference:
    """One value that is not what was recorded.

    Attributes:
        place: where in the report, such as `steps[4].evidence[0].text`.
        recorded: what the report says there.
        today: what comes out now.
        position: of two texts, the first character that differs, from 0.
    """

    place: str
    recorded: object
    today: object
    position: int | None = None

    def __str__(self) -> str:
        where = self.place if self.position is None else f"{self.place}, character {self.position}"
        return f"{where}: recorded {self._shown(self.recorded)}, today {self._shown(self.today)}"

    def _shown(self, value: object) -> str:
        if self.position is None or not isinstance(value, str):
            return excerpt(repr(value), 120)
        start = max(0, self.position - _AROUND)
        return excerpt(repr(value[start : self.position + _AROUND]), 120)


def differences(recorded: object, today: object, place: str) -> Iterator[Difference]:
    """Every leaf in which two JSON values differ, and every key or item that only one of them has."""
    if isinstance(recorded, dict) and isinstance(today, dict):
        for key in (*recorded, *(key for key in today if key not in recorded)):
            below = f"{place}.{key}" if place else str(key)
            if key not in recorded or key not in today:
                yield Difference(place=below, recorded=recorded.get(key, NOTHING), today=today.get(key, NOTHING))
            else:
                yield from differences(recorded[key], today[key], below)
    elif isinstance(recorded, list) and isinstance(today, list):
        shared = min(len(recorded), len(today))
        for position in range(shared):
            yield from differences(recorded[position], today[position], f"{place}[{position}]")
        for position, item in enumerate(recorded[shared:], shared):
            yield Difference(place=f"{place}[{position}]", recorded=item, today=NOTHING)
        for position, item in enumerate(today[shared:], shared):
            yield Difference(place=f"{place}[{position}]", recorded=NOTHING, today=item)
    elif isinstance(recorded, str) and isinstance(today, str):
        if recorded != today:
            yield Difference(place=place, recorded=recorded, today=today, position=_first_difference(recorded, today))
    elif recorded != today or isinstance(recorded, bool) != isinstance(today, bool):
        yield Difference(place=place, recorded=recorded, today=today)


def _first_difference(left: str, right: str) -> int:
    pairs = zip(left, right, strict=False)
    return next((position for position, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


def step_differences(recorded: Sequence[Step], today: Sequence[Step]) -> Iterator[Difference]:
    """Compare two trajectories turn by turn, so that a step more or less puts the turns behind it out of no place."""
    theirs, ours = turns_of(recorded), turns_of(today)
    for number in range(max(len(theirs), len(ours))):
        then = theirs[number] if number < len(theirs) else []
        now = ours[number] if number < len(ours) else []
        behind = then[-1][0] + 1 if then else len(recorded)
        for offset in range(max(len(then), len(now))):
            position = then[offset][0] if offset < len(then) else behind + offset - len(then)
            was = step_to_dict(then[offset][1], position) if offset < len(then) else NOTHING
            is_now = step_to_dict(now[offset][1], position) if offset < len(now) else NOTHING
            yield from _step_differences(was, is_now, f"steps[{position}]")


def _step_differences(
    recorded: dict[str, object] | str, today: dict[str, object] | str, place: str
) -> Iterator[Difference]:
    kinds = [step["kind"] if isinstance(step, dict) else step for step in (recorded, today)]
    if kinds[0] != kinds[1]:
        yield Difference(place=f"{place}.kind", recorded=kinds[0], today=kinds[1])
    else:
        yield from differences(recorded, today, place)


def turns_of(steps: Sequence[Step]) -> list[list[tuple[int, Step]]]:
    """Steps with their positions, in groups: what came before the first reply, then each reply with what followed it."""
    turns: list[list[tuple[int, Step]]] = [[]]
    for position, step in enumerate(steps):
        if isinstance(step, ModelStep):
            turns.append([])
        turns[-1].append((position, step))
    return turns
