"""What every CodeGenerator promises.

Subclass `CodeGeneratorContract` in a test module as `Test…` and supply a fixture `stage` that gives a
`CodeGeneratorStage`: generators of your kind, whose model behaves in one way. A generator without a model is held to
`ProgramContract` alone, whose stage makes generators that write. The tests are coroutines, for pytest-asyncio or a
runner of your own.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import copy
import math
from typing import Protocol

import pytest

from openvlharness_core.errors import BackendError, MalformedResultError
from openvlharness_core.ports.code import CodeGenerator
from openvlharness_core.results import Attempt

DESCRIPTORS = {
    "depth_map": {
        "type": "dict",
        "fields": {"depth": {"type": "ndarray float32", "shape": [480, 640], "note": "larger is farther"}},
        "image_id": "input_image_1",
    }
}
PROGRAM = "value = depth_map['depth'].mean()\nprint(value)"
TIMEOUT_SECONDS = 30.0


class WritingStage(Protocol):
    """Makes generators that write."""

    def that_writes(self, times: int) -> tuple[CodeGenerator, str]:
        """A generator that writes so many programs, and an objective over `DESCRIPTORS` that it has programs for."""
        ...


class CodeGeneratorStage(WritingStage, Protocol):
    """Makes generators whose model says what a test needs."""

    def that_hears(self, *texts: str) -> CodeGenerator:
        """A generator whose model answers with each text in turn, 7 `completion_tokens` a reply."""
        ...

    def that_hears_nothing(self) -> CodeGenerator:
        """A generator whose model cannot be reached."""
        ...

    def shown(self) -> str:
        """All the text that the model of the last generator has been shown."""
        ...


class ProgramContract:
    """What holds whoever writes."""

    async def test_what_is_written_is_python(self, stage: WritingStage) -> None:
        generator, objective = stage.that_writes(1)
        answered = await generator.write(objective, DESCRIPTORS, timeout_seconds=TIMEOUT_SECONDS)
        assert ast.parse(answered.value).body
        assert answered.backend

    async def test_usage_is_told_as_spent_on_coding(self, stage: WritingStage) -> None:
        generator, objective = stage.that_writes(1)
        answered = await generator.write(objective, DESCRIPTORS, timeout_seconds=TIMEOUT_SECONDS)
        for spent in answered.usage:
            assert spent.role == "coding"
            assert all(math.isfinite(number) for number in spent.usage.values())

    async def test_what_it_is_given_is_left_as_it_was(self, stage: WritingStage) -> None:
        generator, objective = stage.that_writes(1)
        given = copy.deepcopy(DESCRIPTORS)
        attempts = [Attempt(program="print(n)", error="NameError: n", stdout="")]
        with contextlib.suppress(BackendError):  # whoever has one program only has nothing better than what failed
            await generator.write(objective, given, attempts, timeout_seconds=TIMEOUT_SECONDS)
        assert given == DESCRIPTORS
        assert attempts == [Attempt(program="print(n)", error="NameError: n", stdout="")]

    async def test_several_may_be_written_at_a_time(self, stage: WritingStage) -> None:
        generator, objective = stage.that_writes(3)
        writing = (generator.write(objective, DESCRIPTORS, timeout_seconds=TIMEOUT_SECONDS) for _ in range(3))
        first, *others = await asyncio.gather(*writing)
        assert [other.value for other in others] == [first.value] * 2


class CodeGeneratorContract(ProgramContract):
    """See the module."""

    @pytest.mark.parametrize(
        "reply",
        [
            f"Here it is.\n```python\n{PROGRAM}\n```\nIt prints the mean.",
            f"```json\n{{}}\n```\n\n```python\n{PROGRAM}\n```",
            f"```\n{PROGRAM}\n```",
            f"~~~~py\n{PROGRAM}\n~~~~",
            f"```python\r\n{PROGRAM}\r\n```".replace("\n", "\r\n").replace("\r\r", "\r"),
            PROGRAM,
        ],
        ids=["fenced", "second fence", "no language", "tildes", "carriage returns", "bare"],
    )
    async def test_the_program_of_a_reply(self, stage: CodeGeneratorStage, reply: str) -> None:
        answered = await stage.that_hears(reply).write("Mean depth?", DESCRIPTORS, timeout_seconds=TIMEOUT_SECONDS)
        assert ast.dump(ast.parse(answered.value)) == ast.dump(ast.parse(PROGRAM))
        assert answered.backend

    async def test_what_was_spent_is_told(self, stage: CodeGeneratorStage) -> None:
        answered = await stage.that_hears(PROGRAM).write("Mean depth?", DESCRIPTORS, timeout_seconds=TIMEOUT_SECONDS)
        assert [(spent.role, spent.usage["completion_tokens"]) for spent in answered.usage] == [("coding", 7)]

    @pytest.mark.parametrize("reply", ["", "  \n", "I cannot do that.", "```python\n\n```"])
    async def test_no_program_is_a_malformed_result(self, stage: CodeGeneratorStage, reply: str) -> None:
        with pytest.raises(MalformedResultError) as caught:
            await stage.that_hears(reply).write("Mean depth?", DESCRIPTORS, timeout_seconds=TIMEOUT_SECONDS)
        assert caught.value.field == "program"
        assert [(spent.role, spent.usage["completion_tokens"]) for spent in caught.value.usage] == [("coding", 7)]

    async def test_no_reply_is_a_failing_backend(self, stage: CodeGeneratorStage) -> None:
        with pytest.raises(BackendError):
            await stage.that_hears_nothing().write("Mean depth?", DESCRIPTORS, timeout_seconds=TIMEOUT_SECONDS)

    async def test_the_model_is_shown_what_a_writer_must_know(self, stage: CodeGeneratorStage) -> None:
        generator = stage.that_hears(PROGRAM)
        await generator.write("Mean depth of the cup?", DESCRIPTORS, timeout_seconds=TIMEOUT_SECONDS)
        for fact in ("Mean depth of the cup?", "depth_map", "ndarray float32", "480", "640", "larger is farther"):
            assert fact in stage.shown()

    async def test_earlier_attempts_are_shown(self, stage: CodeGeneratorStage) -> None:
        attempt = Attempt(program="print(depth_mop)", error="NameError: depth_mop", stdout="half way")
        generator = stage.that_hears(PROGRAM)
        await generator.write("Mean depth?", DESCRIPTORS, (attempt,), timeout_seconds=TIMEOUT_SECONDS)
        for fact in ("print(depth_mop)", "NameError: depth_mop", "half way"):
            assert fact in stage.shown()
