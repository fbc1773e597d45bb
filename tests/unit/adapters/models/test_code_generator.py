"""The single-shot generator: what it asks, where it finds the program, and what it makes of a model that fails."""

from __future__ import annotations

import asyncio

import pytest

from openvlharness_adapters.models.code_generator import SingleShotGenerator, descriptor_lines, find_program
from openvlharness_core.errors import (
    BackendTimeoutError,
    BackendUnavailableError,
    ContextLengthError,
    MalformedResultError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from openvlharness_core.messages import ModelReply, ModelRequest, SystemMessage, UserMessage
from openvlharness_core.results import Attempt
from openvlharness_core.testing import FakeClock, ScriptedModel, calling, plain_prompts, saying

PROMPTS = plain_prompts(
    code_system="Write programs.",
    code_request="Objective: $objective\n\n$bindings",
    code_no_bindings="There are no bindings.",
    code_revision="Tried:\n$program\nFailed:\n$error\nPrinted:\n$output",
)


def generator(*replies: ModelReply | Exception) -> tuple[SingleShotGenerator, ScriptedModel]:
    model = ScriptedModel(list(replies))
    return SingleShotGenerator(model=model, prompts=PROMPTS, model_name="configured"), model


async def test_the_context_is_fresh_and_without_tools() -> None:
    writer, model = generator(saying("```python\nprint(1)\n```"))
    answered = await writer.write("Count \ud83d the cups", {}, timeout_seconds=10)
    assert answered.value == "print(1)\n"
    [request] = model.requests
    assert request == ModelRequest(
        messages=(
            SystemMessage(text="Write programs."),
            UserMessage.of_text("Objective: Count \ufffd the cups\n\nThere are no bindings."),
        )
    )


async def test_attempts_follow_the_request_in_the_same_message() -> None:
    writer, model = generator(saying("```python\nprint(1)\n```"))
    long = "a" * 3000 + "b" * 3000
    attempts = (Attempt(program="one()", error="E1", stdout=long), Attempt(program="two()", error="E2"))
    await writer.write("Count", {"x": {"type": "dict"}}, attempts, timeout_seconds=10)
    [message] = model.requests[0].messages[1:]
    shortened = "a" * 2000 + "\n[… 2000 characters left out …]\n" + "b" * 2000
    assert message == UserMessage.of_text(
        "Objective: Count\n\nx: dict\n\n"
        f"Tried:\none()\nFailed:\nE1\nPrinted:\n{shortened}\n\n"
        "Tried:\ntwo()\nFailed:\nE2\nPrinted:\n"
    )


def test_bindings_are_told_as_a_program_reaches_them() -> None:
    told = descriptor_lines(
        {
            "depth": {
                "type": "dict",
                "fields": {
                    "values": {"type": "ndarray float32", "shape": [3, 4], "note": "metres"},
                    "masks": {"type": "list", "length": 134, "of": "dict", "keys": ["size", "counts"]},
                },
                "image_id": "input_image_1",
            },
            "other": {"type": "dict", "fields": {}, "image_id": None},
        }
    )
    assert told.splitlines() == [
        "depth: dict; image_id input_image_1",
        '  depth["values"]: ndarray float32; shape [3, 4]; note metres',
        '  depth["masks"]: list; length 134; of dict; keys ["size", "counts"]',
        "other: dict",
    ]


@pytest.mark.parametrize(("named", "told"), [(None, "configured"), ("served", "served")])
async def test_usage_says_which_model(named: str | None, told: str) -> None:
    writer, _ = generator(saying("x = 1", usage={"completion_tokens": 3}, model=named))
    answered = await writer.write("Count", {}, timeout_seconds=10)
    [spent] = answered.usage
    assert (spent.role, spent.model, spent.usage) == ("coding", told, {"completion_tokens": 3})


@pytest.mark.parametrize(
    ("reply", "got"),
    [
        (saying(None), "no text (finish reason stop)"),
        (calling("Zoom_In_Tool", {}), "a tool call"),
        (saying("I cannot do that."), "text: 'I cannot do that.'"),
        (ModelReply(text="```python\nprint(", finish_reason="length"), "text cut off at its end: '```python print('"),
    ],
)
async def test_a_reply_without_a_program_says_what_came(reply: ModelReply, got: str) -> None:
    writer, _ = generator(reply)
    with pytest.raises(MalformedResultError) as caught:
        await writer.write("Count", {}, timeout_seconds=10)
    assert str(caught.value) == f"program: expected a fenced block of Python, got {got}"
    assert [spent.role for spent in caught.value.usage] == ["coding"]


@pytest.mark.parametrize("kind", [ModelUnavailableError, ModelRefusedError, ContextLengthError])
async def test_a_failing_model_is_an_unavailable_backend(kind: type[ModelError]) -> None:
    writer, _ = generator(kind("http_400", "too long"))
    with pytest.raises(BackendUnavailableError) as caught:
        await writer.write("Count", {}, timeout_seconds=10)
    assert caught.value.reason == "http_400: too long"


async def test_the_clock_ends_a_call() -> None:
    left = asyncio.Event()

    class Silent:
        async def complete(self, request: ModelRequest) -> ModelReply:
            try:
                never: asyncio.Future[ModelReply] = asyncio.get_running_loop().create_future()
                return await never
            finally:
                left.set()

    clock = FakeClock()
    writer = SingleShotGenerator(model=Silent(), prompts=PROMPTS, clock=clock)
    task = asyncio.ensure_future(writer.write("Count", {}, timeout_seconds=600))
    await clock.advance(599)
    assert not task.done()
    await clock.advance(1)
    with pytest.raises(BackendTimeoutError, match="600 seconds"):
        await task
    assert left.is_set()


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```json\n[1]\n```\n```python\na\n```\n```python\nb\n```", "a\n"),
        ("```bash\npip install x\n```\n```\nb\n```", "b\n"),
        ("```text\nc = 1\n```", "c = 1\n"),
        ("```Python3 title=x\na\n```", "a\n"),
        ("``` python\na\n```", "a\n"),
        ("````python\ns = '''\n```\n'''\n````", "s = '''\n```\n'''\n"),
        ("~~~python\n```\n~~~", "```\n"),
        ("   ```python\n   a\n   ```", "   a\n"),
        ("```python\nx = 1", "x = 1\n"),
        ("```python\nx = (", None),
        ("```python\n```\n```python\na\n```", "a\n"),
        ("Use ```x``` inline.\n```python\na\n```", "a\n"),
        ("```x```", None),
        ("s = 'a\u2028b\x0c'", "s = 'a\u2028b\x0c'"),
        ("pattern = '\\d'", "pattern = '\\d'"),
        ("# nothing but a remark", None),
        ("a\0b", None),
        ("(" * 5000, None),
        ("", None),
    ],
)
def test_where_the_program_is(text: str, program: str | None) -> None:
    assert find_program(text) == program
