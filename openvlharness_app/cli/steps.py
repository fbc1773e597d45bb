"""One line a step on stderr while a question is answered."""

from __future__ import annotations

import click

from openvlharness_core import CompactionStep, ModelStep, ToolStep
from openvlharness_core.agent.steps import Step
from openvlharness_core.texts import excerpt

_WIDTH = 100


class StepPrinter:
    """Shows what the model says and what its calls bring; colour only on a terminal (click sees to it)."""

    def say(self, text: str) -> None:
        """A line of our own."""
        click.secho(text, err=True, dim=True)

    def show(self, step: Step) -> None:
        """The line of one step; an inventory needs none."""
        match step:
            case ModelStep(text=text, calls=calls):
                if text and text.strip():
                    click.echo(f"{step.iteration:>2}  {excerpt(text, _WIDTH)}", err=True)
                for call in calls:
                    click.secho(
                        f"{step.iteration:>2}  → {call.tool} {excerpt(call.arguments, _WIDTH)}", err=True, fg="cyan"
                    )
            case ToolStep(result=result):
                if result.failure is not None:
                    click.secho(
                        f"    ✗ {result.failure.code}: {excerpt(result.failure.message, _WIDTH)}", err=True, fg="red"
                    )
                else:
                    named = [*result.artifacts.images, *result.artifacts.bindings, *result.artifacts.pages]
                    click.echo(f"    ✓ {', '.join(named) or 'done'} ({step.seconds:.1f} s)", err=True)
            case CompactionStep(reason=reason):
                click.secho(f"    older turns shortened ({reason})", err=True, dim=True)
            case _:
                pass
