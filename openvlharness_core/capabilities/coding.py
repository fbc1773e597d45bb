"""Coding: an objective in plain language becomes a program over the bindings, and the program is run.

The writer sees descriptors only, the executor values only. A program that fails is a successful call that reports an
execution error: the model can ask again in other words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import attrs

from openvlharness_core.calls import Findings, NewImage, Registered
from openvlharness_core.capabilities.answered import value_of
from openvlharness_core.capabilities.base import object_schema
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.errors import BackendError, MalformedResultError, UnreadableImageError
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ImagePart, Part, TextPart
from openvlharness_core.ports.code import CodeExecutor, CodeGenerator
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.results import Outcome
from openvlharness_core.texts import bounded, clean_text, excerpt

PROGRAM_LIMIT = 6000
OUTPUT_LIMIT = 6000
STDERR_LIMIT = 2000
ERROR_LIMIT = 2000
"""Characters that the model is shown of each; the report holds what the executor kept."""
FIGURES_LIMIT = 16
"""Pictures of one program that are registered and shown."""
GRACE_SECONDS = 5.0
"""How much later than its own deadline an executor may answer before it counts as gone."""

_PARAMETERS = object_schema(
    {
        "objective": {
            "type": "string",
            "minLength": 1,
            "description": "What to compute, in plain language, naming the data bindings to use and what to print.",
        }
    },
    ("objective",),
)


@attrs.frozen(kw_only=True)
class CodingCapability:
    """Has a program written for an objective and runs it over the values in memory.

    Canonical data: `objective`, `program`, `stdout`, `stderr`, `variables` (name to preview), `execution_error` (null
    when the program ran to its end), `timed_out`, `seconds`. Pictures it saved are registered; variables are not.
    """

    generator: CodeGenerator
    executor: CodeExecutor
    generation_timeout_seconds: float = 600.0
    deadline_seconds: float = 30.0
    key: str = attrs.field(default="coding", init=False)
    name: str = attrs.field(default="Python_Coding_Agent_Tool", init=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        return _PARAMETERS

    def description(self, prompts: PromptBundle) -> str:
        return prompts.text("tool_coding")

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        objective = str(arguments["objective"])
        written = await hands.within(
            self.generation_timeout_seconds,
            "coding",
            self.generator.write(
                objective, hands.workspace.descriptors(), timeout_seconds=self.generation_timeout_seconds
            ),
        )
        program = clean_text(value_of(written, str, "coding"))
        if not program.strip():
            raise MalformedResultError("coding value", "a program, got a blank", usage=written.usage)
        try:
            outcome = await self._run(program, hands)
        except BackendError as error:  # the program was paid for all the same
            raise type(error)(error.backend, error.reason, usage=(*written.usage, *error.usage)) from None
        except MalformedResultError as error:
            usage = (*written.usage, *error.usage)
            raise MalformedResultError(error.field, error.expected, usage=usage) from error
        data = {"objective": objective, "program": program} | _outcome_data(outcome)
        return Findings.of(written, data, images=await _pictures(outcome, hands))

    async def _run(self, program: str, hands: Hands) -> Outcome:
        """Run the program, and look at what the executor hands back: it comes without a wrapper."""
        outcome: object = await hands.within(
            self.deadline_seconds + GRACE_SECONDS,
            "coding",
            self.executor.run(program, hands.workspace.values(), self.deadline_seconds),
        )
        if not isinstance(outcome, Outcome):
            raise MalformedResultError("outcome", f"an Outcome, got {type(outcome).__name__}")
        return outcome

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        data, whole = findings.data, "the report of this call"
        stdout, stderr, error = str(data["stdout"]), str(data["stderr"]), data["execution_error"]
        variables = cast("Mapping[str, str]", data["variables"])
        blocks = [prompts.text("coding_program", program=bounded(str(data["program"]), PROGRAM_LIMIT, whole))]
        if stdout.strip():
            blocks.append(prompts.text("coding_output", output=bounded(stdout.rstrip("\n"), OUTPUT_LIMIT, whole)))
        else:
            blocks.append(prompts.text("coding_no_output"))
        if error is not None:
            blocks.append(prompts.text("coding_error", error=bounded(str(error), ERROR_LIMIT, whole)))
        if stderr.strip():
            blocks.append(prompts.text("coding_stderr", stderr=bounded(stderr, STDERR_LIMIT, whole)))
        if variables:
            lines = "\n".join(f"{name} = {preview}" for name, preview in variables.items())
            blocks.append(prompts.text("coding_variables", variables=bounded(lines, OUTPUT_LIMIT, whole)))
        parts: list[Part] = [TextPart(text="\n\n".join(blocks))]
        for handle in registered.images:
            picture = workspace.images.resolve(handle).picture
            assert picture is not None
            parts.append(TextPart(text=prompts.text("coding_image", handle=handle)))
            parts.append(ImagePart(handle=handle, image=picture.sent))
        return tuple(parts)


def _outcome_data(outcome: Outcome) -> dict[str, object]:
    return {
        "stdout": clean_text(outcome.stdout),
        "stderr": clean_text(outcome.stderr),
        "variables": {clean_text(name): clean_text(preview) for name, preview in outcome.variables.items()},
        "execution_error": None if outcome.error is None else clean_text(outcome.error),
        "timed_out": outcome.timed_out,
        "seconds": round(float(outcome.seconds), 6),
    }


async def _pictures(outcome: Outcome, hands: Hands) -> tuple[NewImage, ...]:
    """The pictures of a program that can be shown; others are noted in the trace, since the program did run."""
    images = []
    for name, _ in outcome.images[FIGURES_LIMIT:]:
        hands.note("picture_refused", f"{excerpt(name)}: more than {FIGURES_LIMIT} pictures")
    for name, data in outcome.images[:FIGURES_LIMIT]:
        try:
            images.append(NewImage(picture=await hands.take_in(data)))
        except UnreadableImageError as error:
            hands.note("picture_refused", f"{excerpt(name)}: {error}")
    return tuple(images)
