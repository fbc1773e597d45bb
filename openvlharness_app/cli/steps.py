"""One line a step on stderr while a question is answered."""

from __future__ import annotations

import contextlib

import click

from openvlharness_core import CompactionStep, ModelStep, ToolStep
from openvlharness_core.agent.protocol import Effect, Event
from openvlharness_core.agent.steps import Step
from openvlharness_core.texts import excerpt

_WIDTH = 100


def _say(text: str, *, fg: str | None = None, dim: bool | None = None) -> None:
    """A line on stderr; one that cannot be shown (a full or closed stderr) is no reason to lose an answer."""
    with contextlib.suppress(OSError):
        click.secho(text, err=True, fg=fg, dim=dim)


class WaitPrinter:
    """A tracer that tells of waits before another attempt, so that nobody sits before a silent terminal.

    What will go otherwise than configured, such as counting without a tokenizer, has a line too.
    """

    def event(self, question_id: str, event: Event) -> None:
        """Steps are shown as they are streamed."""

    def effect(self, question_id: str, effect: Effect) -> None:
        """Likewise."""

    def note(self, question_id: str, kind: str, text: str) -> None:
        """A line for a wait, or for a missing tokenizer."""
        if kind in {"retry_wait", "tokenizer"}:
            _say(f"    {excerpt(text, 2 * _WIDTH)}", dim=True)


class StepPrinter:
    """Shows what the model says and what its calls bring; colour only on a terminal (click sees to it)."""

    def say(self, text: str) -> None:
        """A line of our own."""
        _say(text, dim=True)

    def show(self, step: Step) -> None:
        """The line of one step; an inventory needs none."""
        match step:
            case ModelStep(text=text, calls=calls):
                if text and text.strip():
                    _say(f"{step.iteration:>2}  {excerpt(text, _WIDTH)}")
                for call in calls:
                    _say(f"{step.iteration:>2}  → {call.tool} {excerpt(call.arguments, _WIDTH)}", fg="cyan")
            case ToolStep(result=result):
                if result.failure is not None:
                    _say(f"    ✗ {result.failure.code}: {excerpt(result.failure.message, _WIDTH)}", fg="red")
                else:
                    named = [*result.artifacts.images, *result.artifacts.bindings, *result.artifacts.pages]
                    _say(f"    ✓ {', '.join(named) or 'done'} ({step.seconds:.1f} s)")
            case CompactionStep(reason=reason):
                _say(f"    older turns shortened ({reason})", dim=True)
            case _:
                pass
