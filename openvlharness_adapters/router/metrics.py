"""Counters of the router in Prometheus' text format; a page of lines needs no client library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@attrs.define(eq=False)
class ToolCounters:
    """What happened to the calls of one tool.

    Attributes:
        running: calls with a seat, those whose threads are still to stop included.
        waiting: calls without one.
        seconds: time with a seat, of all finished calls.
        finished: how many there were.
        outcomes: `ok`, a failure's code, or `refused`, `left`, to how often.
    """

    running: int = 0
    waiting: int = 0
    seconds: float = 0.0
    finished: int = 0
    outcomes: dict[str, int] = attrs.field(factory=dict)

    def count(self, outcome: str) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1


def metrics_text(tools: Mapping[str, ToolCounters]) -> str:
    """The page; one sample a tool, and a code where there are several."""
    return "\n".join(_lines(tools)) + "\n"


def _lines(tools: Mapping[str, ToolCounters]) -> Iterator[str]:
    yield from _family("calls_total", "counter", "Calls that were answered, by outcome.")
    for name, counters in tools.items():
        for outcome, number in sorted(counters.outcomes.items()):
            yield _sample("calls_total", {"tool": name, "outcome": outcome}, number)
    yield from _family("errors_total", "counter", "Calls that failed.")
    for name, counters in tools.items():
        failed = sum(number for outcome, number in counters.outcomes.items() if outcome != "ok")
        yield _sample("errors_total", {"tool": name}, failed)
    yield from _family("call_seconds", "summary", "Time with a seat.")
    for name, counters in tools.items():
        yield _sample("call_seconds_sum", {"tool": name}, counters.seconds)
        yield _sample("call_seconds_count", {"tool": name}, counters.finished)
    yield from _family("running_calls", "gauge", "Calls that have a seat.")
    yield from (_sample("running_calls", {"tool": name}, each.running) for name, each in tools.items())
    yield from _family("queue_length", "gauge", "Calls that wait for a seat.")
    yield from (_sample("queue_length", {"tool": name}, each.waiting) for name, each in tools.items())


def _family(name: str, kind: str, text: str) -> Iterable[str]:
    return f"# HELP openvlharness_router_{name} {text}", f"# TYPE openvlharness_router_{name} {kind}"


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"openvlharness_router_{name}{{{pairs}}} {value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
