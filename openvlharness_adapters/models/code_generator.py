"""Asking a chat model for a program, in a conversation of its own: what the agent said and saw is not in it."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence

import attrs

from openvlharness_core.errors import BackendTimeoutError, BackendUnavailableError, MalformedResultError, ModelError
from openvlharness_core.messages import ModelReply, ModelRequest, SystemMessage, UserMessage
from openvlharness_core.ports.clock import Clock
from openvlharness_core.ports.model import ChatModel
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.results import Answered, Attempt
from openvlharness_core.texts import clean_text, excerpt
from openvlharness_core.usage import Spent
from openvlharness_core.waiting import within

BACKEND = "python_coding_agent"

_SHOWN_ATTEMPT_CHARACTERS = 4000
_PYTHON = {"python", "python3", "py"}
_FENCE = re.compile(r"^ {0,3}(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[^\s`{]*)[^`]*$")


@attrs.frozen(kw_only=True)
class SingleShotGenerator:
    """One request, one program.

    Attributes:
        model: who writes; it brings its own retries and options.
        prompts: the texts `code_system`, `code_request`, `code_no_bindings` and `code_revision`.
        model_name: what the usage is told under, where the provider does not say which model it was.
        clock: keeps the time limit of a call; without one the model's own limits have to do.
    """

    model: ChatModel
    prompts: PromptBundle
    model_name: str | None = None
    clock: Clock | None = None

    async def write(
        self,
        objective: str,
        descriptors: Mapping[str, Mapping[str, object]],
        attempts: Sequence[Attempt] = (),
        *,
        timeout_seconds: float,
    ) -> Answered[str]:
        """Return the program of the reply's first fenced block of Python, of any fenced block, or the whole text.

        Raises:
            BackendUnavailableError: the model gave no reply.
            BackendTimeoutError: none within `timeout_seconds`, where there is a clock.
            MalformedResultError: a reply without a program.
        """
        request = ModelRequest(messages=self._messages(objective, descriptors, attempts))
        asking = self.model.complete(request)
        try:
            reply = await (asking if self.clock is None else within(self.clock, timeout_seconds, asking))
        except ModelError as fault:
            raise BackendUnavailableError(BACKEND, f"{fault.code}: {fault.message}") from fault
        except TimeoutError:
            raise BackendTimeoutError(BACKEND, f"no program within {timeout_seconds:g} seconds") from None
        usage = (Spent(role="coding", model=reply.model or self.model_name, usage=reply.usage),)
        program = find_program(clean_text(reply.text or ""))
        if program is None:
            raise MalformedResultError("program", f"a fenced block of Python, got {_got(reply)}", usage=usage)
        return Answered(value=program, backend=BACKEND, usage=usage)

    def _messages(
        self, objective: str, descriptors: Mapping[str, Mapping[str, object]], attempts: Sequence[Attempt]
    ) -> tuple[SystemMessage, UserMessage]:
        bindings = descriptor_lines(descriptors) if descriptors else self.prompts.text("code_no_bindings")
        texts = [self.prompts.text("code_request", objective=objective, bindings=bindings)]
        texts += [
            self.prompts.text(
                "code_revision",
                program=attempt.program,
                error=_shortened(attempt.error),
                output=_shortened(attempt.stdout),
            )
            for attempt in attempts
        ]
        system = SystemMessage(text=clean_text(self.prompts.text("code_system")))
        return system, UserMessage.of_text(clean_text("\n\n".join(texts)))


def _got(reply: ModelReply) -> str:
    if not (reply.text or "").strip():
        return "a tool call" if reply.calls else f"no text (finish reason {reply.finish_reason or 'not given'})"
    cut = " cut off at its end" if reply.finish_reason == "length" else ""
    return f"text{cut}: {excerpt(clean_text(reply.text or ''))!r}"


def _shortened(text: str) -> str:
    """The end matters in a traceback and in an output that led to it, so the middle goes."""
    if len(text) <= _SHOWN_ATTEMPT_CHARACTERS:
        return text
    half = _SHOWN_ATTEMPT_CHARACTERS // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def descriptor_lines(descriptors: Mapping[str, Mapping[str, object]]) -> str:
    """Bindings as a code writer reads them: one line each, and one for each field, spelled as a program reaches it."""
    lines = []
    for name, descriptor in descriptors.items():
        lines.append(f"{name}: {_facts(descriptor)}")
        fields = descriptor.get("fields")
        if isinstance(fields, Mapping):
            for field, facts in fields.items():
                told = _facts(facts) if isinstance(facts, Mapping) else _fact(facts)
                lines.append(f"  {name}[{json.dumps(str(field), ensure_ascii=False)}]: {told}")
    return "\n".join(lines)


def _facts(descriptor: Mapping[str, object]) -> str:
    facts = [
        _fact(value) if key == "type" else f"{key} {_fact(value)}"
        for key, value in descriptor.items()
        if key != "fields" and value is not None
    ]
    return "; ".join(facts)


def _fact(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def find_program(text: str) -> str | None:
    """The program in a model's reply, or `None`.

    The first fenced block that says Python; else the first without a language; else the first of any, since models
    mistake the word; else the whole text where Python can parse it.
    """
    blocks = [(language, body) for language, body in _fenced_blocks(text) if body.strip()]
    for wanted in (_PYTHON, {""}):
        for language, body in blocks:
            if language in wanted:
                return body
    if blocks:
        return blocks[0][1]
    return text if _is_program(text) else None


def _fenced_blocks(text: str) -> Iterator[tuple[str, str]]:
    """(language, body) of each fenced block; one that is never closed counts where it can be parsed."""
    opening: re.Match[str] | None = None
    body: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        fence = _FENCE.match(line)
        if opening is None:
            opening, body = fence, []
        elif fence is not None and _closes(opening, line):
            yield opening["language"].lower(), "\n".join(body) + "\n"
            opening = None
        else:
            body.append(line)
    if opening is not None and _is_program("\n".join(body)):
        yield opening["language"].lower(), "\n".join(body) + "\n"


def _closes(opening: re.Match[str], line: str) -> bool:
    marks = line.strip()
    return marks == marks[0] * len(marks) and marks[0] == opening["marks"][0] and len(marks) >= len(opening["marks"])


def _is_program(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the model's escapes: nobody here can act on them
            return bool(ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # all of these say that it is none
        return False
