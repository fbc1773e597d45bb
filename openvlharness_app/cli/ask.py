"""`openvlharness ask`: one question, from the command line to its answer."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from openvlharness_app.cli.options import chosen_settings, configuration_options, fail, print_json

if TYPE_CHECKING:
    from openvlharness_app.container import AgentContainer
    from openvlharness_app.settings import Settings
    from openvlharness_core import Cancellation, Question, Report

_PICTURE_NAME = re.compile(r"\S+\.(?:jpe?g|png|webp|gif|bmp|tiff?|avif|heic)", re.IGNORECASE)
_EMBEDDED_NOTICE = (
    "A small rule-based planner decides here; a real model gives real reasoning (openvlharness init openai_compatible)."
)


@click.command()
@click.argument("parts", nargs=-1, metavar="[IMAGE]... QUESTION")
@configuration_options
@click.option("--out", metavar="DIR", help="Write the report, its pictures and its arrays there.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole report instead of the bare answer.")
@click.option("--task-id", metavar="ID", help="Name the question; reports and sampling seeds carry it.")
@click.option("--quiet", is_flag=True, help="Show no steps.")
@click.option(
    "--save-raw-trace", is_flag=True, help="With --out: also the model's replies with token ids (Qwen3-VL 8B)."
)
def command(
    parts: tuple[str, ...],
    config: str | None,
    preset: str | None,
    out: str | None,
    as_json: bool,
    task_id: str | None,
    quiet: bool,
    save_raw_trace: bool,
) -> None:
    """Answer QUESTION about the IMAGEs: files, http(s) URLs or data URLs.

    Exit code 0: answered. 1: not answered. 2: bad usage, picture or configuration, or a report that cannot be written.
    """
    from openvlharness_app.building.models import profile_of
    from openvlharness_app.cli.steps import WaitPrinter
    from openvlharness_app.container import build_container
    from openvlharness_app.raw_tracing import Recording, traced_settings
    from openvlharness_core import HarnessError

    if save_raw_trace and out is None:
        raise click.UsageError("--save-raw-trace: expected --out DIR, where the trace goes beside the report")
    question = _question(parts)
    printer = None if quiet else WaitPrinter()
    recording = Recording(printer) if save_raw_trace else None
    try:
        settings = chosen_settings(config, preset)
        container = build_container(traced_settings(settings) if save_raw_trace else settings)
        if (tracer := printer if recording is None else recording.tracer) is not None:
            container.tracer.override(tracer)
        if out is not None:
            _check_writable(out)
        report = asyncio.run(_answer(container, question, task_id, show=not quiet))
    except HarnessError as error:
        fail(str(error))
    if as_json:
        print_json(report.to_dict())
    elif report.answer is not None:
        click.echo(report.answer)
    if out is not None:  # behind the answer, which has been paid for whatever becomes of the report
        raw_trace = {} if recording is None else recording.export(report, profile_of(settings))
        _save(report, settings, out, raw_trace)
    if report.answer is None:
        reason = report.error.message if report.error else report.stop_reason
        fail(f"no answer ({report.stop_reason}): {reason}", 1)


def _question(parts: tuple[str, ...]) -> Question:
    import os

    from openvlharness_app.inputs import image_input
    from openvlharness_core import HarnessError, Question

    if not parts:
        raise click.UsageError("expected IMAGE... QUESTION, got nothing")
    *images, text = parts
    if os.path.exists(text) or _PICTURE_NAME.fullmatch(text.strip()):
        raise click.UsageError(f"expected a question as the last argument, got what looks like a picture: {text}")
    try:
        return Question(text=text, images=[image_input(image) for image in images])
    except HarnessError as error:
        fail(str(error))


async def _answer(container: AgentContainer, question: Question, task_id: str | None, *, show: bool) -> Report:
    from openvlharness_app.agent import open_agent
    from openvlharness_app.cli.steps import StepPrinter
    from openvlharness_core import Cancellation, Finished

    printer = StepPrinter() if show else None
    if printer is not None and container.profile().adapter == "embedded":
        printer.say(_EMBEDDED_NOTICE)
    cancellation = Cancellation()
    async with open_agent(container) as agent:
        _cancel_on_interrupt(cancellation)
        async for step in agent.stream(question, task_id=task_id, cancellation=cancellation):
            if isinstance(step, Finished):
                return step.report
            if printer is not None:
                printer.show(step)
    raise AssertionError("a stream ends with its report")


def _cancel_on_interrupt(cancellation: Cancellation) -> None:
    """The first Ctrl-C ends the question with a report of what there is; the second one ends the process."""
    loop = asyncio.get_running_loop()

    def cancel() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        cancellation.cancel()

    try:
        loop.add_signal_handler(signal.SIGINT, cancel)
    except (NotImplementedError, RuntimeError, ValueError):  # no such handlers here (Windows, another thread)
        return


def _check_writable(out: str) -> None:
    """Fail before anything is asked, not after an answer has been paid for."""
    import os

    if not out.strip():
        raise click.UsageError("--out: expected a directory, got nothing")
    if os.path.exists(out) and not os.path.isdir(out):
        fail(f"--out: expected a directory, got the file {out}")
    existing = os.path.abspath(out)
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing) or not os.access(existing, os.W_OK | os.X_OK):
        fail(f"--out: expected a directory that can be written, got {out}")


def _save(report: Report, settings: Settings, out: str, raw_trace: Mapping[str, bytes]) -> None:
    """Write the report; Ctrl-C waits until it is whole. A trace that could not be made does not change the outcome."""
    from openvlharness_app.raw_tracing import find_problem
    from openvlharness_app.reports import save_report
    from openvlharness_core import SavedFileError

    with _uninterrupted():
        try:
            save_report(report, out, settings=settings, raw_trace=raw_trace)
        except SavedFileError as error:
            fail(str(error))
    click.echo(f"report: {out}", err=True)
    if (problem := find_problem(raw_trace)) is not None:
        click.echo(f"no raw trace: {problem}", err=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # only the main thread may say so, and only it is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
